"""The strict writer: same records, same bytes; what breaks the grammar is refused before a file has its name."""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, get_origin

import msgspec

from trivium.data import records
from trivium.data.patches import PictureRules
from trivium.data.records import Document, Image
from trivium.data.shards import names, tar
from trivium.data.shards.index import Index, encode, sums_of
from trivium.data.shards.manifest import ShardInfo
from trivium.data.shards.storage import replacing, write_whole
from trivium.data.stage import Drop
from trivium.errors import ShardError

Record = tuple[Document, Mapping[str, bytes]]


def write_shard(path: Path, items: Iterable[Record], *, rules: PictureRules | None = None) -> ShardInfo:
    """Writes `<corpus>-<bucket>-00000.tar` and its index, each to a temporary name first.

    `items` come sorted by id; media may hold `tokens` (little-endian uint32). With `rules`, patches are counted from
    what the segments state of pictures and clips, else they are 0. Raises ShardError for a bad name, id or field, ids
    not sorted or repeated, media that a document does not name or names and lacks.
    """
    bucket = names.bucket_of_name(path.name)
    columns: dict[str, list[int | str]] = {
        f.name: [] for f in msgspec.structs.fields(Index) if get_origin(f.type) is list
    }
    with replacing(path) as file:
        sink = _Sink(file, columns)
        last = ""
        for document, media in items:
            _check(document, media, last)
            last = document.id
            sink.record(document, media, rules)
        sink.write(tar.END)
    index = msgspec.convert({"shard": path.name, "bytes": sink.position, **columns}, Index)
    raw = encode(index)
    write_whole(path.with_name(names.index_name(path.name)), raw)
    return ShardInfo(
        name=path.name,
        bucket=bucket,
        bytes=sink.position,
        **sums_of(index),
        sha256=sink.whole.hexdigest(),
        index_sha256=hashlib.sha256(raw).hexdigest(),
    )


class _Sink:
    """The open tar, its running hashes and the index columns."""

    def __init__(self, file: BinaryIO, columns: dict[str, list[int | str]]) -> None:
        self.file, self.columns = file, columns
        self.position = 0
        self.whole = hashlib.sha256()
        self.part = hashlib.sha256()

    def write(self, payload: bytes) -> None:
        self.file.write(payload)
        self.whole.update(payload)
        self.part.update(payload)
        self.position += len(payload)

    def member(self, key: str, field: str, payload: bytes) -> None:
        self.write(tar.header(f"{key}.{field}", len(payload)))
        self._add(field=field, member_offset=self.position, member_size=len(payload), crc32=zlib.crc32(payload))
        self.write(payload)
        self.write(bytes(tar.padded(len(payload)) - len(payload)))

    def record(self, document: Document, media: Mapping[str, bytes], rules: PictureRules | None) -> None:
        from trivium.data.video.plan import media_cost  # brings numpy, which readers do without

        start = self.position
        self.part = hashlib.sha256()
        self.member(document.id, names.JSON, records.encode(document))
        for field in sorted(media, key=lambda name: (name == names.TOKENS, name)):
            self.member(document.id, field, media[field])
        meta = document.meta
        self._add(
            id=document.id,
            offset=start,
            size=self.position - start,
            sha256=self.part.hexdigest(),
            tokens=len(media.get(names.TOKENS, b"")) // 4,
            patches=media_cost(document, rules)[0] if rules else 0,
            images=sum(isinstance(segment, Image) for segment in document.segments),
            cluster=meta.cluster or meta.source_id,
            source_id=meta.source_id,
            license=meta.license,
            language=meta.language,
            members=1 + len(media),
        )

    def _add(self, **values: int | str) -> None:
        for name, value in values.items():
            self.columns[name].append(value)


def _check(document: Document, media: Mapping[str, bytes], last: str) -> None:
    names.check_id(document.id)
    if document.id == last:
        raise ShardError(f"record {document.id} comes twice; equal contents are one record (exact dedup comes first)")
    if document.id < last:
        raise ShardError(f"record {document.id} comes after {last}; hand records over sorted by id")
    for field in media:
        names.check_field(field)
    if len(media.get(names.TOKENS, b"")) % 4:
        raise ShardError(f"record {document.id}: {len(media[names.TOKENS])} bytes of tokens are no whole uint32s")
    used, given = set(document.media), set(media) - {names.TOKENS}
    if used != given:
        raise ShardError(
            f"record {document.id}: it names {sorted(used)} and its media are {sorted(given)}; they must be the same"
        )


def write_rejects(folder: Path, name: str, drops: Iterable[Drop]) -> int:
    """Writes `rejects/<name>.jsonl`, one Drop a line, sorted; returns how many. Nothing is written for none."""
    lines = sorted(msgspec.json.encode(drop, order="sorted") for drop in drops)
    if lines:
        path = folder / names.REJECTS / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, b"\n".join(lines) + b"\n")
    return len(lines)
