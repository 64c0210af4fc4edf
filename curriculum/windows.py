"""Windows: what the lines give in a few steps' stretch of the stage's clock, packed on its own into rows.

Odd: a window has as many rows as its steps are meant to have, and more where its documents do not fill rows so well.
Each step takes its share of them, so a step is known from its number alone and never empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trivium.curriculum.clock import Clock, Windows
from trivium.curriculum.line import Line, Pieces
from trivium.curriculum.packing import pack
from trivium.curriculum.rows import Cursor, Piece, Row
from trivium.curriculum.shuffle import key64, shuffled_order
from trivium.errors import ConfigError


@dataclass(frozen=True)
class Window:
    """One window: pieces in the order they were drawn, with the line of each; rows as piece numbers.

    Its step number i takes rows [first_row[i], first_row[i + 1]). `cursors` stand behind the window.
    """

    line: list[int]
    pieces: Pieces
    packed: list[list[int]]
    first_row: list[int]
    first_step: int
    cursors: dict[str, Cursor]

    def rows(self, start: int, stop: int, lines: Sequence[Line]) -> tuple[Row, ...]:
        """Rows [start, stop) as values."""
        return tuple(self._row(members, lines) for members in self.packed[start:stop])

    @cached_property
    def _columns(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """As lists, which are quicker to pick from than arrays."""
        p = self.pieces
        return p.record.tolist(), p.start.tolist(), p.stop.tolist(), p.patches.tolist()

    def _row(self, members: list[int], lines: Sequence[Line]) -> Row:
        record, start, stop, patches = self._columns
        pieces = tuple(Piece(lines[self.line[i]].pool.corpus, record[i], start[i], stop[i]) for i in members)
        return Row(pieces, sum(piece.tokens for piece in pieces), sum(patches[i] for i in members))


def make_window(
    lines: Sequence[Line],
    clock: Clock,
    windows: Windows,
    number: int,
    cursors: Mapping[str, Cursor],
    key: Sequence[object],
) -> Window:
    """Window `number` of a stage, drawn from `cursors` on; `key` names the stage to the shuffle of rows.

    Raises ConfigError when it holds fewer documents than steps and none of them may be halved.
    """
    first, last = windows.first_step(number), windows.first_step(number + 1)
    line, pieces, behind = _drawn(lines, clock.before(last), cursors)
    wanted = [0]
    for step in range(first, last):
        wanted.append(wanted[-1] + clock.rows_of(step))
    rules = lines[0].rules
    if len(pieces) < last - first:
        line, pieces = _halved(line, pieces, last - first)
    packed = pack(
        (pieces.stop - pieces.start).tolist(),
        pieces.patches.tolist(),
        context=rules.context,
        patch_budget=rules.patch_budget,
        least=wanted[-1],
    )
    order = shuffled_order(len(packed), key64(*key, number))
    return Window(
        line=line,
        pieces=pieces,
        packed=[packed[i] for i in order],
        first_row=_first_rows(wanted, len(packed)),
        first_step=first,
        cursors={**cursors, **behind},
    )


def _drawn(
    lines: Sequence[Line], stop: int, cursors: Mapping[str, Cursor]
) -> tuple[list[int], Pieces, dict[str, Cursor]]:
    """All lines' pieces from `cursors` to `stop` on the clock, in the clock's order, each with its line's number."""
    parts, numbers, places, behind = [], [], [], {}
    for number, line in enumerate(lines):
        pieces, behind[line.pool.name] = line.draw(cursors[line.pool.name], line.upto(stop))
        parts.append(pieces)
        numbers.append(np.full(len(pieces), number, dtype=np.int64))
        places.append(pieces.twice / line.weight)  # where the piece's middle is on the clock, in other units
    order = np.lexsort((np.concatenate(numbers), np.concatenate(places)))
    joined = Pieces.join(parts)
    columns = (getattr(joined, name)[order] for name in ("record", "start", "stop", "patches", "twice"))
    return np.concatenate(numbers)[order].tolist(), Pieces(*columns), behind


def _first_rows(wanted: list[int], rows: int) -> list[int]:
    """Where each step's rows begin among `rows`: in proportion to what is wanted, and at least one a step."""
    steps, total = len(wanted) - 1, wanted[-1]
    if total == steps:
        return [rows * step // steps for step in range(steps + 1)]
    return [step + (rows - steps) * (wanted[step] - step) // (total - steps) for step in range(steps + 1)]


def _halved(line: list[int], pieces: Pieces, wanted: int) -> tuple[list[int], Pieces]:
    """At least `wanted` pieces: the longest texts are halved until there are.

    Only windows with fewer documents than steps come here (one row a step, documents as long as rows).
    """
    parts = [
        (-(stop - start), place, number, record, start, stop, patches, twice)
        for place, (number, record, start, stop, patches, twice) in enumerate(
            zip(
                line,
                *(getattr(pieces, name).tolist() for name in ("record", "start", "stop", "patches", "twice")),
                strict=True,
            )
        )
    ]
    while len(parts) < wanted:
        halves = [part for part in parts if not part[6] and part[5] - part[4] > 1]
        if not halves:
            raise ConfigError(
                f"a window has {len(parts)} documents for {wanted} steps, and no text among them that could be "
                "halved; ask for a larger batch, more tokens, or shorter documents"
            )
        longest = min(halves)
        _, place, number, record, start, stop, patches, twice = longest
        middle = (start + stop) // 2
        parts.remove(longest)
        parts.append((start - middle, place, number, record, start, middle, patches, twice))
        parts.append((middle - stop, place, number, record, middle, stop, patches, twice))
    parts.sort(key=lambda part: (part[1], part[4]))
    columns = np.array([part[2:] for part in parts], dtype=np.int64).T
    return columns[0].tolist(), Pieces(*columns[1:])
