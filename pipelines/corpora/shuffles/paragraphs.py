"""Paragraphs that stand in several places: counted with their best copy, then all other copies taken out."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.config import digest
from trivium.data.dedup import paragraphs as pure
from trivium.data.dedup.edits import rewritten, texts
from trivium.data.dedup.lines import without
from trivium.data.dedup.paragraphs import (
    COLUMNS,
    KEYS,
    Paragraphs,
    RepeatedParagraphs,
    id_of,
    marked,
    paragraph_rows,
    rank_of,
    read_paragraphs,
)
from trivium.data.dedup.runs import Table, best
from trivium.data.dedup.units import Rows
from trivium.data.records import Step
from trivium.data.stage import Draft, Drop, refuse
from trivium.pipelines.corpora.shuffles.keyed import Read, count, edit, report
from trivium.pipelines.corpora.shuffles.survivors import check_losses
from trivium.pipelines.corpora.spool import Ref, lines_of
from trivium.pipelines.corpora.work import Work

TOP = 100  # paragraphs that the report shows

Mask = npt.NDArray[np.bool_]


def run(work: Work, name: str, config: RepeatedParagraphs) -> None:
    """Leaves one copy of each long paragraph."""
    before = work.sources()
    table = count(work, name, "paragraphs", CountParagraphs(config), KeepRepeated(), (KEYS, COLUMNS))
    remove = RemoveParagraphs(config, str(table.path), frozenset(best(table, TOP).tolist()))
    folder = edit(work, name, remove)
    check_losses(name, config.max_source_loss, folder, before)
    top = _top(msgspec.json.decode(line) for line in lines_of(folder, "notes"))
    copies = int(table.column(COLUMNS - 1).sum())
    report(
        work,
        name,
        {
            "kind": "repeated_paragraphs",
            "parameters": msgspec.to_builtins(config),
            "paragraphs": len(table),
            "copies_beyond_the_first": copies - len(table),
            "top": sorted(top, key=lambda said: (-said["copies"], said["kept_in"]))[:TOP],
        },
    )


def _top(notes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said of each paragraph where it stays, with a place that it went from."""
    kept: dict[str, dict[str, Any]] = {}
    gone: dict[str, str] = {}
    for said in notes:
        key = said.pop("key")
        if "gone_from" in said:
            gone[key] = said["gone_from"]
        else:
            kept[key] = said
    return [{**said, **({"gone_from": gone[key]} if key in gone else {})} for key, said in kept.items()]


def owner_of(ref: Ref, quality: str) -> tuple[int, int]:
    """Rank and id of a document, as rows hold them."""
    return rank_of(ref.scores, quality, ref.length), id_of(ref.source_id)


class CountParagraphs:
    """A document → a row for each of its long paragraphs."""

    def __init__(self, config: RepeatedParagraphs) -> None:
        self._config = config

    def open(self) -> None:
        pass

    def rows(self, ref: Ref, read: Read) -> Iterator[Rows]:
        rank, document = owner_of(ref, self._config.quality)
        first = 0
        for _, text in texts(read(ref).document):
            found = read_paragraphs(text, self._config.min_chars)
            yield paragraph_rows(found.keys, found.checks, rank, document, first)
            first += len(found.keys)


class KeepRepeated:
    """Keeps what stands in two places or more."""

    def open(self) -> None:
        pass

    def keep(self, rows: Rows) -> Rows:
        return rows[rows[:, -1] >= 2]


class RemoveParagraphs:
    """Takes all copies but the best one out of a document."""

    def __init__(self, config: RepeatedParagraphs, table: str, shown: frozenset[int]) -> None:
        self._config, self._path, self._shown = config, table, shown

    def open(self) -> None:
        self._table = Table(Path(self._path))
        self._step = Step(name="repeated_paragraphs", version=pure.VERSION, parameters=digest(self._config))

    def edit(self, ref: Ref, read: Read, note: Callable[[bytes, bytes], None]) -> Draft | Drop | None:
        if not len(self._table):
            return None
        draft = read(ref)
        if draft.document.meta.evidence:
            return None
        new: dict[int, str] = {}
        count = first = 0
        for number, text in texts(draft.document):
            found = read_paragraphs(text, self._config.min_chars)
            gone = self._copies(ref, found, first, note)
            first += len(found.keys)
            if gone.any():
                new[number] = without(found.lines, marked(found, gone))
                count += int(gone.sum())
        if not new:
            return None
        left = sum(len(new.get(number, text).strip()) for number, text in texts(draft.document))
        if left < self._config.min_left and not draft.document.media:
            detail = f"{count} paragraphs stand elsewhere; {left} characters are left, {self._config.min_left} wanted"
            return refuse(draft, self._step.name, "repeated_paragraphs", detail)
        return rewritten(draft, new, msgspec.structs.replace(self._step, counts={"paragraphs": count}))

    def _copies(self, ref: Ref, found: Paragraphs, first: int, note: Callable[[bytes, bytes], None]) -> Mask:
        """Which paragraphs are copies of a better one; the better ones that the report shows are noted."""
        rank, document = owner_of(ref, self._config.quality)
        rows = self._table.find(found.keys, found.checks)
        gone = rows >= 0
        at = rows[gone]
        mine = (self._table.column(2)[at] == np.uint64(rank)) & (self._table.column(3)[at] == np.uint64(document))
        stays = mine & (self._table.column(4)[at] == (np.flatnonzero(gone) + first).astype(np.uint64))
        for place, row in zip(np.flatnonzero(gone)[stays].tolist(), at[stays].tolist(), strict=True):
            key = int(found.keys[place])
            if key in self._shown:
                body = "\n".join(found.lines[found.starts[place] : found.ends[place]])
                said: dict[str, Any] = {
                    "key": f"{key:016x}",
                    "source_id": ref.source_id,
                    "kept_in": f"{ref.source}: {ref.address}",
                    "copies": int(self._table.column(COLUMNS - 1)[row]),
                    "characters": len(body),
                    "paragraph": body[:400],
                }
                note(key.to_bytes(8, "big"), msgspec.json.encode(said))
        gone[np.flatnonzero(gone)[stays]] = False
        for key in self._shown.intersection(found.keys[gone].tolist()):
            lost = {"key": f"{key:016x}", "gone_from": f"{ref.source}: {ref.address}"}
            note(key.to_bytes(8, "big") + b"-", msgspec.json.encode(lost))
        return gone
