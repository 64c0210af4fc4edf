"""An index as columns of numbers and strings, checked as a whole.

Odd: the JSON is split into its columns by msgspec, and each is read as the text that our writer makes, numbers between
commas and 26 characters between quotes, without an object for each value.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data.config import Strict
from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.index import INDEX_FORMAT, INDEX_VERSION, index_path, read_raw
from trivium.data.shards.manifest import Count, ShardInfo, parse
from trivium.errors import ShardError

Ints = NDArray[np.int64]
Keys = NDArray[np.bytes_] | NDArray[np.str_]  # bytes where all are 26 characters of [0-9a-z], as ids are
Labels = NDArray[np.object_]  # few different ones
_LIMIT = 1 << 62
_MOST = 1 << 32  # tokens, patches, pictures, a checksum
_ID = 26
_CELL = _ID + 3  # an id, its quotes, a comma


class _Parts(Strict):
    """The columns as they stand in the file; `sha256` is left where it is."""

    format: str
    version: int
    shard: str
    bytes: Count
    id: msgspec.Raw
    offset: msgspec.Raw
    size: msgspec.Raw
    sha256: msgspec.Raw
    tokens: msgspec.Raw
    patches: msgspec.Raw
    images: msgspec.Raw
    cluster: msgspec.Raw
    source_id: msgspec.Raw
    license: msgspec.Raw
    language: msgspec.Raw
    members: msgspec.Raw
    field: list[str]
    member_offset: msgspec.Raw
    member_size: msgspec.Raw
    crc32: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one index; `field` are numbers into `fields`. `bytes` is the length of the tar."""

    bytes: int
    id: NDArray[np.bytes_]
    offset: Ints
    size: Ints
    tokens: Ints
    patches: Ints
    images: Ints
    cluster: Keys
    source_id: Keys
    license: Labels
    language: Labels
    members: Ints
    field: Ints
    fields: tuple[str, ...]
    member_offset: Ints
    member_size: Ints
    crc32: Ints

    @property
    def cost(self) -> int:
        """Bytes of memory, about."""
        numbers = (self.offset, self.size, self.tokens, self.patches, self.images, self.license, self.language)
        members = (self.members, self.field, self.member_offset, self.member_size, self.crc32)
        return sum(one.nbytes for one in (*numbers, *members, self.id, self.cluster, self.source_id))

    def broken(self) -> str:
        """Why they can't be right, or an empty string."""
        columns = (self.offset, self.size, self.tokens, self.patches, self.images, self.cluster, self.source_id)
        if any(len(one) != len(self.id) for one in (*columns, self.license, self.language, self.members)):
            return "its record columns differ in length"
        count = (
            int(self.members.sum()) if len(self.members) and int(self.members.max()) < 1 << 20 else len(self.members)
        )
        if any(len(one) != count for one in (self.field, self.member_offset, self.member_size, self.crc32)):
            return "its member columns differ in length"
        if len(self.members) and int(self.members.max()) >= 1 << 20:
            return "its member columns differ in length from what the records have"
        if (self.id[1:] <= self.id[:-1]).any():
            return "its ids are not sorted"
        if len(self.members) and not self.members.all():
            return "a record has no members"
        if any(len(one) and int(one.max()) >= _MOST for one in (self.tokens, self.patches, self.images, self.crc32)):
            return "a count or checksum is too large"
        for field in self.fields:
            if field != names.JSON:
                try:
                    names.check_field(field)
                except ShardError as error:
                    return str(error)
        return self._spans()

    def _spans(self) -> str:
        stop = self.offset + self.size
        if (self.offset[1:] < stop[:-1]).any() or (len(stop) and int(stop.max()) > self.bytes):
            return "a record lies outside the tar or in another record"
        owner = np.repeat(np.arange(len(self.id)), self.members)
        before = self.member_offset < self.offset[owner]
        if before.any() or (self.member_offset + self.member_size > stop[owner]).any():
            return "a member lies outside its record"
        return ""


def read_columns(folder: Place, info: ShardInfo) -> Columns:
    """The columns of one shard. Raises ShardError when its index is missing, damaged, or not the manifest's."""
    return columns_of(read_raw(folder, info), info, index_path(folder, info))


def columns_of(payload: bytes, info: ShardInfo, path: Place) -> Columns:
    """From the bytes of an index; `path` is for messages. Raises ShardError."""
    parts = parse(payload, _Parts, path, INDEX_FORMAT, INDEX_VERSION)
    found: dict[str, Any] = {"bytes": parts.bytes}
    try:
        for name in (
            "offset",
            "size",
            "tokens",
            "patches",
            "images",
            "members",
            "member_offset",
            "member_size",
            "crc32",
        ):
            found[name] = _ints(getattr(parts, name))
        found["id"] = _ids(parts.id)
        for name in ("cluster", "source_id"):
            column = _fixed(getattr(parts, name))
            if column is None:
                column = np.array(_texts(getattr(parts, name)), np.str_)
            found[name] = column
        for name in ("license", "language"):
            codes, table = _codes(_texts(getattr(parts, name)))
            found[name] = np.array(table, np.object_)[codes] if table else np.array([], np.object_)
        found["field"], table = _codes(parts.field)
    except (ValueError, msgspec.DecodeError) as error:
        raise ShardError(f"{path}: damaged ({error}); copy the file again, or build the set again") from None
    columns = Columns(**found, fields=tuple(table))
    reason = columns.broken()
    if not reason and len(columns.id) != info.records:
        reason = f"it lists {len(columns.id)} records and the manifest {info.records}"
    if not reason and columns.bytes != info.bytes:
        reason = f"it says that the tar has {columns.bytes} bytes, the manifest {info.bytes}"
    if reason:
        raise ShardError(f"{path}: {reason}; build the set again")
    return columns


def _ints(raw: msgspec.Raw) -> Ints:
    text = bytes(raw)
    inner = text[1:-1]
    if text[:1] != b"[" or inner.translate(None, b"0123456789,"):
        raise ValueError("a column of numbers holds something else")
    if not inner:
        return np.zeros(0, np.int64)
    found = np.fromstring(inner, np.int64, sep=",")  # larger numbers become the largest
    if len(found) != inner.count(b",") + 1 or int(found.max()) >= _LIMIT:
        raise ValueError("a column holds numbers that are too large")
    return found


def _texts(raw: msgspec.Raw) -> list[str]:
    return msgspec.json.decode(raw, type=list[str])


def _fixed(raw: msgspec.Raw) -> NDArray[np.bytes_] | None:
    """A column of strings of 26 characters of [0-9a-z], or None when it is another."""
    text = bytes(raw)
    cells = text[1:-1] + b","
    if text == b"[]" or len(cells) % _CELL:
        return np.array([], f"S{_ID}") if text == b"[]" else None
    grid = np.frombuffer(cells, np.uint8).reshape(-1, _CELL)
    letters = np.ascontiguousarray(grid[:, 1 : 1 + _ID])
    known = ((letters >= 97) & (letters <= 122)) | ((letters >= 48) & (letters <= 57))
    framed = (grid[:, 0] == 34) & (grid[:, -2] == 34) & (grid[:, -1] == 44)
    if not (framed.all() and known.all()):
        return None
    return letters.view(f"S{_ID}").ravel()


def _ids(raw: msgspec.Raw) -> NDArray[np.bytes_]:
    found = _fixed(raw)
    if found is None:
        raise ValueError("its ids are not ids of 26 characters")
    return found


def _codes(values: list[str]) -> tuple[Ints, list[str]]:
    """Numbers into the list of different values."""
    table = {value: at for at, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(table.__getitem__, values), np.int64, len(values)), list(table)
