"""Lines repeated across the pages of a site: counted by key, round by round, then taken out of every page.

Odd: a page that loses too much is dropped and counts no more, so the share of the lines that are left may rise; they
are counted again, on the pages of the sites concerned, until no further line passes the limits. So a second pass over
the result takes out nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.config import digest
from trivium.data.dedup import lines as pure
from trivium.data.dedup.edits import rewritten, texts
from trivium.data.dedup.lines import Lines, RepeatedLines, line_keys, read_lines, scope_key, scope_of, without
from trivium.data.dedup.runs import Table, best, select, write_rows
from trivium.data.dedup.units import Hashes, Rows, distinct, finalise
from trivium.data.records import Step
from trivium.data.stage import Draft, Drop, refuse
from trivium.pipelines.corpora.shuffles.keyed import Read, count, edit, report
from trivium.pipelines.corpora.shuffles.survivors import check_losses
from trivium.pipelines.corpora.spool import Ref, lines_of
from trivium.pipelines.corpora.work import Work

TOP = 100  # lines that the report shows
_PAGE = np.uint64(0xE7037ED1A0B428DB)
KEYS, COLUMNS = 2, 3  # key, scope | pages

Mask = npt.NDArray[np.bool_]


def run(work: Work, name: str, config: RepeatedLines) -> None:
    """Removes repeated lines from all current documents."""
    before = work.sources()
    found = Found(config, (), "")
    while True:
        number = len(found.tables) + 1
        keep = KeepFrequent(config.min_documents)
        counted = count(work, name, f"round {number}", CountLines(found), keep, (KEYS, COLUMNS))
        path = counted.path.with_suffix(".gone")
        gone = select(counted, path, Frequent(counted, config))
        if not len(gone):
            break
        found = found.joined(gone)
        if config.min_share == 0:
            break  # dropped pages can't bring a line above `min_documents`
    top = [best(Table(Path(path)), TOP) for path in found.tables]
    folder = edit(work, name, RemoveLines(found, frozenset(key for keys in top for key in keys.tolist())))
    check_losses(name, config.max_source_loss, folder, before)
    report(work, name, facts(config, found, folder))


class Found(msgspec.Struct, frozen=True):
    """The tables of lines that go, one a round, and the scopes that the last one touches; as paths."""

    config: RepeatedLines
    tables: tuple[str, ...]
    scopes: str

    def joined(self, gone: Table) -> "Found":
        scopes = gone.path.with_suffix(".scopes")
        every = distinct(np.concatenate([Table(Path(p)).column(1) for p in (*self.tables, str(gone.path))]))
        write_rows(scopes, every[:, None])
        return Found(self.config, (*self.tables, str(gone.path)), str(scopes))


class Pages:
    """Reads pages with what is known to go."""

    def __init__(self, found: Found) -> None:
        self.config = found.config
        self.tables = [Table(Path(path)) for path in found.tables]
        self.scopes = Table(Path(found.scopes)) if found.scopes else None

    def scope(self, ref: Ref) -> str:
        return scope_of(self.config.scope, ref.source, ref.address)

    def touched(self, scope: int) -> bool:
        """Whether any line of that scope goes."""
        return self.scopes is not None and bool(self.scopes.has(np.array([scope], dtype=np.uint64))[0])

    def read(self, draft: Draft, scope: int) -> list[tuple[int, Lines, Hashes, Mask]]:
        """(number of the segment, its lines, their keys, which go) for each text segment."""
        segments = texts(draft.document)
        found = []
        read = read_lines([text for _, text in segments], ignore_digits=self.config.ignore_digits)
        for (number, _), lines in zip(segments, read, strict=True):
            keys = line_keys(lines, scope, self.config.min_words)
            gone = np.zeros(len(keys), dtype=np.bool_)
            for table in self.tables:
                gone |= table.has(keys)
            found.append((number, lines, keys, gone & (keys != 0)))
        return found

    def too_short(self, draft: Draft, parts: Sequence[tuple[int, Lines, Hashes, Mask]]) -> int | None:
        """The characters left when they are too few, else None."""
        if draft.document.media or not any(gone.any() for *_, gone in parts):
            return None
        left = sum(lines.left(gone) for _, lines, _, gone in parts)
        return left if left < self.config.min_left else None


class CountLines:
    """A page → a row for each of its lines that stay so far, and one for the page itself."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def open(self) -> None:
        self._pages = Pages(self._found)

    def rows(self, ref: Ref, read: Read) -> Iterator[Rows]:
        scope = scope_key(self._pages.scope(ref))
        if self._found.tables and not self._pages.touched(scope):
            return
        draft = read(ref)
        parts = self._pages.read(draft, scope)
        if self._pages.too_short(draft, parts) is not None:
            return
        keys = distinct(np.concatenate([keys[~gone] for _, _, keys, gone in parts] or [np.empty(0, np.uint64)]))
        keys = keys[keys != 0]
        rows = np.empty((len(keys) + 1, COLUMNS), dtype=np.uint64)
        rows[:-1, 0], rows[-1, 0] = keys, page_key(np.array([scope], dtype=np.uint64))[0]
        rows[:, 1], rows[:, 2] = scope, 1
        yield rows


