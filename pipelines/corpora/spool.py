"""What joins the jobs of a build: content in spool files, and references to it as JSON lines.

Odd: only references go through Beam's shuffles. A retried bundle leaves a spool file that no reference names; a
reference exists only when its bundle was committed, and its bytes were synced before.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from trivium.data.records import content_id, encode
from trivium.data.shards import stored_bytes
from trivium.data.stage import Draft, size_of
from trivium.errors import BuildError


class Ref(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a draft lies (`path` below the build folder, `offset`, `size` in bytes) and what shuffles need of it."""

    source_id: str
    source: str
    address: str
    id: str
    length: int  # characters of text
    stored: int  # bytes in a shard
    content: int = 0  # bytes of text and media
    path: str
    offset: int
    size: int
    scores: dict[str, float] = {}
    license: str = ""
    cluster: str = ""
    family: str = ""  # a cluster that dedup leaves as it is
    duplicates: tuple[str, ...] = ()
    signature: bytes = b""


_ENCODER = msgspec.json.Encoder(order="sorted")
_REF = msgspec.json.Decoder(Ref)
_DRAFT = msgspec.msgpack.Decoder(Draft)


def encode_line(value: msgspec.Struct) -> bytes:
    return _ENCODER.encode(value)


def decode_ref(line: bytes) -> Ref:
    return _REF.decode(line)


class Content(msgspec.Struct, frozen=True):
    """What of a reference counts its content."""

    content: int = 0


_CONTENT = msgspec.json.Decoder(Content)


def content_of(line: bytes) -> int:
    """Bytes of text and media behind a reference, read faster than the whole of it."""
    return _CONTENT.decode(line).content


class SpoolWriter:
    """Appends drafts to one new file below `folder`; `close` syncs it to disk."""

    def __init__(self, build: Path, folder: str) -> None:
        self.path = f"{folder}/{uuid.uuid4().hex}.spool"
        full = build / self.path
        full.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = full.open("wb")
        self._offset = 0

    def add(self, draft: Draft, scores: tuple[str, ...]) -> Ref:
        """Stores the draft; `scores` names those that later shuffles compare."""
        document = draft.document
        payload = msgspec.msgpack.encode(draft)
        self._file.write(payload)
        sizes = [len(encode(document)), *map(len, draft.media.values())]
        ref = Ref(
            source_id=document.meta.source_id,
            source=document.meta.source,
            address=document.meta.address,
            id=content_id(document.segments, draft.media),
            length=len(document.text),
            stored=stored_bytes(sizes),
            content=size_of(draft),
            path=self.path,
            offset=self._offset,
            size=len(payload),
            scores={name: document.meta.scores[name] for name in scores if name in document.meta.scores},
            license=document.meta.license,
            cluster=document.meta.cluster,
            family=document.meta.family,
            duplicates=document.meta.duplicates,
        )
        self._offset += len(payload)
        return ref

    def close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


class SpoolReader:
    """Reads drafts by reference, keeping the last few files open."""

    def __init__(self, build: Path, keep: int = 16) -> None:
        self._build, self._keep = build, keep
        self._files: dict[str, BinaryIO] = {}

    def get(self, ref: Ref) -> Draft:
        """The draft with what shuffles found of it since. Raises BuildError on a damaged spool."""
        file = self._files.pop(ref.path, None) or (self._build / ref.path).open("rb")
        self._files[ref.path] = file
        if len(self._files) > self._keep:
            self._files.pop(next(iter(self._files))).close()
        file.seek(ref.offset)
        payload = file.read(ref.size)
        if len(payload) != ref.size:
            raise BuildError(
                f"{self._build / ref.path}: {len(payload)} of {ref.size} bytes at {ref.offset}; "
                "the file was cut off: run the same command again, which makes it anew"
            )
        draft = _DRAFT.decode(payload)
        meta = msgspec.structs.replace(
            draft.document.meta,
            license=ref.license,
            scores={**draft.document.meta.scores, **ref.scores},
            cluster=ref.cluster,
            duplicates=ref.duplicates,
        )
        document = msgspec.structs.replace(draft.document, meta=meta)
        return msgspec.structs.replace(draft, document=document)

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


def lines_of(folder: Path, name: str) -> Iterator[bytes]:
    """All lines of the files `name-*` below `folder`, in order of file name; their order means nothing."""
    for path in sorted(folder.glob(f"{name}-*")):
        with path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield line.rstrip(b"\n")
