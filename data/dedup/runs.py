"""Counting by key on disk: sorted runs of rows, their merge part by part, and tables that workers look keys up in.

A row is W numbers of 64 bits: `keys` columns that say what is counted, then columns that rank its occurrences, then the
count. Combining keeps the smallest occurrence of each key and adds the counts, so a key that stands in a million places
is one row of each run: memory hangs on how many rows a run may have, never on how often something occurs.

Odd: only the places of runs go through Beam's shuffles. The first column is a hash, so its highest bits deal the keys
evenly over parts, and a part is a stretch of each run.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.dedup.units import Hashes, Rows
from trivium.errors import BuildError

RUN = 1 << 20  # rows of a run, and about the rows that a merge holds at a time
PART_BITS = 6  # parts: 64
_MAGIC = b"trivrow1"
_HEAD = 24  # bytes: magic, columns, rows


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A part's stretch of one run: `start` and `rows` in rows, `path` below the build folder."""

    part: int
    path: str
    start: int
    rows: int


def combine(rows: Rows, keys: int) -> Rows:
    """Sorted by all columns, one row for each value of the first `keys`: its smallest occurrence, counts added."""
    if not len(rows):
        return rows
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    first = rows[:, 0]
    same = np.concatenate(([False], first[1:] == first[:-1]))
    tied = np.flatnonzero(same | np.concatenate((same[1:], [False])))
    if not len(tied):
        return rows
    some = rows[tied]
    some = some[np.lexsort(some.T[::-1])]
    rows[tied] = some
    new = np.concatenate(([True], (some[1:, :keys] != some[:-1, :keys]).any(axis=1)))
    begins = np.flatnonzero(new)
    counts = np.add.reduceat(some[:, -1], begins)
    keep = np.ones(len(rows), dtype=np.bool_)
    keep[tied] = new
    rows[tied[begins], -1] = counts
    return rows[keep]


class RunWriter:
    """Gathers rows and writes them as sorted runs of up to `limit` rows below `build/folder`."""

    def __init__(self, build: Path, folder: str, keys: int, limit: int = RUN) -> None:
        self._build, self._folder, self._keys, self._limit = build, folder, keys, limit
        self._held: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> Iterator[Slice]:
        """Takes rows; yields the slices of a run when that filled one."""
        if len(rows):
            self._held.append(rows)
            self._count += len(rows)
        if self._count >= self._limit:
            yield from self.flush()

    def flush(self) -> Iterator[Slice]:
        """Writes what is held; a reader sees a run only through the slices that this yields."""
        if not self._count:
            return
        rows = combine(np.concatenate(self._held), self._keys)
        self._held, self._count = [], 0
        path = f"{self._folder}/{uuid.uuid4().hex}.run"
        (self._build / self._folder).mkdir(parents=True, exist_ok=True)
        write_rows(self._build / path, rows)
        edges = np.searchsorted(rows[:, 0] >> np.uint64(64 - PART_BITS), np.arange((1 << PART_BITS) + 1))
        for part in range(1 << PART_BITS):
            start, end = int(edges[part]), int(edges[part + 1])
            if end > start:
                yield Slice(part=part, path=path, start=start, rows=end - start)


def merge(build: Path, slices: Sequence[Slice], keys: int, limit: int = RUN) -> Iterator[Rows]:
    """The combined rows of one part, in order of their keys, in stretches that hold whole keys and about `limit` rows
    before they are combined. Raises BuildError for a run that was cut off."""
    runs = []
    for piece in sorted(slices, key=lambda piece: (piece.path, piece.start)):
        table = Table(build / piece.path)
        runs.append((table, piece.start, piece.start + piece.rows))
    pending = [(runs, sum(end - start for _, start, end in runs))]
    while pending:
        stretch, size = pending.pop()
        if size > limit and (pivot := _pivot(stretch)) is not None:
            low, high = [], []
            for table, start, end in stretch:
                cut = start + int(np.searchsorted(table.column(0)[start:end], pivot))
                low += [(table, start, cut)] if cut > start else []
                high += [(table, cut, end)] if end > cut else []
            pending += [(part, sum(end - start for _, start, end in part)) for part in (high, low)]
            continue
        if stretch:
            yield combine(np.concatenate([table.rows(start, end) for table, start, end in stretch]), keys)


