"""A pool's line of tokens in one stage: its usable documents in shuffled order, epoch after epoch, cut into pieces.

Odd: a piece belongs to the stretch of the line that its middle lies in, so a stretch [a, b) is found from lengths
alone, whatever was drawn before; and at any point of a stage's clock each pool has given its share of the tokens to
within half a piece (Webster's rule of apportionment, with sizes). A cursor is the first piece that is not yet drawn.
"""

from dataclasses import dataclass

import numpy as np

from trivium.curriculum.index import BLOCK, Index, no_index
from trivium.curriculum.lengths import Integers
from trivium.curriculum.pools import Pool, Rules, Supply
from trivium.curriculum.rows import Cursor

WHOLE = 1 << 40  # the weights of a stage's lines sum to this
_LEAST, _MOST = 64, BLOCK  # documents looked up at once


@dataclass(frozen=True)
class Pieces:
    """Drawn pieces of one pool, in order; `twice` is twice the middle of each on the line, in tokens."""

    record: Integers
    start: Integers
    stop: Integers
    patches: Integers
    twice: Integers

    def __len__(self) -> int:
        return len(self.record)

    @classmethod
    def join(cls, parts: "list[Pieces]") -> "Pieces":
        names = ("record", "start", "stop", "patches", "twice")
        empty = np.empty(0, dtype=np.int64)
        return cls(*(np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in names))


@dataclass(frozen=True)
class Line:
    """A pool as one stage sees it; `weight` / 2^40 is its share of the stage's tokens."""

    pool: Pool
    rules: Rules
    supply: Supply
    weight: int

    def share(self, clock: int) -> int:
        """Tokens of this line when `clock` tokens of the stage are read, rounded down."""
        return clock * self.weight // WHOLE

    def upto(self, clock: int) -> int:
        """The same place in half tokens, rounded up: a piece's `twice` is below it if and only if it comes before."""
        return -(-2 * clock * self.weight // WHOLE)

    def draw(self, cursor: Cursor, upto: int) -> tuple[Pieces, Cursor]:
        """The pieces from `cursor` on whose middles lie before `upto` half tokens, and the cursor behind them."""
        parts: list[Pieces] = []
        while True:
            stop = min(len(self.pool), cursor.position + self._ahead(upto // 2 - cursor.taken))
            pieces, documents, rest = self._cut(cursor, stop)
            taken = int(np.searchsorted(pieces.twice, upto, side="left"))
            if taken < len(pieces):
                sizes = int((pieces.stop[:taken] - pieces.start[:taken]).sum())
                behind = Cursor(
                    cursor.epoch,
                    cursor.position + int(documents[taken]),
                    int(pieces.start[taken]),
                    cursor.taken + sizes,
                )
                parts.append(_first(pieces, taken))
                return Pieces.join(parts), behind
            parts.append(pieces)
            cursor = self._behind(cursor, stop, cursor.taken + int(rest.sum()))

    def skip(self, cursor: Cursor, upto: int, index: Index = no_index) -> Cursor:
        """The cursor behind the pieces whose middles lie before `upto` half tokens, by lengths alone: `draw`'s.

        `index` gives an epoch's running sums of tokens by block; without one every length up to there is looked up.
        """
        whole = self.supply.tokens
        while True:
            left = upto // 2 - cursor.taken
            if not cursor.position and not cursor.offset and left > whole:
                epochs = (left - 1) // whole
                cursor = Cursor(cursor.epoch + epochs, 0, 0, cursor.taken + epochs * whole)
                continue
            if not cursor.offset and not cursor.position % BLOCK:
                sums = index(self, cursor.epoch)
                if sums is not None:
                    cursor = self._jump(cursor, upto, sums)
            stop = min(len(self.pool), cursor.position - cursor.position % BLOCK + BLOCK)
            taken = cursor.taken + int(self._sizes(cursor, stop)[2].sum())
            if 2 * taken > upto:  # the border lies in these documents; a whole piece before `upto` has its middle there
                return self.draw(cursor, upto)[1]
            cursor = self._behind(cursor, stop, taken)

    def _jump(self, cursor: Cursor, upto: int, sums: Integers) -> Cursor:
        """To the last block that begins at or before `upto`."""
        first = cursor.position // BLOCK
        block = int(np.searchsorted(sums, sums[first] + upto // 2 - cursor.taken, side="right")) - 1
        block = max(first, min(block, (len(self.pool) - 1) // BLOCK))
        return Cursor(cursor.epoch, block * BLOCK, 0, cursor.taken + int(sums[block] - sums[first]))

    def _behind(self, cursor: Cursor, stop: int, taken: int) -> Cursor:
        if stop == len(self.pool):
            return Cursor(cursor.epoch + 1, 0, 0, taken)
        return Cursor(cursor.epoch, stop, 0, taken)

    def _ahead(self, tokens: int) -> int:
        """Documents that should hold the next `tokens` tokens of the line."""
        documents = max(0, tokens) * len(self.pool) // self.supply.tokens
        return min(_MOST, documents + documents // 16 + _LEAST)

    def _sizes(self, cursor: Cursor, stop: int) -> tuple[Integers, Integers, Integers, Integers]:
        """(records, patches, what is left of each document for this stage, where it begins) up to `stop`."""
        records, tokens, patches = self.pool.look_up(cursor.epoch, cursor.position, stop)
        begin = np.zeros(len(records), dtype=np.int64)
        begin[0] = cursor.offset
        rest = tokens - begin
        rest[~self.rules.usable(rest, patches)] = 0
        return records, patches, rest, begin

    def _cut(self, cursor: Cursor, stop: int) -> tuple[Pieces, Integers, Integers]:
        """All pieces of the documents up to position `stop`, the document of each piece, and the documents' sizes."""
        records, patches, rest, begin = self._sizes(cursor, stop)
        context = self.rules.context
        counts = -(-rest // context)
        documents = np.repeat(np.arange(len(rest), dtype=np.int64), counts)
        number = np.arange(len(documents), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        start = number * context
        sizes = np.minimum(rest[documents] - start, context)
        start += begin[documents]
        ends = 2 * (cursor.taken + np.cumsum(sizes))
        pieces = Pieces(records[documents], start, start + sizes, patches[documents], ends - sizes)
        return pieces, documents, rest


def _first(pieces: Pieces, count: int) -> Pieces:
    return Pieces(*(getattr(pieces, name)[:count] for name in ("record", "start", "stop", "patches", "twice")))
