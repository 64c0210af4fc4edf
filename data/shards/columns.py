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
_NUMBERS = ("offset", "size", "tokens", "patches", "images", "members", "member_offset", "member_size", "crc32")
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
    field: msgspec.Raw
    member_offset: msgspec.Raw
    member_size: msgspec.Raw
    crc32: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Numbers:
    """The columns of numbers of one index, and its ids; `field` are numbers into `fields`."""

    id: NDArray[np.bytes_]
    offset: Ints
    size: Ints
    tokens: Ints
    patches: Ints
    images: Ints
    members: Ints
    field: Ints
    fields: tuple[str, ...]
    member_offset: Ints
    member_size: Ints
    crc32: Ints

    def broken(self, length: int) -> str:
        """Why they can't be those of a tar of so many bytes, or an empty string."""
        columns = (self.offset, self.size, self.tokens, self.patches, self.images, self.members)
        if any(len(one) != len(self.id) for one in columns):
            return "its record columns differ in length"
        if len(self.members) and (int(self.members.max()) >= 1 << 20 or not self.members.all()):
            return "its member columns differ in length from what the records have"
        members = (self.field, self.member_offset, self.member_size, self.crc32)
        if any(len(one) != int(self.members.sum()) for one in members):
            return "its member columns differ in length"
        if (self.id[1:] <= self.id[:-1]).any():
            return "its ids are not sorted"
        if any(len(one) and int(one.max()) >= _MOST for one in (self.tokens, self.patches, self.images, self.crc32)):
            return "a count or checksum is too large"
        for field in self.fields:
            if field != names.JSON:
                try:
                    names.check_field(field)
                except ShardError as error:
                    return str(error)
        return self._spans(length)

    def _spans(self, length: int) -> str:
        stop = self.offset + self.size
        if (self.offset[1:] < stop[:-1]).any() or (len(stop) and int(stop.max()) > length):
            return "a record lies outside the tar or in another record"
        owner = np.repeat(np.arange(len(self.id)), self.members)
        before = self.member_offset < self.offset[owner]
        if before.any() or (self.member_offset + self.member_size > stop[owner]).any():
            return "a member lies outside its record"
        return ""


@dataclass(frozen=True, slots=True)
class Strings:
    """The other columns, and the ids once more."""

    id: NDArray[np.bytes_]
    cluster: Keys
    source_id: Keys
    license: Labels
    language: Labels

    @property
    def cost(self) -> int:
        """Bytes of memory, about."""
        return sum(one.nbytes for one in (self.id, self.cluster, self.source_id, self.license, self.language))


def read_numbers(folder: Place, info: ShardInfo) -> Numbers:
    """The numbers of one shard. Raises ShardError when its index is missing, damaged, or not the manifest's."""
    return numbers_of(read_raw(folder, info), info, index_path(folder, info))


def read_strings(folder: Place, info: ShardInfo) -> Strings:
    """The strings of one shard. Raises as `read_numbers` does."""
    return strings_of(read_raw(folder, info), info, index_path(folder, info))


def numbers_of(payload: bytes, info: ShardInfo, path: Place) -> Numbers:
    """From the bytes of an index; `path` is for messages. Raises ShardError."""
    parts = parse(payload, _Parts, path, INDEX_FORMAT, INDEX_VERSION)
    found: dict[str, Any] = {}
    try:
        for name in _NUMBERS:
            found[name] = _ints(getattr(parts, name))
        found["id"] = _ids(parts.id)
        found["field"], table = _codes(_texts(parts.field))
    except (ValueError, msgspec.DecodeError) as error:
        raise _damaged(path, error) from None
    numbers = Numbers(**found, fields=tuple(table))
    reason = numbers.broken(parts.bytes)
    if not reason and len(numbers.id) != info.records:
        reason = f"it lists {len(numbers.id)} records and the manifest {info.records}"
    if not reason and parts.bytes != info.bytes:
        reason = f"it says that the tar has {parts.bytes} bytes, the manifest {info.bytes}"
    if reason:
        raise ShardError(f"{path}: {reason}; build the set again")
    return numbers


def strings_of(payload: bytes, info: ShardInfo, path: Place) -> Strings:
    """From the bytes of an index, as `numbers_of`."""
    parts = parse(payload, _Parts, path, INDEX_FORMAT, INDEX_VERSION)
    found: dict[str, Any] = {}
    try:
        found["id"] = _ids(parts.id)
        for name in ("cluster", "source_id"):
            column = _fixed(getattr(parts, name))
            found[name] = np.array(_texts(getattr(parts, name)), np.str_) if column is None else column
        for name in ("license", "language"):
            codes, table = _codes(_texts(getattr(parts, name)))
            found[name] = np.array(table, np.object_)[codes] if table else np.array([], np.object_)
    except (ValueError, msgspec.DecodeError) as error:
        raise _damaged(path, error) from None
    if any(len(column) != info.records for column in found.values()):
        raise ShardError(f"{path}: its record columns differ in length; build the set again")
    return Strings(**found)


def _damaged(path: Place, error: Exception) -> ShardError:
    return ShardError(f"{path}: damaged ({error}); copy the file again, or build the set again")


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
