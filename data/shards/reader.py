"""Random access to a shard set by the offsets in its indexes; a tar is never scanned.

Odd: each read checks the member's CRC from the index, so a flipped bit is an error at the first read and not a strange
loss much later. A CRC that differs is read once more, then the whole tar is hashed, once, to say what was changed.
"""

import copy
import functools
import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data import records
from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.address import Address, Patience, Place, place
from trivium.data.shards.columns import Columns, read_columns
from trivium.data.shards.manifest import Manifest, read_manifest
from trivium.data.shards.storage import Blob, RemoteBlob, open_blob, read_file, sizes_in
from trivium.data.stage import Drop
from trivium.errors import ShardError

S = TypeVar("S")
T = TypeVar("T")
REJECTS_LIMIT = 2 << 30  # bytes of one file of rejects


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
    """An opened set: `manifest`, `digest` (sha256 of manifest.json), `entries`, and reads by record number.

    `folder` is a local path or an address. Threads may share one; it crosses to other processes without its handles.
    """

    def __init__(self, folder: Place, manifest: Manifest, digest: str, indexes: list[Columns]) -> None:
        self.folder, self.manifest, self.digest = folder, manifest, digest
        self.entries = _entries(indexes)
        self._blobs = [open_blob(folder / names.SHARDS / info.name) for info in manifest.shards]
        self._first = np.concatenate([np.zeros(1, np.int64), np.cumsum(_joined(indexes, "members"))])
        self._fields = sorted({field for index in indexes for field in index.fields})
        number = {field: at for at, field in enumerate(self._fields)}
        codes = [np.array([number[field] for field in index.fields], np.int64)[index.field] for index in indexes]
        self._field = np.concatenate([np.zeros(0, np.int64), *codes])
        self._offset, self._size = _joined(indexes, "member_offset"), _joined(indexes, "member_size")
        self._crc32 = _joined(indexes, "crc32")
        self.faults: dict[str, str] = {}  # by tar: why its length is wrong
        self._suspects: dict[int, str] = {}

    @classmethod
    def open(cls, folder: Place | str, *, patience: Patience | None = None, damaged: bool = False) -> "ShardSet":
        """Opens by manifest and indexes, and looks at the tars' lengths; with `damaged`, tars that are cut or gone are
        noted in `faults` and their records fail when they are read.

        `folder` is a path or an address (s3://, gs://, http(s)://, memory://, file://). Raises InputError (no such
        folder), UsageError (another scheme), ShardError (damaged), StorageError (not reachable, or no answer in time).
        """
        where = place(folder, patience)
        manifest, digest = read_manifest(where)
        return cls.part(where, manifest, digest, damaged=damaged)

    @classmethod
    def part(cls, folder: Place, manifest: Manifest, digest: str, *, damaged: bool = False) -> "ShardSet":
        """The set with only those shards that `manifest` still lists. Raises as `open` does."""
        read = functools.partial(read_columns, folder)
        indexes = each_of(folder, read, manifest.shards)
        for info, index in zip(manifest.shards, indexes, strict=True):
            if index.bytes != info.bytes:
                raise ShardError(
                    f"{folder / names.SHARDS / info.name}: its index says {index.bytes} bytes and the manifest "
                    f"{info.bytes}; one of them is of another build: copy the set again, or build it again"
                )
        faults = length_faults(folder, manifest)
        for fault in () if damaged else faults.values():
            raise ShardError(fault)
        opened = cls(folder, manifest, digest, indexes)
        opened.faults = faults
        return opened

    def __len__(self) -> int:
        return len(self.entries)

    def read(self, record: int) -> tuple[Document, dict[str, bytes]]:
        """The document and all its other members by field name (`i0.png`, …, `tokens`), in one read of storage.

        Raises ShardError, and StorageError for addresses; so do all reads."""
        start = int(self.entries.offset[record])
        whole = self._blobs[int(self.entries.shard[record])].pread(start, int(self.entries.size[record]))
        media = {}
        for member in range(self._first[record], self._first[record + 1]):
            at = int(self._offset[member]) - start
            payload = whole[at : at + int(self._size[member])]
            sound = zlib.crc32(payload) == self._crc32[member]
            media[self._fields[self._field[member]]] = payload if sound else self._payload(record, member)
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
            if self._fields[self._field[member]] == name:
                return self._payload(record, member)
        raise ShardError(f"{self._where(record)}: no member {name!r}; it has {', '.join(self.members(record))}")

    def members(self, record: int) -> dict[str, int]:
        """Sizes in bytes by member name."""
        span = range(self._first[record], self._first[record + 1])
        return {self._fields[self._field[member]]: int(self._size[member]) for member in span}

    def checksums(self, record: int) -> dict[str, tuple[int, int]]:
        """Size in bytes and CRC by member name, as the index has them."""
        span = range(self._first[record], self._first[record + 1])
        return {
            self._fields[self._field[member]]: (int(self._size[member]), int(self._crc32[member])) for member in span
        }

    def find(self, key: str) -> int:
        """Record number of an id, a source_id of one record, or a prefix that fits only one. Raises ShardError."""
        columns = (self.entries.id, self.entries.source_id)
        found = np.flatnonzero(columns[0] == key)
        if not len(found):
            found = np.flatnonzero(columns[1] == key)
        if not len(found) and key:
            found = np.flatnonzero(np.char.startswith(columns[0], key) | np.char.startswith(columns[1], key))
        if len(found) == 1:
            return int(found[0])
        what = f"begins {len(found)} ids: give more characters" if len(found) else "is no id or source_id here"
        raise ShardError(f"{self.folder}: {key!r} {what}; `trivium shards ls --records {self.folder}` lists them")

    def rejects(self) -> Iterator[Drop]:
        """What the build refused, with reasons."""
        for name in sorted(self.manifest.reject_files):
            yield from parse_rejects(self.folder / names.REJECTS / name)

    def token_members(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Of every record's stored tokens: offset in its tar, size in bytes, CRC. The writer puts them last."""
        last = self._first[1:] - 1
        return self._offset[last], self._size[last], self._crc32[last]

    def where(self, record: int) -> str:
        """Tar and id of a record, for messages."""
        return self._where(record)

    def reopened(self) -> "ShardSet":
        """The same set with file handles of its own."""
        other = copy.copy(self)
        other._blobs = [open_blob(blob.path) for blob in self._blobs]
        return other

    def close(self) -> None:
        """Gives the file handles back; a later read opens them again."""
        for blob in self._blobs:
            blob.close()

    def _payload(self, record: int, member: int) -> bytes:
        blob = self._blobs[int(self.entries.shard[record])]
        offset, size = int(self._offset[member]), int(self._size[member])
        for _ in range(2):  # once more: what a cable or a cache garbled comes right
            payload = blob.pread(offset, size)
            if zlib.crc32(payload) == self._crc32[member]:
                return payload
        raise ShardError(
            f"{self._where(record)}: member {self._fields[self._field[member]]!r} at byte {offset} was changed since "
            f"it was written (CRC differs); {self._suspect(int(self.entries.shard[record]))}"
        )

    def _suspect(self, shard: int) -> str:
        """What the sha256 of a whole tar says, found out once."""
        if shard not in self._suspects:
            info = self.manifest.shards[shard]
            if hash_blob(self._blobs[shard], info.bytes) == info.sha256:
                said = "the tar is the manifest's, so its index is wrong: build the set again"
            else:
                said = "the tar is not the manifest's: copy it again, or build the set again"
            self._suspects[shard] = said
        return self._suspects[shard]

    def _where(self, record: int) -> str:
        return f"{self._blobs[int(self.entries.shard[record])].path}: record {self.entries.id[record]}"


def length_faults(folder: Place, manifest: Manifest) -> dict[str, str]:
    """Shards whose tar or index is absent or of another length, by name; without a listing each tar is asked."""
    held = sizes_in(folder / names.SHARDS)
    sizes: dict[str, int | None] = {**(held or {})}
    if held is None:
        tars = [folder / names.SHARDS / info.name for info in manifest.shards]
        asked = each_of(folder, _size_of, tars)
        sizes = dict(zip((tar.name for tar in tars), asked, strict=True))
    faults = {}
    for info in manifest.shards:
        path = folder / names.SHARDS / info.name
        index = names.index_name(info.name)
        found = sizes.get(info.name)
        if found is None:
            faults[info.name] = f"{path}: can't be read (no such file); copy the file again, or build the set again"
        elif found != info.bytes:
            faults[info.name] = (
                f"{path}: {found} bytes long, the manifest says {info.bytes}; it is cut short or of another build: "
                "copy it again, or build the set again"
            )
        elif held is not None and index not in held:
            faults[info.name] = f"{path.parent / index}: the index of {info.name} is missing; copy it again"
    return faults


def _size_of(path: Place) -> int | None:
    try:
        return open_blob(path).size()
    except ShardError:  # no such file
        return None


def each_of(folder: Place, ask: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """`ask` of all items, many at once when they lie behind an address."""
    if isinstance(folder, Address) and len(items) > 1:
        from trivium.data.shards import remote

        return remote.at_once(ask, items)
    return [ask(item) for item in items]


def hash_blob(blob: Blob | RemoteBlob, length: int) -> str:
    """sha256 of the first `length` bytes."""
    digest = hashlib.sha256()
    for at in range(0, length, 8 << 20):
        digest.update(blob.pread(at, min(8 << 20, length - at)))
    return digest.hexdigest()


def read_rejects(folder: Place, name: str | None = None) -> Iterator[Drop]:
    """Drops of the rejects that the manifest lists, file by file, or of one file. Raises ShardError naming the line."""
    manifest, _ = read_manifest(folder)
    for held in sorted(manifest.reject_files) if name is None else [name]:
        yield from parse_rejects(folder / names.REJECTS / held)


def parse_rejects(path: Place) -> Iterator[Drop]:
    """The drops of one file. Raises ShardError naming file and line."""
    for number, line in enumerate(read_file(path, REJECTS_LIMIT).splitlines(), 1):
        try:
            yield msgspec.json.decode(line, type=Drop)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ShardError(f"{path}:{number}: no reject record ({error}); build the set again") from None


def _joined(indexes: list[Columns], name: str) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *(getattr(index, name) for index in indexes)])


def _entries(indexes: list[Columns]) -> Entries:
    def strings(name: str) -> NDArray[np.str_]:
        held = [getattr(index, name) for index in indexes]
        return np.concatenate(held) if held else np.array([], np.str_)

    counts = [len(index.id) for index in indexes]
    return Entries(
        id=strings("id"),
        shard=np.repeat(np.arange(len(indexes), dtype=np.int64), counts),
        offset=_joined(indexes, "offset"),
        size=_joined(indexes, "size"),
        tokens=_joined(indexes, "tokens"),
        patches=_joined(indexes, "patches"),
        images=_joined(indexes, "images"),
        cluster=strings("cluster"),
        source_id=strings("source_id"),
        license=strings("license"),
        language=strings("language"),
    )
