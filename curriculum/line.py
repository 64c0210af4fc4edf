"""A pool's line of tokens in one stage: its usable documents in shuffled order, epoch after epoch, cut into pieces.

Odd: a piece belongs to the stretch of the line that its middle lies in, so a stretch [a, b) is found from lengths
alone, whatever was drawn before; and at any point of a stage's clock each pool has given its share of the tokens to
within half a piece (Webster's rule of apportionment, with sizes). A cursor is the first piece that is not yet drawn.

Documents that a stage cuts are read side by side: inside a block of `SPREAD` documents the pieces of each are spread
evenly over the block, in their order, so that a stage of short rows reads a little of many documents and not all of a
few. A change of stage in the middle of a block leaves documents begun; the cursor remembers by which rules and how far.
"""

from dataclasses import dataclass

import numpy as np

from trivium.curriculum.index import BLOCK, Index, no_index
from trivium.curriculum.lengths import Integers
from trivium.curriculum.pools import Pool, Rules, Supply
from trivium.curriculum.rows import Cursor, Given

WHOLE = 1 << 40  # the weights of a stage's lines sum to this
SPREAD = 256  # documents read side by side where a stage cuts them; divides BLOCK
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
            stop = self._stop(cursor, self._ahead(upto // 2 - cursor.taken))
            pieces, documents = self._cut(cursor, stop)
            taken = int(np.searchsorted(pieces.twice, upto, side="left"))
            sizes = pieces.stop - pieces.start
            if taken < len(pieces):
                parts.append(_first(pieces, taken))
                return Pieces.join(parts), self._at(cursor, documents, taken, int(sizes[:taken].sum()))
            parts.append(pieces)
            cursor = self._behind(cursor, stop, cursor.taken + int(sizes.sum()))

    def skip(self, cursor: Cursor, upto: int, index: Index = no_index) -> Cursor:
        """The cursor behind the pieces whose middles lie before `upto` half tokens, by lengths alone: `draw`'s.

        `index` gives an epoch's running sums of tokens by block; without one every length up to there is looked up.
        """
        whole = self.supply.tokens
        while True:
            left = upto // 2 - cursor.taken
            fresh = not cursor.pieces and not cursor.before
            if fresh and not cursor.position and left > whole:
                epochs = (left - 1) // whole
                cursor = Cursor(cursor.epoch + epochs, 0, 0, cursor.taken + epochs * whole)
                continue
            if fresh and not cursor.position % BLOCK:
                sums = index(self, cursor.epoch)
                if sums is not None:
                    cursor = self._jump(cursor, upto, sums)
            stop = min(len(self.pool), cursor.position - cursor.position % BLOCK + BLOCK)
            ends = cursor.taken + np.cumsum(self._sums(cursor, stop))
            if 2 * int(ends[-1]) > upto:  # the border lies in the first block that ends behind it
                blocks = int(np.searchsorted(2 * ends, upto, side="right"))
                if blocks:
                    cursor = self._behind(cursor, cursor.position + blocks * SPREAD, int(ends[blocks - 1]))
                return self.draw(cursor, upto)[1]
            cursor = self._behind(cursor, stop, int(ends[-1]))

    def leave(self, cursor: Cursor) -> Cursor:
        """The cursor for the pool's next stage: what this one gave of the block goes to `before`, `taken` loses its
        share (`Plan` counts the rest)."""
        if not cursor.pieces:
            return cursor
        rules = self.rules
        given = Given(rules.context, rules.patch_budget, rules.cut, cursor.pieces)
        return Cursor(cursor.epoch, cursor.position, 0, cursor.taken, (*cursor.before, given))

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

    def _at(self, cursor: Cursor, documents: Integers, piece: int, tokens: int) -> Cursor:
        """The cursor before piece number `piece` of those cut from `cursor` on; `tokens` lie between."""
        block = int(documents[piece]) // SPREAD
        pieces = piece - int(np.searchsorted(documents // SPREAD, block)) + (0 if block else cursor.pieces)
        before = () if block else cursor.before
        return Cursor(cursor.epoch, cursor.position + block * SPREAD, pieces, cursor.taken + tokens, before)

    def _ahead(self, tokens: int) -> int:
        """Documents that should hold the next `tokens` tokens of the line."""
        documents = max(0, tokens) * len(self.pool) // self.supply.tokens
        return min(_MOST, documents + documents // 16 + _LEAST)

    def _stop(self, cursor: Cursor, documents: int) -> int:
        """The end of the block that `documents` documents from the cursor on reach into."""
        return min(len(self.pool), cursor.position - (-documents // SPREAD) * SPREAD)

    def _rests(self, cursor: Cursor, stop: int) -> tuple[Integers, Integers, Integers, Integers]:
        """(records, patches, what is left of each document for this stage, where it begins) from the cursor's block up
        to `stop`; pieces that this stage has given of the block count as left."""
        records, tokens, patches = self.pool.look_up(cursor.epoch, cursor.position, stop)
        begin = np.zeros(len(records), dtype=np.int64)
        for given in cursor.before:
            first = slice(0, SPREAD)
            rules = Rules(given.context, given.patch_budget, given.cut)
            rest = _usable(tokens[first] - begin[first], patches[first], rules)
            documents, _, _ = _spread(rest, rules.context, cursor.position, len(self.pool))
            counts = np.bincount(documents[: given.pieces], minlength=len(rest))
            begin[first] += np.minimum(rest, counts * rules.context)
        return records, patches, _usable(tokens - begin, patches, self.rules), begin

    def _sums(self, cursor: Cursor, stop: int) -> Integers:
        """Tokens left in each block from the cursor's up to `stop`."""
        sums = np.add.reduceat(self._rests(cursor, stop)[2], np.arange(0, stop - cursor.position, SPREAD))
        if cursor.pieces:
            pieces, _ = self._cut(cursor, self._stop(cursor, 1))
            sums[0] = (pieces.stop - pieces.start).sum()
        return sums

    def _cut(self, cursor: Cursor, stop: int) -> tuple[Pieces, Integers]:
        """All pieces from the cursor up to position `stop`, and the document of each, from the cursor's block on."""
        records, patches, rest, begin = self._rests(cursor, stop)
        documents, start, sizes = _spread(rest, self.rules.context, cursor.position, len(self.pool))
        given = cursor.pieces
        documents, start, sizes = documents[given:], start[given:], sizes[given:]
        start = start + begin[documents]
        ends = 2 * (cursor.taken + np.cumsum(sizes))
        return Pieces(records[documents], start, start + sizes, patches[documents], ends - sizes), documents


def _usable(rest: Integers, patches: Integers, rules: Rules) -> Integers:
    """What is left of documents, 0 where the rules can't use it."""
    return np.where(rules.usable(rest, patches), rest, 0)


def _spread(rest: Integers, context: int, position: int, pool: int) -> tuple[Integers, Integers, Integers]:
    """(document, start in its rest, size) of all pieces of the documents from `position`, a block's first, on.

    Piece j of k of the block's document q of m stands at (j + q/m) / k of the block: a document of one piece at its
    place in the shuffled order, the pieces of others evenly between.
    """
    counts = -(-rest // context)
    documents = np.repeat(np.arange(len(rest), dtype=np.int64), counts)
    number = np.arange(len(documents), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    if len(documents) and int(counts.max()) > 1:
        block = documents // SPREAD
        size = np.minimum(SPREAD, pool - position - block * SPREAD)
        phase = (number * size + documents % SPREAD) / (counts[documents] * size)  # one rounding: exact everywhere
        order = np.lexsort((documents, phase, block))
        documents, number = documents[order], number[order]
    start = number * context
    return documents, start, np.minimum(rest[documents] - start, context)


def _first(pieces: Pieces, count: int) -> Pieces:
    return Pieces(*(getattr(pieces, name)[:count] for name in ("record", "start", "stop", "patches", "twice")))
