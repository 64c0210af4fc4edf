"""Held-out sets to a table of n-grams, records compared with it, those that hold their text dropped or cut.

Odd: dropping records can make an n-gram rare enough to count, so what is common is counted again, on the records that
share any n-gram, until it does not change; a second pass then finds nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trivium.data.dedup import decontaminate as pure
from trivium.data.dedup.decontaminate import Decontaminate, Hits, Known, Verdict, held_spans, judge, text_hits
from trivium.data.dedup.edits import Span, cut, merged, texts
from trivium.data.dedup.heldgrams import EXCERPT, About, SetFacts, Tables, held_out, weighed
from trivium.data.dedup.paragraphs import id_of
from trivium.data.dedup.runs import Table, write_rows
from trivium.data.dedup.substrings import document_key
from trivium.data.dedup.units import Hashes, Rows, distinct
from trivium.data.records import Step
from trivium.data.stage import Draft, Drop, refuse
from trivium.pipelines.corpora.shuffles.keyed import Read, count, edit, report
from trivium.pipelines.corpora.shuffles.survivors import check_losses
from trivium.pipelines.corpora.spool import Ref, lines_of
from trivium.pipelines.corpora.work import Work

KEYS, COLUMNS = 2, 3  # key, kind | records
_GRAM, _RECORD = 0, 1  # kinds of rows
SHOWN = 1000  # pairs of record and item that the report lists of each set
_NONE: Hashes = np.empty(0, dtype=np.uint64)


def run(work: Work, name: str, config: Decontaminate) -> None:
    """Drops or cuts contaminated records."""
    before = work.sources()
    tables, sets = held_out(config, work.base, work.folder / "tables" / name)
    common = count(work, name, "shared n-grams", CountShared(config, tables), KeepCommon(config), (KEYS, COLUMNS))
    tables = msgspec.structs.replace(tables, records=str(common.path), common=_common(common))
    rounds, size = 0, _grams(common)
    while size:
        rounds += 1
        counted = count(work, name, f"round {rounds}", CountLeft(config, tables), KeepCommon(config), (KEYS, COLUMNS))
        tables = msgspec.structs.replace(tables, common=_common(counted))
        if _grams(counted) == size:
            break
        size = _grams(counted)
    known = weighed(tables)
    folder = edit(work, name, Remove(config, known))
    check_losses(name, config.max_source_loss, folder, before)
    shared = len(common) - _grams(common)
    report(work, name, facts(config, sets, shared, size, folder))


def _grams(table: Table) -> int:
    return int((table.column(1) == _GRAM).sum())


def _common(counted: Table) -> str:
    """A table of the n-grams alone."""
    path = counted.path.with_suffix(".common")
    write_rows(path, counted.rows(0, len(counted))[counted.column(1) == _GRAM])
    return str(path)


class KeepCommon:
    """Keeps n-grams that stand in too many records to count, and the rows of records."""

    def __init__(self, config: Decontaminate) -> None:
        self._most = config.max_documents

    def open(self) -> None:
        pass

    def keep(self, rows: Rows) -> Rows:
        return rows[(rows[:, 2] > self._most) | (rows[:, 1] == _RECORD)]


class Records:
    """Reads records with the tables."""

    def __init__(self, config: Decontaminate, tables: Tables) -> None:
        self.config, self.tables = config, tables
        self.known = Known(Path(tables.grams), Path(tables.items))
        self.common = Table(Path(tables.common)) if tables.common else None
        self.records = Table(Path(tables.records)) if tables.records else None

    def shares(self, ref: Ref) -> bool:
        """Whether the record holds any held-out n-gram."""
        return self.records is None or bool(self.records.has(document_key(id_of(ref.source_id)))[0])

    def hits(self, draft: Draft) -> list[tuple[int, str, list[Hits]]]:
        """(number of the segment, its text, its held-out n-grams) for each text segment that has some."""
        sizes = self.config.sizes()
        read = ((number, text, text_hits(text, sizes, self.known.grams)) for number, text in texts(draft.document))
        return [part for part in read if part[2]]

    def judge(self, parts: list[tuple[int, str, list[Hits]]]) -> list[Verdict]:
        common = self.common if self.common is not None else EMPTY
        return judge(self.config, self.known, common, [found for *_, found in parts])

    def spans(
        self, parts: list[tuple[int, str, list[Hits]]], verdicts: list[Verdict]
    ) -> dict[int, dict[int, list[Span]]]:
        """What the n-grams of each item cover: by number of text segment, by item."""
        common, items = self.common if self.common is not None else EMPTY, [verdict.item for verdict in verdicts]
        return {number: held_spans(text, found, items, self.known, common) for number, text, found in parts}


class _Empty(Table):
    """A table without rows or file."""

    def __init__(self) -> None:
        self.path, self.columns = Path(), COLUMNS
        self._rows = np.empty((COLUMNS, 0), dtype=np.uint64)


EMPTY = _Empty()


def shared_rows(keys: Hashes, ref: Ref | None) -> Rows:
    """A row for each distinct n-gram of a record, and one for the record."""
    rows = np.zeros((len(keys) + (ref is not None), COLUMNS), dtype=np.uint64)
    rows[: len(keys), 0] = keys
    rows[:, 2] = 1
    if ref is not None:
        rows[-1, :2] = document_key(id_of(ref.source_id))[0], _RECORD
    return rows


def keys_of(found: list[list[Hits]]) -> Hashes:
    return distinct(np.concatenate([hits.keys for part in found for hits in part] or [_NONE]))


class CountShared:
    """A record → rows for the held-out n-grams that it holds, and for itself when there are any."""

    def __init__(self, config: Decontaminate, tables: Tables) -> None:
        self._config, self._tables = config, tables

    def open(self) -> None:
        self._records = Records(self._config, self._tables)

    def rows(self, ref: Ref, read: Read) -> Iterator[Rows]:
        parts = self._records.hits(read(ref))
        if parts:
            yield shared_rows(keys_of([found for *_, found in parts]), ref)


class CountLeft:
    """A record → rows for the held-out n-grams that it would still hold, judged by what is common so far."""

    def __init__(self, config: Decontaminate, tables: Tables) -> None:
        self._config, self._tables = config, weighed(tables)

    def open(self) -> None:
        self._remove = Remove(self._config, self._tables)
        self._remove.open()

    def rows(self, ref: Ref, read: Read) -> Iterator[Rows]:
        records = self._remove.records
        if not records.shares(ref):
            return
        parts = records.hits(read(ref))
        if records.judge(parts):
            outcome = self._remove.edit(ref, read, _unsaid) if self._config.action == "cut" else None
            parts = records.hits(outcome) if isinstance(outcome, Draft) else []
        if parts:
            yield shared_rows(keys_of([found for *_, found in parts]), None)


def _unsaid(_key: bytes, _said: bytes) -> None:
    pass


class Remove:
    """Drops or cuts a contaminated record."""

    def __init__(self, config: Decontaminate, tables: Tables) -> None:
        self._config, self._tables = config, tables

    def open(self) -> None:
        self.records = Records(self._config, self._tables)
        self._step = Step(name="decontaminate", version=pure.VERSION, parameters=self._tables.digest)

    def edit(self, ref: Ref, read: Read, note: Callable[[bytes, bytes], None]) -> Draft | Drop | None:
        if not self.records.shares(ref):
            return None
        draft = read(ref)
        parts = self.records.hits(draft)
        verdicts = self.records.judge(parts)
        if not verdicts:
            return None
        by_item = self.records.spans(parts, verdicts)
        united = {
            number: merged([span for spans in found.values() for span in spans]) for number, found in by_item.items()
        }
        spans = {number: found for number, found in united.items() if found}
        whole = dict(texts(draft.document))
        characters = sum(end - start for found in spans.values() for start, end in found)
        left = sum(map(len, whole.values())) - characters
        few = left < self._config.min_left and not draft.document.media
        cuts = self._config.action == "cut" and not draft.document.meta.evidence and not few
        for verdict in verdicts:
            number = min(number for number, found in by_item.items() if verdict.item in found)
            self._tell(ref, verdict, number, by_item[number][verdict.item], whole[number], note)
        if cuts:
            step = msgspec.structs.replace(self._step, counts={"items": len(verdicts)})
            return cut(draft, spans, step)
        worst = verdicts[0]
        about = self._item(worst.item)
        more = f", and {len(verdicts) - 1} more items" if len(verdicts) > 1 else ""
        detail = f"{worst.hits} of {worst.of} n-grams of {about.set}, {about.address}{more}"
        number, (start, end), *_ = next((number, *found) for number, found in sorted(spans.items()))
        return refuse(draft, self._step.name, "contaminated", detail, excerpt=whole[number][start:end])

    def _tell(
        self,
        ref: Ref,
        verdict: Verdict,
        number: int,
        spans: list[Span],
        text: str,
        note: Callable[[bytes, bytes], None],
    ) -> None:
        """Notes an item that the record holds, with the first stretch."""
        about = self._item(verdict.item)
        said: dict[str, Any] = {
            "set": about.set,
            "item": about.address,
            "held_out": about.text,
            "source": ref.source,
            "address": ref.address,
            "source_id": ref.source_id,
            "ngrams": [verdict.hits, verdict.of],
            "segment": number,
            "spans": spans,
            "text": text[spans[0][0] : min(spans[0][1], spans[0][0] + EXCERPT)],
        }
        note(f"{about.set} {verdict.item} {ref.source_id}".encode(), msgspec.json.encode(said))

    def _item(self, number: int) -> About:
        offset, size = (int(self.records.known.items.column(column)[number]) for column in (2, 3))
        with Path(self._tables.about).open("rb") as file:
            file.seek(offset)
            return msgspec.json.decode(file.read(size), type=About)


def facts(config: Decontaminate, sets: list[SetFacts], shared: int, common: int, folder: Path) -> dict[str, Any]:
    """What the report says, by set and by item."""
    pairs: Counter[str] = Counter()
    items: dict[str, set[str]] = {held.name: set() for held in sets}
    records: dict[str, set[str]] = {held.name: set() for held in sets}
    shown: dict[str, list[dict[str, Any]]] = {held.name: [] for held in sets}
    for line in sorted(lines_of(folder, "notes")):
        said = msgspec.json.decode(line)
        name = said.pop("set")
        pairs[name] += 1
        items[name].add(said["item"])
        records[name].add(said["source_id"])
        if len(shown[name]) < SHOWN:
            shown[name].append(said)
    every = set().union(*records.values())
    return {
        "kind": "decontaminate",
        "parameters": msgspec.to_builtins(config),
        "records_that_share_an_ngram": shared,
        "contaminated_records": len(every),
        "set_aside": shared - len(every),
        "common_ngrams": common,
        "sets": [
            {
                **msgspec.to_builtins(held),
                "items_found": len(items[held.name]),
                "records": len(records[held.name]),
                "pairs": pairs[held.name],
                "found": sorted(shown[held.name], key=lambda said: (said["item"], said["source"], said["address"])),
            }
            for held in sets
        ],
    }