def _pivot(stretch: Sequence[tuple["Table", int, int]]) -> np.uint64 | None:
    """A first column's value that splits the stretch in two; None when it holds a single value."""
    table, start, end = max(stretch, key=lambda part: part[2] - part[1])
    low = min(part.column(0)[begin] for part, begin, _ in stretch)
    high = max(part.column(0)[stop - 1] for part, _, stop in stretch)
    if low == high:
        return None
    middle = table.column(0)[start + (end - start) // 2]
    return np.uint64(middle if middle > low else low + np.uint64(1))


def write_rows(path: Path, rows: Rows) -> None:
    """Writes rows, which are sorted by their first column, column by column. Not synced: a file cut off by a
    crash is refused when it is opened.
    """
    with path.open("wb") as file:
        file.write(_MAGIC + int(rows.shape[1]).to_bytes(8, "little") + len(rows).to_bytes(8, "little"))
        for column in range(rows.shape[1]):
            file.write(np.ascontiguousarray(rows[:, column]).astype("<u8", copy=False).tobytes())


def join_tables(parts: Sequence[Path], path: Path, columns: int) -> "Table":
    """One table of many whose keys follow each other in the order given; no more than a part's column in memory."""
    tables = [Table(part) for part in parts]
    with path.open("wb") as file:
        file.write(_MAGIC + columns.to_bytes(8, "little") + sum(map(len, tables)).to_bytes(8, "little"))
        for column in range(columns):
            for table in tables:
                file.write(table.column(column).tobytes())
    return Table(path)


def select(table: "Table", path: Path, keep: Callable[[Rows], Rows]) -> "Table":
    """A table of the rows that `keep` leaves of stretches of another one."""
    parts = []
    for number, start in enumerate(range(0, len(table), RUN)):
        part = path.with_name(f"{path.name}.{number}")
        write_rows(part, keep(table.rows(start, start + RUN)))
        parts.append(part)
    joined = join_tables(parts, path, table.columns)
    for part in parts:
        part.unlink()
    return joined


class Table:
    """Rows in a file, sorted by their first column, read through the page cache; workers share its pages."""

    def __init__(self, path: Path) -> None:
        """Raises BuildError when the file was cut off or is none of ours."""
        self.path = path
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
            size = path.stat().st_size
        except OSError as error:
            raise BuildError(f"{path}: can't be read ({error.strerror}); run the build again") from None
        columns, rows = int.from_bytes(head[8:16], "little"), int.from_bytes(head[16:24], "little")
        expected = _HEAD + 8 * columns * rows
        if len(head) < _HEAD or head[:8] != _MAGIC or size != expected:
            raise BuildError(
                f"{path}: {size:,} bytes, {expected:,} expected by its head; the file was cut off or changed: run the "
                "same command again, which starts the build anew"
            )
        self.columns = columns
        self._rows: npt.NDArray[np.uint64] = (
            np.memmap(path, dtype="<u8", mode="r", offset=_HEAD, shape=(columns, rows))
            if rows
            else np.empty((columns, 0), dtype=np.uint64)
        )

    def __len__(self) -> int:
        return int(self._rows.shape[1])

    def column(self, number: int) -> Hashes:
        column: Hashes = self._rows[number]
        return column

    def rows(self, start: int, end: int) -> Rows:
        return np.array(self._rows[:, start:end].T, order="C")

    def find(self, *keys: Hashes) -> npt.NDArray[np.int64]:
        """For each key (one array for each of the first columns) the row that has it, or -1."""
        first = self._rows[0]
        place = np.searchsorted(first, keys[0])
        found = np.full(len(keys[0]), -1, dtype=np.int64)
        open_ = np.flatnonzero(place < len(first))
        while len(open_):
            at = place[open_]
            alike = first[at] == keys[0][open_]
            open_, at = open_[alike], at[alike]
            whole = np.ones(len(at), dtype=np.bool_)
            for column in range(1, len(keys)):
                whole &= self._rows[column][at] == keys[column][open_]
            found[open_[whole]] = at[whole]
            open_ = open_[~whole]
            place[open_] += 1
            open_ = open_[place[open_] < len(first)]
        return found

    def has(self, keys: Hashes) -> npt.NDArray[np.bool_]:
        """Which of the keys stand in the first column."""
        first = self._rows[0]
        if not len(first):
            return np.zeros(len(keys), dtype=np.bool_)
        place = np.searchsorted(first, keys)
        alike: npt.NDArray[np.bool_] = first[np.minimum(place, len(first) - 1)] == keys
        return alike


def best(table: Table, most: int) -> Hashes:
    """The keys of the `most` rows of the highest counts (the last column), the smaller key first among equals."""
    counts = table.column(table.columns - 1)
    if len(counts) <= most:
        return np.array(table.column(0))
    least = np.partition(counts, len(counts) - most)[len(counts) - most]
    above = np.flatnonzero(counts > least)
    return table.column(0)[np.append(above, np.flatnonzero(counts == least)[: most - len(above)])]
