"""Labelled texts to learn from: JSONL with `text` and `label`, or texts that a path as a whole calls good or bad."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.shards import ShardSet
from trivium.errors import InputError

Labelled = tuple[str, str, str]  # text, label, group (or nothing): texts of one group stay on one side of the split
_SUFFIXES = (".txt", ".md", ".text")
POSITIVE, NEGATIVE = "positive", "negative"


class _Line(msgspec.Struct):
    text: str
    label: str | int | float | bool | None = None
    group: str = ""  # a site, a book, an author


def labelled(paths: Iterable[Path]) -> Iterator[Labelled]:
    """The texts of JSONL files whose lines carry a label. Raises InputError naming file and line."""
    for path in paths:
        for number, line in _lines(path):
            if line.label is None:
                raise InputError(f"{path}:{number}: no `label`; each line is {{'text': …, 'label': …}}")
            yield line.text, _name(line.label), line.group


def _name(label: str | int | float | bool) -> str:
    if isinstance(label, bool):
        return POSITIVE if label else NEGATIVE
    return label if isinstance(label, str) else f"{label:g}"


def texts(path: Path) -> Iterator[str]:
    """The texts of `named_texts`. Raises InputError as it does."""
    for _, text in named_texts(path):
        yield text


def named_texts(path: Path) -> Iterator[tuple[str, str]]:
    """The texts of a shard set, a folder of text files, one text file, or a JSONL file with `text`, each with what it
    is called: id and address of a record, the file, or file and line.

    Raises InputError when the path holds none of these.
    """
    if path.is_dir() and (path / "manifest.json").exists():
        records = ShardSet.open(path)
        for number in range(len(records)):
            document = records.read(number)[0]
            yield f"{document.id}  {document.meta.address}", document.text
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise InputError(
                f"{path} holds neither a shard set nor {', '.join(_SUFFIXES)} files; name a folder that does"
            )
        for file in files:
            yield str(file), file.read_text(encoding="utf-8", errors="replace")
    elif path.suffix in (".jsonl", ".ndjson"):
        for number, line in _lines(path):
            yield f"{path}:{number}", line.text
    else:
        try:
            yield str(path), path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"{path} can't be read ({error.strerror}); give texts, JSONL or a shard set") from None


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    decoder = msgspec.json.Decoder(_Line)
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    try:
                        yield number, decoder.decode(raw)
                    except (msgspec.DecodeError, UnicodeDecodeError) as error:
                        raise InputError(f"{path}:{number}: {error}; each line is a JSON object with `text`") from None
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror}); mend the path") from None
