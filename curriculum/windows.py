"""Windows: the next W pieces drawn by the mixture, packed on their own into rows that lengths mix in.

Odd: which pool comes next needs no dice. The pool is taken whose next piece, put in its middle, would be most behind
its share of the stage's tokens (Webster's rule of apportionment, with sizes), so that the mixture in tokens is off by
about one piece a pool at any moment, over the whole stage.
"""

from dataclasses import dataclass
from heapq import heapify, heapreplace

from trivium.curriculum.packing import pack
from trivium.curriculum.pools import Pool, StagePool, Stream
from trivium.curriculum.rows import Cursor, Piece, Row
from trivium.curriculum.schedule import Schedule
from trivium.curriculum.shuffle import key64, shuffled_order


@dataclass(frozen=True)
class Window:
    """Packed rows of one window, as piece numbers, and the cursors behind it.

    `pieces` are (pool, record, start, stop, patches). `documents` counts the records begun, `cut` those of them that
    are longer than the context. `ends_stage` says that the stage's token budget is reached.
    """

    pieces: list[tuple[str, int, int, int, int]]
    packed: list[list[int]]
    cursors: dict[str, Cursor]
    ends_stage: bool
    documents: int
    cut: int

    def row(self, number: int, pools: dict[str, Pool]) -> Row:
        """Row `number` as a value."""
        members = [self.pieces[i] for i in self.packed[number]]
        pieces = tuple(Piece(pools[pool].corpus, record, start, stop) for pool, record, start, stop, _ in members)
        return Row(pieces, sum(piece.tokens for piece in pieces), sum(member[4] for member in members))


def make_window(
    schedule: Schedule,
    stage: int,
    window: int,
    cursors: dict[str, Cursor],
    pools: dict[str, StagePool],
) -> Window:
    """Window number `window` of stage number `stage`, drawn from `cursors` on.

    It closes after `schedule.window` pieces, or with the piece that brings the stage to its token budget: a stage ends
    with a window, and overshoots its budget by less than one row's context.
    """
    rules = schedule.stages[stage]
    streams = {name: Stream(view, cursors[name]) for name, view in pools.items()}
    heap = [((s.taken + s.size / 2) / pools[name].weight, name) for name, s in streams.items()]
    heapify(heap)
    total = sum(stream.taken for stream in streams.values())
    pieces: list[tuple[str, int, int, int, int]] = []
    while len(pieces) < schedule.window and total < rules.tokens:
        name = heap[0][1]
        stream = streams[name]
        total += stream.size
        pieces.append((name, *stream.take()))
        heapreplace(heap, ((stream.taken + stream.size / 2) / pools[name].weight, name))
    packed = pack(
        [piece[3] - piece[2] for piece in pieces],
        [piece[4] for piece in pieces],
        context=rules.context,
        patch_budget=rules.patch_budget,
    )
    order = shuffled_order(len(packed), key64(schedule.seed, "rows", stage, window))
    return Window(
        pieces=pieces,
        packed=[packed[i] for i in order],
        cursors=cursors | {name: stream.cursor for name, stream in streams.items()},
        ends_stage=total >= rules.tokens,
        documents=sum(stream.documents for stream in streams.values()),
        cut=sum(stream.cut for stream in streams.values()),
    )