def page_key(scopes: Hashes) -> Hashes:
    """Under what the pages of a scope are counted."""
    return finalise(scopes ^ _PAGE)


class KeepFrequent:
    """Keeps lines of enough pages, and the counts of pages."""

    def __init__(self, least: int) -> None:
        self._least = least

    def open(self) -> None:
        pass

    def keep(self, rows: Rows) -> Rows:
        return rows[(rows[:, 2] >= self._least) | (rows[:, 0] == page_key(rows[:, 1]))]


class Frequent:
    """Of counted rows the lines that stand on enough of their scope's pages."""

    def __init__(self, counted: Table, config: RepeatedLines) -> None:
        self._counted, self._config = counted, config

    def __call__(self, rows: Rows) -> Rows:
        pages = page_key(rows[:, 1])
        size = self._counted.column(2)[self._counted.find(pages, rows[:, 1])]
        enough = (rows[:, 2] >= self._config.min_documents) & (rows[:, 2] >= self._config.min_share * size)
        return rows[enough & (rows[:, 0] != pages)]


class RemoveLines:
    """Takes the lines out of a page."""

    def __init__(self, found: Found, shown: frozenset[int]) -> None:
        self._found, self._shown = found, shown

    def open(self) -> None:
        config = self._found.config
        self._pages = Pages(self._found)
        self._step = Step(name="repeated_lines", version=pure.VERSION, parameters=digest(config))

    def edit(self, ref: Ref, read: Read, note: Callable[[bytes, bytes], None]) -> Draft | Drop | None:
        name = self._pages.scope(ref)
        scope = scope_key(name)
        if not self._pages.touched(scope):
            return None
        draft = read(ref)
        if draft.document.meta.evidence:
            return None  # its questions rest on places that a cut would move
        parts = self._pages.read(draft, scope)
        lines = sum(int(gone.sum()) for *_, gone in parts)
        if not lines:
            return None
        self._tell(ref, name, parts, note)
        left = self._pages.too_short(draft, parts)
        if left is not None:
            of = sum(int((part.words > 0).sum()) for _, part, _, _ in parts)
            detail = (
                f"{lines} of {of} lines stand on many pages of {name or 'the corpus'}; {left} characters are left, "
                f"{self._found.config.min_left} wanted"
            )
            return refuse(draft, self._step.name, "boilerplate", detail)
        new = {number: without(part.lines, gone) for number, part, _, gone in parts if gone.any()}
        return rewritten(draft, new, msgspec.structs.replace(self._step, counts={"lines": lines}))

    def _tell(self, ref: Ref, scope: str, parts: Sequence[Any], note: Callable[[bytes, bytes], None]) -> None:
        for _, lines, keys, gone in parts:
            for place in np.flatnonzero(gone).tolist():
                key = int(keys[place])
                if key in self._shown:
                    said = Said(ref.address, ref.source, scope, lines.lines[place].strip()[:300], f"{key:016x}")
                    note(key.to_bytes(8, "big"), msgspec.json.encode(said))


class Said(msgspec.Struct, frozen=True, array_like=True):
    """One line of the report as a page showed it."""

    address: str
    source: str
    scope: str
    line: str
    key: str


def facts(config: RepeatedLines, found: Found, folder: Path) -> dict[str, Any]:
    """What the report says: how many lines go, and the most frequent ones with an example of each."""
    tables = [Table(Path(path)) for path in found.tables]
    shown = []
    for line in lines_of(folder, "notes"):
        said = msgspec.json.decode(line, type=Said)
        key = np.array([int(said.key, 16)], dtype=np.uint64)
        pages = next(int(table.column(2)[at]) for table in tables if (at := int(table.find(key)[0])) >= 0)
        shown.append(
            {"pages": pages, "scope": said.scope, "line": said.line, "source": said.source, "address": said.address}
        )
    shown.sort(key=lambda line: (-line["pages"], line["scope"], line["line"]))
    return {
        "kind": "repeated_lines",
        "parameters": msgspec.to_builtins(config),
        "rounds": len(tables),
        "lines": sum(map(len, tables)),
        "occurrences": sum(int(table.column(2).sum()) for table in tables),
        "top": shown[:TOP],
    }
