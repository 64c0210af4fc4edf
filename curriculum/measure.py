"""How well a stage packs, measured by packing some of its windows: all when they are few, else a sample over the stage.

Odd: a sampled window begins where its pools would stand by their mean lengths, not where they exactly stand, so that
nothing needs to be replayed; documents are shuffled, so any place is as good.
"""

from dataclasses import dataclass, field

import numpy as np

from trivium.curriculum.line import SPREAD, Line
from trivium.curriculum.plan import Plan
from trivium.curriculum.ranks import Cost, imbalance
from trivium.curriculum.rows import Cursor
from trivium.curriculum.windows import Window

PIECES = 60_000  # about so many pieces are packed a stage, but at least one window
RANKS = 8


@dataclass
class Measured:
    """Sums over the measured windows of a stage; `rows_a_step` and `imbalance` have an entry a step.

    `taken` is tokens by pool; `fills` is the fill of each window by its number.
    """

    context: int
    rows: int = 0
    tokens: int = 0
    patches: int = 0
    pieces: int = 0
    parts: int = 0  # pieces of documents longer than the context
    half_empty: int = 0
    rows_a_step: list[int] = field(default_factory=list)
    imbalance: list[float] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    fills: dict[int, float] = field(default_factory=dict)

    def add(self, number: int, window: Window, lines: tuple[Line, ...]) -> None:
        """Counts one window."""
        sizes = window.pieces.stop - window.pieces.start
        fills = [int(sizes[members].sum()) for members in window.packed]
        self.rows += len(fills)
        self.tokens += sum(fills)
        self.patches += int(window.pieces.patches.sum())
        self.pieces += len(sizes)
        self.parts += int(((window.pieces.start > 0) | (sizes == self.context)).sum())
        self.half_empty += sum(2 * fill < self.context for fill in fills)
        self.fills[number] = sum(fills) / (len(fills) * self.context)
        by_line = np.bincount(np.array(window.line, dtype=np.int64), weights=sizes, minlength=len(lines))
        for line, tokens in zip(lines, by_line.tolist(), strict=True):
            self.taken[line.pool.name] = self.taken.get(line.pool.name, 0) + int(tokens)
        for start, stop in zip(window.first_row, window.first_row[1:], strict=False):
            self.rows_a_step.append(stop - start)
            if stop - start >= RANKS:
                self.imbalance.append(imbalance(window.rows(start, stop, lines), RANKS, Cost()))


def measure(plan: Plan, stage: int, pieces: int = PIECES) -> Measured:
    """Packs windows of a stage and sums them up."""
    parts = plan.stages[stage]
    found = Measured(parts.rules.context)
    count = parts.windows.count
    a_window = max(1.0, sum(line.share(parts.tokens) * line.supply.pieces / line.supply.tokens for line in parts.lines))
    wanted = max(1, min(count, int(pieces / (a_window / count))))
    if wanted == count:
        cursors = plan.start(stage).cursors
        for number in range(count):
            window = plan.window(stage, number, cursors)
            found.add(number, window, parts.lines)
            cursors = window.cursors
        return found
    for number in sorted({(2 * i + 1) * count // (2 * wanted) for i in range(wanted)}):
        clock = parts.clock.before(parts.windows.first_step(number))
        cursors = {line.pool.name: _about(line, clock) for line in parts.lines}
        found.add(number, plan.window(stage, number, cursors), parts.lines)
    return found


def _about(line: Line, clock: int) -> Cursor:
    """Where the line stands by its mean length."""
    taken = line.share(clock)
    epoch, within = divmod(taken, line.supply.tokens)
    document = within * len(line.pool) // line.supply.tokens
    position = document - document % SPREAD
    pieces = (document - position) * line.supply.pieces // max(1, line.supply.documents)
    return Cursor(epoch, position, pieces, taken)
