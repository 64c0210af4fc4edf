"""Random access to a shard set by the offsets in its indexes; a tar is never scanned.

Odd: each read checks the member's CRC from the index, so a flipped bit is an error at the first read and not a strange
loss much later. A CRC that differs is read once more, then the whole tar is hashed, once, to say what was changed.
"""

import copy
import functools
import hashlib
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from trivium.data import records
from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.address import Address, Patience, Place, place
from trivium.data.shards.blobs import Blobs
from trivium.data.shards.ledger import Ledger
from trivium.data.shards.manifest import Manifest, read_manifest
from trivium.data.shards.storage import Blob, RemoteBlob, open_blob, read_file, sizes_in
from trivium.data.stage import Drop
from trivium.errors import ShardError, StorageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trivium.data.shards.entries import Entries

S = TypeVar("S")
T = TypeVar("T")
D = TypeVar("D", bound=Drop)
REJECTS_LIMIT = 2 << 30  # bytes of one file of rejects
MOST_LINES = 20  # damaged lines of one file of rejects that are named


class ShardSet:
    """An opened set: `manifest`, `digest` (sha256 of manifest.json), `entries`, and reads by record number.

    `folder` is a local path or an address. Threads may share one; it crosses to other processes without its handles.
    Opening reads the manifest alone: an index is read when a record in it is asked for, and what memory holds of them
    is bounded (`Ledger`). `faults` are tars that are absent or of another length, by name, and why.
    """

    def __init__(
        self,
        folder: Place,
        manifest: Manifest,
        digest: str,
        faults: Mapping[str, str] | None = None,
        keep: Path | None = None,
    ) -> None:
        self.folder, self.manifest, self.digest, self.faults = folder, manifest, digest, dict(faults or {})
        self.ledger = Ledger(folder, manifest.shards, keep)
        self.blobs = Blobs(folder, manifest.shards)
        self._suspects: dict[int, str] = {}

    @classmethod
    def open(
        cls,
        folder: Place | str,
        *,
        patience: Patience | None = None,
        damaged: bool = False,
        keep: Path | None = None,
    ) -> "ShardSet":
        """Opens by the manifest, and looks at the tars' lengths; with `damaged`, tars that are cut or gone are noted in
        `faults` and their records fail when they are read.

        `folder` is a path or an address (s3://, gs://, http(s)://, memory://, file://); `keep` a local folder in which
        the numbers of the indexes are kept, mapped, and found again by later processes: for sets of very many records.
        Raises InputError (no such folder), UsageError (another scheme), ShardError (damaged), StorageError (not
        reachable, or no answer in time). A damaged index is a ShardError of the first read that needs it.
        """
        where = place(folder, patience)
        manifest, digest = read_manifest(where)
        faults = length_faults(where, manifest)
        for fault in () if damaged else faults.values():
            raise ShardError(fault)
        return cls(where, manifest, digest, faults, keep)

    def __len__(self) -> int:
        return self.ledger.starts[-1]

    @functools.cached_property
    def entries(self) -> "Entries":
        """What is known of the records, in columns."""
        from trivium.data.shards.entries import Entries

        return Entries(self.ledger)

    def locate(self, record: int) -> tuple[int, int]:
        """Number of the record's shard, and its row there."""
        shard = bisect_right(self.ledger.starts, record) - 1
        return shard, record - self.ledger.starts[shard]

    def read(self, record: int) -> tuple[Document, dict[str, bytes]]:
        """The document and all its other members by field name (`i0.png`, …, `tokens`), in one read of storage.

        Raises ShardError, and StorageError for addresses; so do all reads."""
        shard, row = self.locate(record)
        sheet = self.ledger.sheet(shard)
        return self.read_span(record, *sheet.span(row), sheet.held(row))

    def read_span(
        self, record: int, start: int, size: int, members: Iterable[tuple[str, int, int, int]]
    ) -> tuple[Document, dict[str, bytes]]:
        """`read` for who knows already where the record lies: offset and size, and of each member name, offset, size
        and CRC."""
        whole = self.blobs[self.locate(record)[0]].pread(start, size)
        media = {}
        for name, offset, length, crc32 in members:
            payload = whole[offset - start : offset - start + length]
            media[name] = (
                payload if zlib.crc32(payload) == crc32 else self._payload(record, name, offset, length, crc32)
            )
        try:
            return records.decode(media.pop(names.JSON)), media
        except (KeyError, ShardError) as error:
            raise ShardError(f"{self.where(record)}: {error}; build the set again") from None

    def read_document(self, record: int) -> Document:
        """The document alone, without its media."""
        try:
            return records.decode(self.read_media(record, names.JSON))
        except ShardError as error:
            where = self.where(record)
            raise ShardError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None

    def read_tokens(self, record: int) -> "NDArray[np.uint32]":
        """The stored tokens with their flag bits, [T]; `layout.split_tokens` parts them. Raises ShardError."""
        import numpy as np

        if self.manifest.tokenizer is None:
            raise ShardError(f"{self.folder}: not tokenised; run `trivium shards tokenize` on it first")
        return np.frombuffer(self.read_media(record, names.TOKENS), dtype="<u4").astype(np.uint32, copy=False)

    def read_media(self, record: int, name: str) -> bytes:
        """The bytes of one member. Raises ShardError when the record has none of that name."""
        shard, row = self.locate(record)
        for field, offset, size, crc32 in self.ledger.sheet(shard).held(row):
            if field == name:
                return self._payload(record, name, offset, size, crc32)
        raise ShardError(f"{self.where(record)}: no member {name!r}; it has {', '.join(self.members(record))}")

    def members(self, record: int) -> dict[str, int]:
        """Sizes in bytes by member name."""
        return {name: size for name, (size, _) in self.checksums(record).items()}

    def checksums(self, record: int) -> dict[str, tuple[int, int]]:
        """Size in bytes and CRC by member name, as the index has them."""
        shard, row = self.locate(record)
        return {name: (size, crc32) for name, _, size, crc32 in self.ledger.sheet(shard).held(row)}

    def find(self, key: str) -> int:
        """Record number of an id, a source_id of one record, or a prefix that fits only one. Raises ShardError."""
        import numpy as np

        starts = self.ledger.starts
        if names.ID.fullmatch(key):
            for shard, info in enumerate(self.manifest.shards):
                row = self.ledger.sheet(shard).row(key) if info.first <= key <= info.last else None
                if row is not None:
                    return starts[shard] + row
        found: list[int] = []
        for shard in range(len(starts) - 1) if key else ():
            columns = self.ledger.strings(shard)
            for ids in (columns.id.astype(np.str_), columns.source_id.astype(np.str_)):
                found += (starts[shard] + np.flatnonzero(np.char.startswith(ids, key))).tolist()
        if len(set(found)) == 1:
            return found[0]
        what = f"begins {len(set(found))} ids: give more characters" if found else "is no id or source_id here"
        raise ShardError(f"{self.folder}: {key!r} {what}; `trivium shards ls --records {self.folder}` lists them")

    def rejects(self, tell: Callable[[str], None] | None = None) -> Iterator[Drop]:
        """What the build refused, with reasons; damage is told, or raised when there is nobody to tell."""
        for name in sorted(self.manifest.reject_files):
            yield from parse_rejects(self.folder / names.REJECTS / name, tell=tell)

    def where(self, record: int) -> str:
        """Tar and id of a record, for messages."""
        shard, row = self.locate(record)
        what = f"{self.folder / names.SHARDS / self.manifest.shards[shard].name}: record "
        try:
            return what + self.ledger.sheet(shard).key(row)
        except (ShardError, StorageError):  # its index is what can't be read
            return f"{what}number {row}"

    def reopened(self) -> "ShardSet":
        """The same set with file handles of its own."""
        other = copy.copy(self)
        other.blobs = Blobs(self.folder, self.manifest.shards)
        return other

    def close(self) -> None:
        """Gives the file handles back; a later read opens them again."""
        self.blobs.close()

    def _payload(self, record: int, name: str, offset: int, size: int, crc32: int) -> bytes:
        shard, _ = self.locate(record)
        for _ in range(2):  # once more: what a cable or a cache garbled comes right
            try:
                payload = self.blobs[shard].pread(offset, size)
            except ShardError as error:
                raise ShardError(f"{self.where(record)}: {error}") from None
            if zlib.crc32(payload) == crc32:
                return payload
        raise ShardError(
            f"{self.where(record)}: member {name!r} at byte {offset} was changed since it was written (CRC differs); "
            f"{self._suspect(shard)}"
        )

    def _suspect(self, shard: int) -> str:
        """What the sha256 of a whole tar says, found out once."""
        if shard not in self._suspects:
            info = self.manifest.shards[shard]
            if hash_blob(self.blobs[shard], info.bytes) == info.sha256:
                said = "the tar is the manifest's, so its index is wrong: build the set again"
            else:
                said = "the tar is not the manifest's: copy it again, or build the set again"
            self._suspects[shard] = said
        return self._suspects[shard]


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
            faults[info.name] = (
                f"{path.parent / index}: the index of {info.name} is missing; copy it again, or make it again from its "
                f"tar with `trivium shards index {folder} --rebuild`"
            )
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


def parse_rejects(
    path: Place,
    kind: type[D] = Drop,  # type: ignore[assignment]
    tell: Callable[[str], None] | None = None,
) -> Iterator[D]:
    """The drops of one file. Damage is told by file and line and passed over, or raised as a ShardError when there is
    nobody to tell; of one file MOST_LINES are told one by one."""
    try:
        lines = read_file(path, REJECTS_LIMIT).splitlines()
    except ShardError as error:
        if tell is None:
            raise
        tell(str(error))
        return
    bad = 0
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            fault = f"{path}:{number}: no reject record ({error}); build the set again"
            if tell is None:
                raise ShardError(fault) from None
            bad += 1
            if bad <= MOST_LINES:
                tell(fault)
    if tell is not None and bad > MOST_LINES:
        tell(f"{path}: {bad - MOST_LINES:,} more of its {len(lines):,} lines are no reject records")
