"""Reads one tar from end to end, trusting nothing: every header, every byte, every record.

Odd: nothing is ever unpickled, decompressed or run here; a picture's header is read by Pillow for its size, no pixel is
decoded. A tar that breaks the grammar is not read past the first break, since what follows can't be told apart.
"""

import hashlib
import io
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trivium.data import records
from trivium.data.records import Document, Image, Text
from trivium.data.shards import names, tar
from trivium.data.shards.address import Place
from trivium.data.shards.index import Index
from trivium.data.shards.storage import open_blob
from trivium.errors import ShardError

LARGEST_JSON = 256 << 20  # bytes; a record's JSON beyond it is refused unread


@dataclass(slots=True)
class Scanned:
    """One record as found: where its blocks lie, their sha256, its members and what an index says of it."""

    id: str
    offset: int
    size: int = 0
    sha256: str = ""
    document: Document | None = None
    members: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # field → offset, size, crc32
    hashes: dict[str, str] = field(default_factory=dict)  # media → sha256
    tokens: NDArray[np.uint32] | None = None
    columns: dict[str, int | str] = field(default_factory=dict)


class Tape:
    """A file read once from its beginning, in pieces of 8 MiB, and hashed on the way."""

    PIECE = 8 << 20

    def __init__(self, path: Place) -> None:
        self.path, self._blob = path, open_blob(path)
        self.length = self._blob.size()
        self._digest = hashlib.sha256()
        self._start, self._held = 0, b""

    def read(self, position: int, length: int) -> bytes:
        """Exactly `length` bytes at `position`, which never goes back. Raises ShardError when the file ends before."""
        if position + length > self._start + len(self._held):
            self._held, self._start = self._held[position - self._start :], position
            missing = length - len(self._held)
            self._held += self._next(position + len(self._held), missing)
        at = position - self._start
        return self._held[at : at + length]

    def _next(self, at: int, wanted: int) -> bytes:
        """`wanted` bytes or more, up to a piece."""
        part = self._blob.pread(at, max(wanted, min(self.PIECE, self.length - at)))
        self._digest.update(part)
        return part

    def sha256(self) -> str:
        """Of the whole file; what was not read yet is read now. The tape can't be read after it."""
        at = self._start + len(self._held)
        self._held = b""
        while at < self.length:
            at += len(self._next(at, 1))
        return self._digest.hexdigest()

    def close(self) -> None:
        self._blob.close()


def scan(tape: Tape, problems: list[str]) -> Iterator[Scanned]:
    """Yields the records of a tar in order; what is wrong goes to `problems`, each line naming file, offset or id."""
    path, length = tape.path, tape.length
    position, last = 0, ""
    current: Scanned | None = None
    digest = hashlib.sha256()
    try:
        while True:
            raw = tape.read(position, min(tar.BLOCK, max(1, length - position)))
            if not raw.strip(b"\0"):
                break
            if len(raw) < tar.BLOCK:
                raise ShardError(f"ends inside the header at byte {position}: it is cut short")
            member = tar.parse(raw, position)
            if current is None or member.key != current.id:
                if current is not None:
                    yield _closed(current, position, digest, path, problems)
                _check_key(member, position, last)
                last = member.key
                current, digest = Scanned(id=last, offset=position), hashlib.sha256()
            _check_field(member, position, current)
            if member.end > length:
                raise ShardError(
                    f"record {member.key}: member {member.field!r} at byte {position} needs {member.end - length} more "
                    "bytes than the file has: it is cut short"
                )
            body = tape.read(member.offset, tar.padded(member.size))
            digest.update(raw + body)
            _take(current, member, body[: member.size], path, problems)
            if body[member.size :].strip(b"\0"):
                problems.append(f"{path}: record {member.key}: bytes hidden behind member {member.field!r}")
            position = member.end
        if current is not None:
            yield _closed(current, position, digest, path, problems)
        if length - position != len(tar.END) or tape.read(position, len(tar.END)) != tar.END:
            problems.append(f"{path}: byte {position}: the end is not two zero blocks; bytes are missing or follow it")
    except ShardError as error:
        text = str(error)
        problems.append(text if text.startswith(str(path)) else f"{path}: {text}")


def _check_key(member: tar.Member, position: int, last: str) -> None:
    names.check_id(member.key)
    if member.key < last:
        raise ShardError(
            f"record {member.key} at byte {position} comes after {last}; records are not sorted, or the members of one "
            "are not together"
        )
    if member.field != names.JSON:
        raise ShardError(f"record {member.key} at byte {position} begins with {member.field!r}, not its JSON")


