"""Parquet files as a source: one row group an item, its rows decoded a few at a time.

Odd: a group of a billion equal rows is one value on disk, so the rows decoded at once are few enough for the largest
value that the group's dictionary can hold, and how much it may give is bounded by what it takes on disk, as for every
compressed input. (Arrow's own way to keep dictionaries takes 20 times the processor time and 4 times the group's size.)
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from trivium.data.stage import Drop, Outcome
from trivium.pipelines.corpora.sources import files, streams
from trivium.pipelines.corpora.sources.base import Place, RefusedError
from trivium.pipelines.corpora.sources.columns import Table, no_column
from trivium.pipelines.corpora.sources.folder import file_places, readable_path

_BATCH = 4 << 20  # bytes of decoded rows held at once, on average
_REPEATED = 64 << 20  # bytes of them at most, when all are the largest value of the dictionary
_ROWS = 1024
_BUFFER = 1 << 20


class Parquet(Table, kw_only=True, tag="parquet"):
    """Rows of the Parquet files below `path` (or of that one file); see `Table` for columns.

    `max_group`: bytes, as the file declares them, that the columns of one row group may decode to.
    """

    suffixes: tuple[str, ...] = (".parquet",)
    max_group: Annotated[int, Meta(ge=1)] = 8 << 30
    max_ratio: Annotated[float, Meta(ge=1)] = 200.0  # how many times its size a column may unpack to

    def places(self, base: Path) -> Iterator[Place]:
        yield from file_places(self.where(base), self.suffixes, one=True)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        """A place for each row group: `offset` its number, `length` the rows before it."""
        try:
            path = readable_path(place)
            with files.opened(path, place.root) as file:
                table = _opened(file)
                before = 0
                for number in range(table.num_row_groups):
                    yield Place(path=path, address=place.address, offset=number, length=before, root=place.root)
                    before += table.metadata.row_group(number).num_rows
        except RefusedError as why:
            yield self.refused(place.address, why)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        row = place.length
        try:
            with files.opened(place.path, place.root) as file:
                for found in self._rows(file, place.offset):
                    where = f"{place.address}@{row}"
                    row += 1
                    if isinstance(found, RefusedError):
                        yield self.refused(where, found)
                    else:
                        yield self.record(found, where, corpus, domain)
        except RefusedError as why:
            yield self.refused(f"{place.address}@{row}+", why)

    def _rows(self, file: Any, number: int) -> Iterator[dict[str, Any] | RefusedError]:
        import pyarrow

        heads = {name.partition(".")[0] for name in self.columns.names()} | set(self.columns.names())
        table = _opened(file)
        wanted = [name for name in table.schema_arrow.names if name in heads]
        group = table.metadata.row_group(number)
        chunks = [group.column(index) for index in range(group.num_columns)]
        chunks = [chunk for chunk in chunks if chunk.path_in_schema.partition(".")[0] in heads]
        whole = sum(max(0, chunk.total_uncompressed_size) for chunk in chunks)
        stored = sum(max(0, chunk.total_compressed_size) for chunk in chunks)
        if whole > self.max_group:
            raise RefusedError("too_large", f"a row group of {whole:,} bytes, limit {self.max_group:,} (max_group)")
        for name in self.columns.texts:  # here, where all columns are known: the rows have those that are mapped
            if not {name, name.partition(".")[0]} & set(wanted):
                raise no_column(name, table.schema_arrow.names)
        largest = max((_dictionary(file, chunk) for chunk in chunks), default=0)
        size = max(1, min(_ROWS, _BATCH * max(1, group.num_rows) // max(1, whole), _REPEATED // max(1, largest)))
        given = 0
        try:
            for batch in table.iter_batches(size, row_groups=[number], columns=wanted, use_threads=False):
                values = {name: _values(batch.column(name)) for name in wanted}
                for index in range(batch.num_rows):
                    try:
                        row = {name: take(index) for name, take in values.items()}
                    except UnicodeDecodeError as error:
                        yield RefusedError("broken_text", str(error), error=True)
                        continue
                    given += sum(len(value) for value in row.values() if isinstance(value, str))
                    if given > streams.FLOOR and given > self.max_ratio * stored:
                        detail = f"{given:,} characters of {stored:,} bytes, limit {self.max_ratio:g} times"
                        raise RefusedError("bomb", f"{detail}; a group of {group.num_rows:,} rows")
                    yield row
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise RefusedError("damaged", str(error)[:300], error=True) from None


def _opened(file: Any) -> Any:
    """The table; its columns are read as streams. Raises RefusedError when it is no Parquet."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise RefusedError("damaged", str(error)[:300], error=True) from None


def _dictionary(file: Any, chunk: Any) -> int:
    """Bytes of the chunk's dictionary when unpacked, as its page says: no value of the dictionary is longer.

    The page's header is a Thrift struct in the compact protocol: its kind, its size unpacked, its size as stored
    (parquet.thrift, PageHeader).
    """
    if not chunk.has_dictionary_page:
        return 0
    file.seek(chunk.dictionary_page_offset)
    numbers = []
    header = file.read(32)
    at = 0
    while len(numbers) < 2 and at < len(header) and header[at] == 0x15:  # the next field, a 32-bit integer
        value, shift, at = 0, 0, at + 1
        while at < len(header):
            value, shift, at = value | (header[at] & 0x7F) << shift, shift + 7, at + 1
            if not header[at - 1] & 0x80:
                break
        numbers.append((value >> 1) ^ -(value & 1))
    return abs(numbers[1]) if len(numbers) == 2 else int(chunk.total_uncompressed_size)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _values(column: Any) -> Callable[[int], Any]:
    """What gives the value at an index; text may raise UnicodeDecodeError."""
    import pyarrow

    if _is_text(column.type):
        held = column.cast(pyarrow.large_binary()).to_pylist()
        return lambda index: None if (value := held[index]) is None else value.decode()
    return column.to_pylist().__getitem__
