"""Near-identical pictures: perceptual hashes from the records, thumbnails made behind the guard."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trivium.data.dedup.pictures import VALUES, VIEW, PictureDedup, Shown, Thumbs, sketch
from trivium.data.dedup.sketches import Set
from trivium.data.guard import Guard, Limits
from trivium.data.records import Text
from trivium.data.stage import Draft
from trivium.pipelines.corpora.shuffles import banded
from trivium.pipelines.corpora.work import Work

TASK = "trivium.data.dedup.thumbs:thumbnails"
LIMITS = Limits(wall_seconds=120, cpu_seconds=120, memory_bytes=2 << 30, requests=2000)


def run(work: Work, name: str, pictures: PictureDedup) -> None:
    """One record of each cluster of near-identical pictures stays."""
    banded.run(work, name, pictures, Pictures(pictures))


class Pictures:
    """Hashes and thumbnails of drawn items; what was not drawn, or has no hash, is not compared."""

    def __init__(self, pictures: PictureDedup) -> None:
        self._pictures = pictures

    def open(self) -> None:
        self._guard = Guard(TASK, LIMITS)

    def close(self) -> None:
        self._guard.close()

    def sketches(self, drafts: Sequence[Draft]) -> tuple[Any, list[Set | None]]:
        values = np.zeros((len(drafts), VALUES), dtype=np.uint32)
        sets: list[Set | None] = []
        for row, draft in zip(values, drafts, strict=True):
            drawn = draft.document.meta.drawn[: self._pictures.views]
            if not drawn or not drawn[0].phash:
                sets.append(None)
                continue
            stated = {part.media: part for part in draft.document.segments if not isinstance(part, Text)}
            shown = [Shown(payload=draft.media[one.media], stated=stated[one.media]) for one in drawn]
            found = self._guard.call(shown, Thumbs)
            thumbs = np.frombuffer(found.thumbs, dtype=np.uint8).reshape(-1, VIEW)
            row[:], made = sketch(drawn[0].phash, np.array(found.sizes), thumbs)
            sets.append(made)
        return values, sets