def _check_field(member: tar.Member, position: int, current: Scanned) -> None:
    if member.field in current.members:
        raise ShardError(f"record {member.key}: member {member.field!r} at byte {position} comes twice")
    if member.field == names.JSON:
        if member.size > LARGEST_JSON:
            raise ShardError(f"record {member.key}: {member.size} bytes of JSON; the limit is {LARGEST_JSON}")
        return
    names.check_field(member.field)


def _take(current: Scanned, member: tar.Member, payload: bytes, path: Place, problems: list[str]) -> None:
    current.members[member.field] = (member.offset, member.size, zlib.crc32(payload))
    where = f"{path}: record {member.key}"
    if member.field == names.JSON:
        try:
            current.document = records.decode(payload)
        except ShardError as error:
            problems.append(f"{where}: {error}")
            return
        if records.encode(current.document) != payload:
            problems.append(f"{where}: its JSON is not in canonical form")
    elif member.field == names.TOKENS:
        if len(payload) % 4:
            problems.append(f"{where}: {len(payload)} bytes of tokens are no whole uint32s")
        else:
            current.tokens = np.frombuffer(payload, "<u4").astype(np.uint32, copy=False)
    else:
        current.hashes[member.field] = hashlib.sha256(payload).hexdigest()
        _check_media(current, member.field, payload, where, problems)


def _check_media(current: Scanned, name: str, payload: bytes, where: str, problems: list[str]) -> None:
    if current.document is None:
        return
    segments = [s for s in current.document.segments if not isinstance(s, Text) and s.media == name]
    for segment in segments:
        if isinstance(segment, Image):
            reason = picture_fault(payload, segment)
            if reason:
                problems.append(f"{where}: picture {name!r} {reason}")


def picture_fault(payload: bytes, segment: Image) -> str:
    """What is wrong with a picture's header against its segment, or an empty string."""
    import PIL.Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with PIL.Image.open(io.BytesIO(payload), formats=("PNG", "JPEG", "WEBP", "GIF", "BMP")) as picture:
                size, mime = picture.size, picture.get_format_mimetype()
    except Exception as error:  # Pillow raises many kinds for damaged headers
        return f"can't be read as a picture ({type(error).__name__})"
    if size != (segment.width, segment.height):
        return f"is {size[0]} × {size[1]} pixels; its segment says {segment.width} × {segment.height}"
    if mime != segment.mime:
        return f"is {mime}; its segment says {segment.mime}"
    return ""


def _closed(current: Scanned, end: int, digest: "hashlib._Hash", path: Place, problems: list[str]) -> Scanned:
    current.size, current.sha256 = end - current.offset, digest.hexdigest()
    document = current.document
    if document is None:
        return current
    current.columns = {
        "tokens": 0 if current.tokens is None else len(current.tokens),
        "images": sum(isinstance(segment, Image) for segment in document.segments),
        "cluster": document.meta.cluster or document.meta.source_id,
        "source_id": document.meta.source_id,
        "license": document.meta.license,
        "language": document.meta.language,
    }
    where = f"{path}: record {current.id}"
    if document.id != current.id:
        problems.append(f"{where}: its JSON is of record {document.id!r}")
    media = set(current.members) - {names.JSON, names.TOKENS}
    if set(document.media) != media:
        problems.append(f"{where}: it names {sorted(document.media)}, the tar holds {sorted(media)}")
    return current


def content_fault(scanned: Scanned) -> str:
    """Whether the id is the hash of the content, media included; the reason when it is not."""
    if scanned.document is None or not set(scanned.document.media) <= set(scanned.hashes):
        return ""
    found = records.id_of_hashes(scanned.document.segments, scanned.hashes)
    return "" if found == scanned.id else f"its content hashes to {found}; the content or the id was changed"


def index_faults(index: Index, found: list[Scanned]) -> Iterator[str]:
    """Differences between an index and what the tar holds."""
    if index.id != [record.id for record in found]:
        yield f"lists {len(index.id)} records, the tar holds {len(found)}, or in another order"
        return
    first = 0
    for number, record in enumerate(found):
        members = [
            (index.field[at], (index.member_offset[at], index.member_size[at], index.crc32[at]))
            for at in range(first, first + index.members[number])
        ]
        first += index.members[number]
        if (index.offset[number], index.size[number]) != (record.offset, record.size) or members != list(
            record.members.items()
        ):
            yield f"record {record.id}: offsets, sizes or checksums differ from the tar"
        elif index.sha256[number] != record.sha256:
            yield f"record {record.id}: sha256 {index.sha256[number][:16]}…, the tar has {record.sha256[:16]}…"
        for name, value in record.columns.items():
            if getattr(index, name)[number] != value:
                yield f"record {record.id}: its {name} is {value!r}, the index says {getattr(index, name)[number]!r}"
