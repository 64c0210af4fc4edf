"""Counts of a planned stage, how they are summed up window by window, and the file that may keep them."""

from pathlib import Path

import msgspec
import numpy as np

from trivium.curriculum.rows import Cursor
from trivium.curriculum.windows import Window
from trivium.data.config import Strict


class StageFacts(Strict, frozen=True, kw_only=True):
    """What a stage does, counted by packing it: sizes in tokens and patches.

    `skipped` counts the documents in its buckets that it can't use, by reason; `cut` those longer than its context.
    `windows` holds (rows, tokens) of each window; `half_empty` counts rows with less than half their context;
    `taken` is tokens by corpus; `start` and `end` are the cursors before and behind it.
    """

    rows: int
    steps: int
    tokens: int
    patches: int
    pieces: int
    documents: int
    cut: int
    half_empty: int
    skipped: dict[str, int]
    taken: dict[str, int]
    windows: tuple[tuple[int, int], ...]
    start: dict[str, Cursor]
    end: dict[str, Cursor]


class Tally:
    """Sums over the windows of one stage."""

    def __init__(self, context: int) -> None:
        self.context = context
        self.tokens = self.patches = self.rows = self.pieces = self.documents = self.cut = self.half_empty = 0
        self.windows: list[tuple[int, int]] = []

    @property
    def windows_seen(self) -> int:
        return len(self.windows)

    def add(self, window: Window) -> None:
        sizes = np.array([piece[3] - piece[2] for piece in window.pieces], dtype=np.int64)
        fills = [int(sizes[members].sum()) for members in window.packed]
        self.windows.append((len(fills), sum(fills)))
        self.tokens += sum(fills)
        self.rows += len(fills)
        self.half_empty += sum(2 * fill < self.context for fill in fills)
        self.patches += sum(piece[4] for piece in window.pieces)
        self.pieces += len(window.pieces)
        self.documents += window.documents
        self.cut += window.cut

    def facts(
        self,
        rows: int,
        skipped: dict[str, int],
        taken: dict[str, int],
        start: dict[str, Cursor],
        end: dict[str, Cursor],
    ) -> StageFacts:
        """The sums as a value; the stage's steps take `rows` rows each, the last one what is left."""
        return StageFacts(
            rows=self.rows,
            steps=-(-self.rows // rows),
            tokens=self.tokens,
            patches=self.patches,
            pieces=self.pieces,
            documents=self.documents,
            cut=self.cut,
            half_empty=self.half_empty,
            skipped=skipped,
            taken=taken,
            windows=tuple(self.windows),
            start=start,
            end=end,
        )


def read_cache(folder: Path | None, name: str) -> tuple[StageFacts, ...] | None:
    if folder is None:
        return None
    try:
        return msgspec.json.decode((folder / f"plan-{name}.json").read_bytes(), type=tuple[StageFacts, ...])
    except (OSError, msgspec.DecodeError):  # a cache that can't be read is counted anew
        return None


def write_cache(folder: Path, name: str, stages: tuple[StageFacts, ...]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"plan-{name}.json"
    fresh = path.with_suffix(".tmp")
    fresh.write_bytes(msgspec.json.encode(stages))
    fresh.replace(path)
