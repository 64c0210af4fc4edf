"""What is known of each record of a set, a column at a time, read from the indexes where it is asked for.

Odd: a column looks like an array and holds nothing. One item, or some of them, read the indexes that they stand in;
`np.asarray(column)` and `tolist()` make the whole of it, which is for sets that fit in memory.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trivium.data.shards.columns import Strings
from trivium.data.shards.sheet import NUMBERS, Sheet

_INTEGER = (int, np.integer)
STRINGS = ("id", "cluster", "source_id", "license", "language")


class Indexes(Protocol):
    """Where the columns come from. Raises ShardError or StorageError where an index can't be read."""

    starts: list[int]  # the number of each shard's first record, and of all at the end

    def sheet(self, shard: int) -> Sheet: ...

    def strings(self, shard: int) -> Strings: ...

    def ahead(self, shards: range) -> None: ...


class Column:
    """One column: `[number]`, `[numbers]`, `[mask]` or `[slice]`, iteration, and the whole of it as an array."""

    def __init__(self, indexes: Indexes, name: str) -> None:
        self._indexes, self._name = indexes, name
        self._place = NUMBERS.index(name) if name in NUMBERS else None

    def __len__(self) -> int:
        return self._indexes.starts[-1]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, _INTEGER):
            number = int(at) + len(self) if at < 0 else int(at)
            if not 0 <= number < len(self):
                raise IndexError(f"record {at} of {len(self)}")
            shard = bisect_right(self._indexes.starts, number) - 1
            return self._one(shard, number - self._indexes.starts[shard])
        if isinstance(at, slice):
            numbers = np.arange(*at.indices(len(self)))
        else:
            numbers = np.asarray(at)
            numbers = np.flatnonzero(numbers) if numbers.dtype == np.bool_ else numbers
        if not len(numbers):
            return self._array([])
        parts, places = [], []
        owners = np.searchsorted(self._indexes.starts, numbers, side="right") - 1
        for shard in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == shard)
            parts.append(self._part(shard)[numbers[mine] - self._indexes.starts[shard]])
            places.append(mine)
        whole = self._array(parts)
        found = np.empty_like(whole)
        found[np.concatenate(places)] = whole
        return found

    def __iter__(self) -> Iterator[Any]:
        for shard in self._shards():
            yield from self._part(shard)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = self._array([self._part(shard) for shard in self._shards()])
        return whole if dtype is None else whole.astype(dtype)

    def __eq__(self, other: object) -> Any:
        return np.asarray(self) == np.asarray(other)

    __hash__ = None  # type: ignore[assignment]

    def tolist(self) -> list[Any]:
        """All values."""
        return np.asarray(self).tolist()  # type: ignore[no-any-return]

    def parts(self) -> Iterator[NDArray[Any]]:
        """The values of one shard after the other."""
        return map(self._part, self._shards())

    def sum(self) -> int:
        """Of all numbers, a shard at a time."""
        return sum(int(part.sum()) for part in self.parts())

    def any(self) -> bool:
        """Whether one number is not 0."""
        return any(bool(part.any()) for part in self.parts())

    def _shards(self) -> Iterator[int]:
        count = len(self._indexes.starts) - 1
        for start in range(0, count, 16):
            some = range(start, min(start + 16, count))
            self._indexes.ahead(some)
            yield from some

    def _one(self, shard: int, row: int) -> Any:
        if self._place is not None:
            return np.int64(self._indexes.sheet(shard).number(row, self._place))
        if self._name == "shard":
            return np.int64(shard)
        if self._name == "id":
            return np.str_(self._indexes.sheet(shard).key(row))
        value = getattr(self._indexes.strings(shard), self._name)[row]
        return np.str_(value.decode() if isinstance(value, bytes) else value)

    def _part(self, shard: int) -> NDArray[Any]:
        """The column of one shard: int64, or str."""
        if self._name == "shard":
            starts = self._indexes.starts
            return np.full(starts[shard + 1] - starts[shard], shard, np.int64)
        if self._name == "id":
            return self._indexes.sheet(shard).records["id"].astype(np.str_)
        if self._place is not None:
            return self._indexes.sheet(shard).records[self._name].astype(np.int64)
        return getattr(self._indexes.strings(shard), self._name).astype(np.str_)  # type: ignore[no-any-return]

    def _array(self, parts: list[NDArray[Any]]) -> NDArray[Any]:
        kind = np.str_ if self._name in STRINGS else np.int64
        return np.concatenate(parts) if parts else np.zeros(0, kind)


class Entries:
    """Columns over all records of a set, ordered by (shard, id); nothing is loaded before it is asked for.

    `offset` and `size` span the record in its tar (bytes); `cluster` is the source_id where no cluster was found.
    """

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes
        self.id, self.shard = Column(indexes, "id"), Column(indexes, "shard")
        self.offset, self.size = Column(indexes, "offset"), Column(indexes, "size")
        self.tokens, self.patches = Column(indexes, "tokens"), Column(indexes, "patches")
        self.images = Column(indexes, "images")
        self.cluster, self.source_id = Column(indexes, "cluster"), Column(indexes, "source_id")
        self.license, self.language = Column(indexes, "license"), Column(indexes, "language")

    def __len__(self) -> int:
        return self._indexes.starts[-1]
