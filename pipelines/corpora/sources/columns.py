"""Which columns of a table of records hold what, and how a row becomes a document or raw bytes for a stage."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from trivium.data.config import Strict
from trivium.data.records import Document, Text
from trivium.data.stage import Content, Draft, Outcome, Raw
from trivium.pipelines.corpora.sources.base import RefusedError, Source

Held = Literal["text", "html", "latex", "markdown", "code"]
_CONTENT = {
    "text": Content.TEXT,
    "html": Content.HTML,
    "latex": Content.LATEX,
    "markdown": Content.MARKDOWN,
    "code": Content.CODE,
}
_MIMES = {"html": "text/html; charset=utf-8", "latex": "application/x-tex", "markdown": "text/markdown"}
MISSING = object()
LISTED = 24  # columns that are named where one is missing


class Columns(Strict, kw_only=True):
    """Names of columns; a dot leads into a column of structures (`meta.url`); an empty name is not looked for.

    `text` may name several columns, joined by a blank line. `scores` are columns of numbers that the record keeps.
    """

    text: str | tuple[str, ...] = "text"
    id: str = ""  # lasting name of a record, for its address
    url: str = ""  # address of a page; goes before `id`
    title: str = ""  # of the document
    license: str = ""  # of the record; else the source's
    language: str = ""  # ISO 639 code; else the source's
    scores: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if isinstance(self.text, str) else self.text

    def names(self) -> tuple[str, ...]:
        """Every column that is looked at."""
        single = (self.id, self.url, self.title, self.license, self.language)
        return tuple(dict.fromkeys(name for name in (*self.texts, *single, *self.scores) if name))


class Table(Source, kw_only=True):
    """Base of sources whose records are rows with columns, as Hugging Face's dataset folders hold them.

    `holds` says what the text column is: `text` makes documents at once, anything else goes to the stage that takes
    it. A record's address is its URL or id (when mapped), the file, and the place in it.
    """

    suffixes: tuple[str, ...]  # ends of the names of files that are read
    columns: Columns = msgspec.field(default_factory=Columns)  # which column holds what
    holds: Held = "text"
    max_bytes: int = 8 << 20  # of one record

    def __post_init__(self) -> None:
        if not self.columns.texts or "" in self.columns.texts:
            raise ValueError("columns.text is empty; name the column that holds the text")
        if self.columns.scores and self.holds != "text":
            raise ValueError(f"columns.scores are kept with documents, and `holds: {self.holds}` makes none yet")

    @property
    def GIVES(self) -> Content:  # type: ignore[override]  # noqa: N802 (what other kinds hold as a constant)
        return _CONTENT[self.holds]

    def address(self, row: Mapping[str, Any], place: str) -> str:
        """`URL file@offset`, as archives of pages have it, or `id file@offset`."""
        for name in (self.columns.url, self.columns.id):
            value = _plain(row, name)
            if value:
                return f"{' '.join(value.split())[:2000]} {place}"
        return place

    def record(self, row: Mapping[str, Any], place: str, corpus: str, domain: str) -> Outcome:
        """The row's document, or its raw text; raises RefusedError, or gives the drop, when it holds none."""
        address = self.address(row, place)
        try:
            body = self._text(row)
        except RefusedError as why:
            return self.refused(address, why)
        raw = Raw(
            corpus=corpus,
            domain=domain,
            source=self.name,
            address=address,
            license=_plain(row, self.columns.license) or self.license,
            body=body,
            mime=_MIMES.get(self.holds, "text/plain"),
            language=_plain(row, self.columns.language) or self.language,
            title=" ".join(_plain(row, self.columns.title).split())[:300],
        )
        if self.holds != "text":
            return raw
        meta = raw.meta(source_sha256=hashlib.sha256(body).hexdigest())
        scores = {name: value for name in self.columns.scores if (value := _number(row, name)) is not None}
        segment = Text(text=body.decode())
        return Draft(document=Document(segments=(segment,), meta=msgspec.structs.replace(meta, scores=scores)))

    def _text(self, row: Mapping[str, Any]) -> bytes:
        parts = []
        for name in self.columns.texts:
            value = lookup(row, name)
            if value is MISSING:
                raise no_column(name, list(row))
            if value is not None and not isinstance(value, str):
                raise RefusedError("no_text", f"column {name!r} holds {type(value).__name__}, not text")
            parts.append((value or "").strip("\r\n"))
        text = "\n\n".join(part for part in parts if part)
        if self.holds == "text":
            text = text.replace("\r\n", "\n")
        body = text.encode("utf-8", "surrogatepass")
        if not text.strip():
            raise RefusedError("empty", "no text")
        if len(body) > self.max_bytes:
            raise RefusedError("too_large", f"{len(body):,} bytes, limit {self.max_bytes:,}")
        return body + b"\n"


def no_column(name: str, there: Sequence[str]) -> RefusedError:
    """For a table without the column, with those that it has."""
    more = f" and {len(there) - LISTED} more" if len(there) > LISTED else ""
    found = ", ".join(there[:LISTED]) or "none"
    return RefusedError("no_column", f"no column {name!r}; there are: {found}{more}", error=True)


def lookup(row: Mapping[str, Any], name: str) -> Any:
    """A column's value, by dots when no column has the whole name; MISSING when there is none."""
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    inner = row.get(head) if dot else None
    return lookup(inner, rest) if isinstance(inner, Mapping) else MISSING


def _plain(row: Mapping[str, Any], name: str) -> str:
    """Short text of a column, numbers as text, lists joined."""
    value = lookup(row, name) if name else None
    if isinstance(value, str):
        return value.strip()[:2000]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Sequence):
        return ", ".join(one for one in value if isinstance(one, str))[:2000]
    return ""


def _number(row: Mapping[str, Any], name: str) -> float | None:
    value = lookup(row, name)
    return float(value) if isinstance(value, int | float) else None
