"""Long stretches that stand in several places: anchors counted, then the runs around repeated ones, then copies cut."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from trivium.data.config import digest
from trivium.data.dedup import substrings as pure
from trivium.data.dedup.edits import Span, cut, texts
from trivium.data.dedup.paragraphs import prefix_of
from trivium.data.dedup.runs import Table
from trivium.data.dedup.substrings import (
    COLUMNS,
    KEYS,
    Runs,
    Substrings,
    copies,
    document_key,
    document_row,
    first_places,
    longest,
    read_runs,
    run_rows,
)
from trivium.data.dedup.units import Rows
from trivium.data.records import Step
from trivium.data.stage import Draft, Drop, refuse
from trivium.pipelines.corpora.shuffles.keyed import Read, count, edit, report
from trivium.pipelines.corpora.shuffles.paragraphs import KeepRepeated, owner_of
from trivium.pipelines.corpora.shuffles.survivors import check_losses
from trivium.pipelines.corpora.spool import Ref, lines_of
from trivium.pipelines.corpora.work import Work

TOP = 100  # cut stretches that the report shows
SHOWN = 400  # characters of each
AROUND = 100  # characters before and behind it


def run(work: Work, name: str, config: Substrings) -> None:
    """Leaves one copy of each long stretch."""
    before = work.sources()
    anchors = count(work, name, "anchors", CountAnchors(config), KeepRepeated(), (1, 2))
    table = count(work, name, "runs", CountRuns(config, str(anchors.path)), KeepRepeated(), (KEYS, COLUMNS))
    folder = edit(work, name, CutCopies(config, str(anchors.path), str(table.path)))
    check_losses(name, config.max_source_loss, folder, before)
    top = [msgspec.json.decode(line) for line in lines_of(folder, "notes")]
    report(
        work,
        name,
        {
            "kind": "substrings",
            "parameters": msgspec.to_builtins(config),
            "repeated_anchors": len(anchors),
            "repeated_runs": len(table),
            "longest": sorted(top, key=lambda said: (-said["characters"], said["address"]))[:TOP],
        },
    )


class CountAnchors:
    """A document → a row for each of its anchors."""

    def __init__(self, config: Substrings) -> None:
        self._config = config

    def open(self) -> None:
        pass

    def rows(self, ref: Ref, read: Read) -> Iterator[Rows]:
        for _, text in texts(read(ref).document):
            found = read_runs(text, self._config.min_tokens).selected()
            yield np.column_stack((found, np.ones(len(found), dtype=np.uint64)))


class CountRuns:
    """A document → a row for each run whose anchor stands in several places, and one for the document itself."""

    def __init__(self, config: Substrings, anchors: str) -> None:
        self._config, self._path = config, anchors

    def open(self) -> None:
        self._anchors = Table(Path(self._path))

    def rows(self, ref: Ref, read: Read) -> Iterator[Rows]:
        owner = owner_of(ref, self._config.quality)
        parts = [read_runs(text, self._config.min_tokens) for _, text in texts(read(ref).document)]
        any_ = False
        for part, first in zip(parts, first_places(parts), strict=True):
            which = part.candidates(self._anchors)
            if which.any():
                any_ = True
                yield run_rows(*part.keys(which), which, owner, first)
        if any_:
            yield document_row(owner[1])


class CutCopies:
    """Cuts all runs but first ones out of a document."""

    def __init__(self, config: Substrings, anchors: str, table: str) -> None:
        self._config, self._anchors_path, self._path = config, anchors, table

    def open(self) -> None:
        self._anchors, self._table = Table(Path(self._anchors_path)), Table(Path(self._path))
        self._step = Step(name="substrings", version=pure.VERSION, parameters=digest(self._config))

    def edit(self, ref: Ref, read: Read, note: Callable[[bytes, bytes], None]) -> Draft | Drop | None:
        owner = owner_of(ref, self._config.quality)
        if not self._table.has(document_key(owner[1]))[0]:
            return None
        draft = read(ref)
        if draft.document.meta.evidence:
            return None
        segments = texts(draft.document)
        parts = [read_runs(text, self._config.min_tokens) for _, text in segments]
        spans: dict[int, list[Span]] = {}
        left = most = 0
        for (number, text), part, first in zip(segments, parts, first_places(parts), strict=True):
            found = part.spans(copies(self._table, part, part.candidates(self._anchors), owner, first))
            if found:
                spans[number] = found
            left += len(text) - sum(end - start for start, end in found)
            most = max(most, longest(part, found))
        if not spans:
            return None
        characters = sum(end - start for found in spans.values() for start, end in found)
        shown = {number: (text, part) for (number, text), part in zip(segments, parts, strict=True)}
        self._tell(ref, shown, spans, note)
        if left < self._config.min_left and most < self._config.min_tokens and not draft.document.media:
            detail = f"{characters} characters stand elsewhere; {left} are left, {self._config.min_left} wanted"
            return refuse(draft, self._step.name, "repeated_text", detail)
        stretches = sum(map(len, spans.values()))
        step = msgspec.structs.replace(self._step, counts={"stretches": stretches})
        return cut(draft, spans, step)

    def _tell(
        self,
        ref: Ref,
        segments: dict[int, tuple[str, Runs]],
        spans: dict[int, list[Span]],
        note: Callable[[bytes, bytes], None],
    ) -> None:
        """Notes the longest stretch of each source and power of two, so that the report stays small."""
        for number, found in spans.items():
            start, end = max(found, key=lambda span: (span[1] - span[0], -span[0]))
            text, part = segments[number]
            said = {
                "address": ref.address,
                "source": ref.source,
                "source_id": ref.source_id,
                "characters": end - start,
                "before": text[max(0, start - AROUND) : start],
                "text": text[start : min(end, start + SHOWN)],
                "after": text[end : end + AROUND],
                "kept_in": self._kept(part, start),  # the beginning of a source id
            }
            note(f"{ref.source} {(end - start).bit_length()}".encode(), msgspec.json.encode(said))

    def _kept(self, part: Runs, start: int) -> str:
        """The document whose copy of the run at a character stays, as far as its first characters."""
        which = part.tokens.starts[: len(part.anchors)] == start
        keys, checks = part.keys(which)
        at = self._table.find(keys, checks | np.uint64(1))
        return prefix_of(int(self._table.column(3)[at[0]])) if len(at) and at[0] >= 0 else ""
