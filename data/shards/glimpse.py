"""One record found by its id in the text of an index, without making numbers of all the others.

Odd: no numpy, whose import takes longer than all else here. The index is the one that the manifest names, so its form
is our writer's: ids of 26 characters, no bracket inside a list of ids, numbers or member names. What is read of it is
checked all the same, as far as one record can be.
"""

from dataclasses import dataclass

from trivium.data.shards import names
from trivium.data.shards.index import index_path, read_raw
from trivium.data.shards.reader import ShardSet
from trivium.errors import ShardError

_ONE = ("offset", "size", "tokens", "patches")
_CELL = 29  # characters of an id, its quotes and a comma


@dataclass(frozen=True, slots=True)
class Glimpse:
    """One record: where it lies and what is counted of it; `members` by name: offset, size and CRC."""

    id: str
    record: int
    offset: int
    size: int
    tokens: int
    patches: int
    members: dict[str, tuple[int, int, int]]


def glimpse(shards: ShardSet, key: str) -> Glimpse | None:
    """The record with this whole id, if there is one. Raises ShardError for a damaged index, or StorageError."""
    for shard, info in enumerate(shards.manifest.shards):
        if not (names.ID.fullmatch(key) and info.first <= key <= info.last):
            continue
        raw = read_raw(shards.folder, info)
        try:
            found = _read(raw, key, shards.ledger.starts[shard], info.bytes)
        except (ValueError, IndexError):
            path = index_path(shards.folder, info)
            raise ShardError(f"{path}: record {key} can't be found in it; build the set again") from None
        if found is not None:
            return found
    return None


def _read(raw: bytes, key: str, before: int, length: int) -> Glimpse | None:
    start, stop = _column(raw, "id")
    at = raw.find(f'"{key}"'.encode(), start, stop)
    if at < 0:
        return None
    row = (at - start) // _CELL
    offset, size, tokens, patches = (int(_cells(raw, name, row + 1)[row]) for name in _ONE)
    counts = [int(cell) for cell in _cells(raw, "members", row + 1)[: row + 1]]
    first = sum(counts[:-1])
    end = first + counts[-1]
    columns = [_cells(raw, name, end)[first:end] for name in ("field", "member_offset", "member_size", "crc32")]
    members = {}
    for field, *numbers in zip(*columns, strict=True):
        name = field.strip(b'"').decode()
        place, count, crc32 = map(int, numbers)
        if name != names.JSON:
            names.check_field(name)
        if not offset <= place <= place + count <= offset + size <= length:
            raise ValueError("a member lies outside its record")
        members[name] = (place, count, crc32)
    if (at - start) % _CELL or len(members) != counts[-1]:
        raise ValueError("the columns do not fit together")
    return Glimpse(key, before + row, offset, size, tokens, patches, members)


def _column(raw: bytes, name: str) -> tuple[int, int]:
    """Where the cells of a column begin and end."""
    start = raw.index(f'"{name}":['.encode()) + len(name) + 4
    return start, raw.index(b"]", start)


def _cells(raw: bytes, name: str, count: int) -> list[bytes]:
    start, stop = _column(raw, name)
    return raw[start:stop].split(b",", count)


def of_record(shards: ShardSet, record: int) -> Glimpse:
    """The same of a record whose number is known. Raises as `ShardSet.read` does."""
    shard, row = shards.locate(record)
    sheet = shards.ledger.sheet(shard)
    tokens, patches = (sheet.number(row, place) for place in (2, 3))
    members = {name: (offset, size, crc32) for name, offset, size, crc32 in sheet.held(row)}
    return Glimpse(sheet.key(row), record, *sheet.span(row), tokens, patches, members)
