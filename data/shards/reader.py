"""Random access to a shard set by the offsets in its indexes; a tar is never scanned.

Odd: each read checks the member's CRC from the index, so a flipped bit is an error at the first read and not a strange
loss much later.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data import records
from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.manifest import Index, Manifest, read_index, read_manifest
from trivium.data.shards.storage import Blob
from trivium.data.stage import Drop
from trivium.errors import ShardError


@dataclass(frozen=True, slots=True)
class Entries:
    """Columns over all records of a set, ordered by (shard, id): int64 arrays and arrays of str.

    `offset` and `size` span the record in its tar (bytes); `cluster` is the source_id where no cluster was found.
    """

    id: NDArray[np.str_]
    shard: NDArray[np.int64]
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    tokens: NDArray[np.int64]
    patches: NDArray[np.int64]
    images: NDArray[np.int64]
    cluster: NDArray[np.str_]
    source_id: NDArray[np.str_]
    license: NDArray[np.str_]
    language: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.id)


class ShardSet:
    """An opened set: `manifest`, `digest` (sha256 of manifest.json), `entries`, and reads by record number."""

    def __init__(self, folder: Path, manifest: Manifest, digest: str, indexes: list[Index]) -> None:
        self.folder, self.manifest, self.digest = folder, manifest, digest
        self.entries = _entries(indexes)
        self._blobs = [Blob(folder / names.SHARDS / info.name) for info in manifest.shards]
        counts = np.array([n for index in indexes for n in index.members], np.int64)
        self._first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        self._field = [field for index in indexes for field in index.field]
        self._offset = np.array([n for index in indexes for n in index.member_offset], np.int64)
        self._size = np.array([n for index in indexes for n in index.member_size], np.int64)
        self._crc32 = np.array([n for index in indexes for n in index.crc32], np.int64)
        self._by_id: dict[str, int] | None = None

    @classmethod
    def open(cls, folder: Path | str) -> "ShardSet":
        """Opens by manifest and indexes, and looks at the tars' lengths. Raises InputError or ShardError."""
        folder = Path(folder)
        manifest, digest = read_manifest(folder)
        indexes = []
        for info in manifest.shards:
            index = read_index(folder, info)
            path = folder / names.SHARDS / info.name
            found = Blob(path).size()
            if found != info.bytes or index.bytes != info.bytes:
                raise ShardError(
                    f"{path}: {found} bytes long, its index says {index.bytes} and the manifest {info.bytes}; it is "
                    "cut short or of another build: copy it again, or build the set again"
                )
            indexes.append(index)
        return cls(folder, manifest, digest, indexes)

    def __len__(self) -> int:
        return len(self.entries)

    def read(self, record: int) -> tuple[Document, dict[str, bytes]]:
        """The document and all its other members by field name (`i0.png`, …, `tokens`). Raises ShardError."""
        members = range(self._first[record], self._first[record + 1])
        media = {self._field[member]: self._payload(record, member) for member in members}
        try:
            return records.decode(media.pop(names.JSON)), media
        except (KeyError, ShardError) as error:
            raise ShardError(f"{self._where(record)}: {error}; build the set again") from None

    def read_document(self, record: int) -> Document:
        """The document alone, without its media."""
        try:
            return records.decode(self.read_media(record, names.JSON))
        except ShardError as error:
            raise ShardError(f"{self._where(record)}: {error}") from None

    def read_tokens(self, record: int) -> NDArray[np.uint32]:
        """The stored tokens with their flag bits, [T]; `layout.split_tokens` parts them. Raises ShardError."""
        if self.manifest.tokenizer is None:
            raise ShardError(f"{self.folder}: not tokenised; run `trivium shards tokenize` on it first")
        return np.frombuffer(self.read_media(record, names.TOKENS), dtype="<u4").astype(np.uint32, copy=False)

    def read_media(self, record: int, name: str) -> bytes:
        """The bytes of one member. Raises ShardError when the record has none of that name."""
        for member in range(self._first[record], self._first[record + 1]):
            if self._field[member] == name:
                return self._payload(record, member)
        raise ShardError(f"{self._where(record)}: no member {name!r}; it has {', '.join(self.members(record))}")

    def members(self, record: int) -> dict[str, int]:
        """Sizes in bytes by member name."""
        span = range(self._first[record], self._first[record + 1])
        return {self._field[member]: int(self._size[member]) for member in span}

    def find(self, key: str) -> int:
        """Record number of an id, a source_id, or a prefix that fits only one. Raises ShardError."""
        if self._by_id is None:
            self._by_id = {str(s): i for i, s in enumerate(self.entries.source_id)}
            self._by_id |= {str(s): i for i, s in enumerate(self.entries.id)}
        if key in self._by_id:
            return self._by_id[key]
        found = {number for name, number in self._by_id.items() if key and name.startswith(key)}
        if len(found) == 1:
            return found.pop()
        what = f"begins {len(found)} ids: give more characters" if found else "is no id or source_id here"
        raise ShardError(f"{self.folder}: {key!r} {what}; `trivium shards ls --records {self.folder}` lists them")

    def rejects(self) -> Iterator[Drop]:
        """What the build refused, with reasons."""
        yield from read_rejects(self.folder)

    def close(self) -> None:
        """Gives the file handles back; a later read opens them again."""
        for blob in self._blobs:
            blob.close()

    def _payload(self, record: int, member: int) -> bytes:
        offset, size = int(self._offset[member]), int(self._size[member])
        payload = self._blobs[int(self.entries.shard[record])].pread(offset, size)
        if zlib.crc32(payload) != self._crc32[member]:
            raise ShardError(
                f"{self._where(record)}: member {self._field[member]!r} at byte {offset} was changed since it was "
                "written (CRC differs): copy the tar again, or build the set again"
            )
        return payload

    def _where(self, record: int) -> str:
        return f"{self._blobs[int(self.entries.shard[record])].path}: record {self.entries.id[record]}"


def read_rejects(folder: Path, pattern: str = "*.jsonl") -> Iterator[Drop]:
    """Drops of `rejects/*.jsonl`, file by file. Raises ShardError naming file and line."""
    for path in sorted((folder / names.REJECTS).glob(pattern)):
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield msgspec.json.decode(line, type=Drop)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise ShardError(f"{path}:{number}: no reject record ({error}); build the set again") from None


def _entries(indexes: list[Index]) -> Entries:
    def numbers(name: str) -> NDArray[np.int64]:
        return np.array([value for index in indexes for value in getattr(index, name)], np.int64)

    def strings(name: str) -> NDArray[np.str_]:
        return np.array([value for index in indexes for value in getattr(index, name)], np.str_)

    return Entries(
        id=strings("id"),
        shard=np.array([number for number, index in enumerate(indexes) for _ in index.id], np.int64),
        offset=numbers("offset"),
        size=numbers("size"),
        tokens=numbers("tokens"),
        patches=numbers("patches"),
        images=numbers("images"),
        cluster=strings("cluster"),
        source_id=strings("source_id"),
        license=strings("license"),
        language=strings("language"),
    )
