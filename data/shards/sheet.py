"""The numbers of one index as two tables of fixed rows, in memory or mapped from a file that is kept for later.

Odd: a row has all that a reader must know of a record, so that a read at random touches one page. A kept file is named
by the sha256 of the index that it was made from, so it is never stale, and many processes may share it.
"""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data.shards.columns import Numbers
from trivium.data.shards.storage import write_whole

_FORMAT, _HEAD = "trivium.sheet 1", 4096  # bytes before the tables
_MAPPED = 1 << 16  # what a mapped file counts on a shelf; its pages are the system's
RECORD = np.dtype(
    [
        ("offset", "<i8"),
        ("size", "<i8"),
        ("tokens", "<u4"),
        ("patches", "<u4"),
        ("images", "<u4"),
        ("first", "<u4"),  # its first row among the members
        ("members", "<u4"),
        ("id", "S26"),
        ("spare", "V2"),
    ]
)
MEMBER = np.dtype([("offset", "<i8"), ("size", "<i8"), ("crc32", "<u4"), ("field", "<u4")])
_RECORD, _MEMBER = struct.Struct("<qq5I26s2x"), struct.Struct("<qqII")  # the same, for one row: ten times as fast
NUMBERS = ("offset", "size", "tokens", "patches", "images")


class _Head(msgspec.Struct, frozen=True):
    format: str
    records: int
    members: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of RECORD, sorted by id, and of MEMBER, whose `field` is a number into `fields`; read alone."""

    records: NDArray[np.void]
    members: NDArray[np.void]
    fields: tuple[str, ...]
    mapped: bool = False
    _records: memoryview = field(init=False, repr=False, compare=False)
    _members: memoryview = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, rows in (("_records", self.records), ("_members", self.members)):
            object.__setattr__(self, name, memoryview(rows.view(np.uint8).data))

    @property
    def cost(self) -> int:
        """Bytes of memory."""
        return _MAPPED if self.mapped else self.records.nbytes + self.members.nbytes

    def key(self, row: int) -> str:
        """The id of a record."""
        return self._row(row)[7].decode()  # type: ignore[no-any-return]

    def number(self, row: int, place: int) -> int:
        """One of NUMBERS, by its place there."""
        return self._row(row)[place]  # type: ignore[no-any-return]

    def span(self, row: int) -> tuple[int, int]:
        """Offset and size of a record in its tar."""
        return self._row(row)[:2]

    def held(self, row: int) -> Iterator[tuple[str, int, int, int]]:
        """Name, offset, size and CRC of a record's members, in the order of the tar."""
        first, count = self._row(row)[5:7]
        for at in range(first, first + count):
            offset, size, crc32, field = _MEMBER.unpack_from(self._members, at * MEMBER.itemsize)
            yield self.fields[field], offset, size, crc32

    def last(self, row: int) -> tuple[int, int, int]:
        """Offset, size and CRC of a record's last member: its tokens, in a tokenised set."""
        first, count = self._row(row)[5:7]
        found: tuple[int, int, int] = _MEMBER.unpack_from(self._members, (first + count - 1) * MEMBER.itemsize)[:3]
        return found

    def _row(self, row: int) -> tuple[Any, ...]:
        return _RECORD.unpack_from(self._records, row * RECORD.itemsize)

    def row(self, key: str) -> int | None:
        """The record with this id."""
        ids, wanted = self.records["id"], np.bytes_(key.encode("ascii", "replace"))
        at = int(np.searchsorted(ids, wanted))
        return at if at < len(ids) and ids[at] == wanted else None


def sheet_of(columns: Numbers) -> Sheet:
    """The numbers of a checked index."""
    records, members = np.zeros(len(columns.id), RECORD), np.zeros(len(columns.field), MEMBER)
    for name in (*NUMBERS, "members", "id"):
        records[name] = getattr(columns, name)
    records["first"] = np.cumsum(columns.members) - columns.members
    for name, column in (("offset", columns.member_offset), ("size", columns.member_size)):
        members[name] = column
    members["crc32"], members["field"] = columns.crc32, columns.field
    return Sheet(records, members, columns.fields)


def keep(sheet: Sheet, path: Path) -> None:
    """Writes a sheet for `kept`, all or nothing."""
    head = msgspec.json.encode(_Head(_FORMAT, len(sheet.records), len(sheet.members), sheet.fields))
    path.parent.mkdir(parents=True, exist_ok=True)
    if len(head) < _HEAD:
        write_whole(path, head.ljust(_HEAD) + sheet.records.tobytes() + sheet.members.tobytes())


def kept(path: Path) -> Sheet | None:
    """A kept sheet, mapped; None when there is none, or none that can be used."""
    try:
        with path.open("rb") as file:
            head = msgspec.json.decode(file.read(_HEAD), type=_Head)
            whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    middle = _HEAD + head.records * RECORD.itemsize
    if head.format != _FORMAT or len(whole) != middle + head.members * MEMBER.itemsize:
        return None
    return Sheet(whole[_HEAD:middle].view(RECORD), whole[middle:].view(MEMBER), head.fields, mapped=True)
