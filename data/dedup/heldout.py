"""Held-out sets as items of text fields: JSON lines, Parquet, plain text, folders of these, our own shard sets.

An item is one line, row, record, or, in plain text, one block between blank lines. Its fields are compared one by one,
so that no n-gram spans two of them; all strings of an item are fields unless the recipe names some.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trivium.data.config import Strict
from trivium.data.records import Text
from trivium.errors import InputError

TEXT_SUFFIXES = (".txt", ".md")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_PARQUET = ".parquet"
_ROWS = 256  # of a Parquet file read at a time


class HeldOut(Strict, kw_only=True):
    """One set: `path` of a file, of a folder of files or of a shard set; `fields` are keys of its items, in any depth
    with dots (`choices.text`); none = all strings. `ngram` in words, 0 = the stage's.
    """

    name: str  # of the set, in the report
    path: str
    fields: tuple[str, ...] = ()
    ngram: int = 0

    def __post_init__(self) -> None:
        if self.ngram < 0:
            raise ValueError(f"ngram is {self.ngram}; give a number of words, or 0 for the stage's")
        if not self.name:
            raise ValueError("name is empty; reports speak of a set by its name")


class Item(NamedTuple):
    """One item: where it lies in its set, and the texts of its fields."""

    address: str
    texts: tuple[str, ...]


def items_of(held_out: HeldOut, path: Path) -> Iterator[Item]:
    """The items of a set, in order. Raises InputError naming file and line for what can't be read."""
    if (path / "manifest.json").is_file():
        yield from _records(path)
        return
    files = sorted(file for file in path.rglob("*") if _known(file)) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: holds no shard set and no {_kinds()} file; mend `path` of the held-out set")
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        yield from _items(held_out, file, name)


def _known(file: Path) -> bool:
    return file.is_file() and file.name.endswith((*TEXT_SUFFIXES, *JSON_SUFFIXES, _PARQUET))


def _kinds() -> str:
    return ", ".join((*JSON_SUFFIXES, _PARQUET, *TEXT_SUFFIXES))


def _items(held_out: HeldOut, file: Path, name: str) -> Iterator[Item]:
    if not _known(file):
        raise InputError(f"{file}: a held-out set is a shard set or a {_kinds()} file; convert it, or mend `path`")
    try:
        if file.name.endswith(TEXT_SUFFIXES):
            yield from _blocks(file, name)
        elif file.name.endswith(_PARQUET):
            for number, row in _rows(file):
                yield Item(f"{name}:{number}", _texts(row, held_out.fields, f"{file}: row {number}"))
        else:
            for number, row in _lines(file):
                yield Item(f"{name}:{number}", _texts(row, held_out.fields, f"{file}:{number}"))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: can't be read ({error}); mend the held-out set") from None


def _blocks(file: Path, name: str) -> Iterator[Item]:
    begin, block = 0, []
    with file.open(encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                begin = begin or number
                block.append(line)
            elif block:
                yield Item(f"{name}:{begin}", ("".join(block),))
                begin, block = 0, []
    if block:
        yield Item(f"{name}:{begin}", ("".join(block),))


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    with gzip.open(file, "rb") if file.name.endswith(".gz") else file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise InputError(f"{file}:{number}: not JSON ({error}); mend the held-out set") from None


def _rows(file: Path) -> Iterator[tuple[int, Any]]:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as table:
            number = 0
            for batch in table.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    yield number, row
                    number += 1
    except pyarrow.ArrowException as error:
        raise InputError(f"{file}: can't be read as Parquet ({error}); mend the held-out set") from None


def _records(path: Path) -> Iterator[Item]:
    from trivium.data.shards import ShardSet

    shards = ShardSet.open(path)
    try:
        for record in range(len(shards)):
            document = shards.read_document(record)
            yield Item(document.id, tuple(part.text for part in document.segments if isinstance(part, Text)))
    finally:
        shards.close()


def _texts(value: Any, fields: tuple[str, ...], where: str) -> tuple[str, ...]:
    if not fields:
        return tuple(_strings(value))
    found: list[str] = []
    for field in fields:
        inner = value
        for key in field.split("."):
            if not isinstance(inner, dict) or key not in inner:
                known = ", ".join(inner) if isinstance(inner, dict) else type(inner).__name__
                raise InputError(f"{where}: no field {field!r}; found {known}: mend `fields` of the held-out set")
            inner = inner[key]
        found += _strings(inner)
    return tuple(found)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
