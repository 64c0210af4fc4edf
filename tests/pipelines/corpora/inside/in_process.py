"""A shuffle that looks inside texts, run in this process: its rounds, scans, runs on disk and edits, without Beam."""

import itertools
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, settings

from trivium.data.dedup import runs as rows_on_disk
from trivium.data.dedup.paragraphs import id_of, rank_of
from trivium.data.records import Document, Image, Meta, Text, source_id
from trivium.data.stage import Draft, Drop
from trivium.pipelines.corpora.spool import Ref

SETTINGS = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def draft_of(number: int, *segments: str | Image, address: str = "", scores=None) -> Draft:
    place = address or f"a/{number}"
    meta = Meta(
        source_id=source_id("s", f"{number}"),
        corpus="c",
        domain="d",
        source="s",
        address=place,
        license="MIT",
        scores=scores or {},
    )
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in segments)
    return Draft(document=Document(segments=made, meta=meta))


def ref_of(draft: Draft) -> Ref:
    meta = draft.document.meta
    return Ref(
        source_id=meta.source_id,
        source=meta.source,
        address=meta.address,
        id="",
        length=len(draft.document.text),
        stored=0,
        path="",
        offset=0,
        size=0,
        scores=meta.scores,
    )


class InProcess:
    """What a shuffle's `run` needs of a build: documents in memory, everything else as it is."""

    def __init__(self, folder: Path, drafts: list[Draft], limit: int) -> None:
        self.folder, self.base, self.limit = folder, folder, limit
        self.drafts = {draft.document.meta.source_id: draft for draft in drafts}
        self.drops: dict[str, Drop] = {}
        self.notes: dict[bytes, bytes] = {}
        self.facts: dict = {}
        self._numbers = itertools.count()

    def sources(self) -> Counter[str]:
        return Counter(draft.document.meta.source for draft in self.drafts.values())

    def read(self, ref: Ref) -> Draft:
        return self.drafts[ref.source_id]

    def count(self, _work, _stage, _what, scan, keep, shape):
        scan.open()
        keep.open()
        folder = self.folder / f"{next(self._numbers)}"
        folder.mkdir()
        writer = rows_on_disk.RunWriter(folder, "runs", shape[0], self.limit)
        slices = []
        for draft in self.drafts.values():
            for rows in scan.rows(ref_of(draft), self.read):
                assert rows.shape[1] == shape[1]
                slices += writer.add(rows)
        slices += writer.flush()
        parts = []
        for part in sorted({piece.part for piece in slices}):
            mine = [piece for piece in slices if piece.part == part]
            for found in rows_on_disk.merge(folder, mine, shape[0], self.limit):
                parts.append(folder / f"{len(parts)}")
                rows_on_disk.write_rows(parts[-1], keep.keep(found))
        return rows_on_disk.join_tables(parts, folder / "table.rows", shape[1])

    def edit(self, _work, _name, editor) -> Path:
        editor.open()

        def note(key: bytes, said: bytes) -> None:
            self.notes[key] = min(said, self.notes.get(key, said))

        for key, draft in list(self.drafts.items()):
            outcome = editor.edit(ref_of(draft), self.read, note)
            if isinstance(outcome, Drop):
                self.drops[key] = outcome
                del self.drafts[key]
            elif outcome is not None:
                self.drafts[key] = outcome
        (self.folder / "notes-0").write_bytes(b"".join(said + b"\n" for said in self.notes.values()))
        return self.folder


def segments(work: InProcess) -> dict[str, list[str]]:
    return {
        key: [part.text for part in draft.document.segments if isinstance(part, Text)]
        for key, draft in work.drafts.items()
    }


def again_changes_nothing(apply, config, work: InProcess) -> None:
    second = apply(config, list(work.drafts.values()))
    assert second.drafts == work.drafts
    assert not second.drops


def order_of(draft: Draft, quality: str) -> tuple[int, int]:
    return rank_of(draft.document.meta.scores, quality, len(draft.document.text)), id_of(draft.document.meta.source_id)
