"""The values that the curriculum hands out: pieces, rows, steps, and the state from which it goes on."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from trivium.data.config import Strict


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens [start, stop) of one record; to every mixer it is a document of its own.

    Only text longer than the context is cut; then the next piece begins where this one stops, so the token at `stop`
    is this piece's last target when the record goes on.
    """

    corpus: str
    record: int
    start: int
    stop: int

    @property
    def tokens(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Row:
    """One packed row: pieces in the order they were drawn, their tokens and image patches together."""

    pieces: tuple[Piece, ...]
    tokens: int
    patches: int

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that name the row's pieces in their order."""
        return _digest(f"{piece.corpus}:{piece.record}:{piece.start}:{piece.stop}" for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class StepRows:
    """Everything that one optimizer step reads: all its rows, whatever the number of ranks.

    `context` is the most tokens a row can hold; `stage` and `step` count from 0; `lr` is the step's learning rate. A
    step has the rows that its stage asks for; more where documents fill rows badly, fewer where there are too few
    documents; never none.
    """

    step: int
    stage: int
    context: int
    rows: tuple[Row, ...]
    lr: float

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rows)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that name the step's rows in their order."""
        return _digest(row.digest for row in self.rows)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


class Given(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """`pieces` of a block's pieces, cut by the rules of an earlier stage, are used."""

    context: int
    patch_budget: int
    cut: bool
    pieces: int


class Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The first piece of one pool that is not used yet: behind `pieces` pieces of the block at `position` of `epoch`.

    `taken` counts the pool's tokens in this stage, beginning with what it gave above its share before (or below it:
    negative); so the mixture's error is carried from window to window and from stage to stage. `before` is what earlier
    stages used of the same block, if they stopped inside it.
    """

    epoch: int = 0
    position: int = 0
    pieces: int = 0
    taken: int = 0
    before: tuple[Given, ...] = ()


class State(Strict, frozen=True, kw_only=True):
    """The next row to hand out. Cursors, by pool (`corpus/bucket`), stand at the start of the row's window."""

    stage: int
    step: int
    window: int
    row: int
    cursors: dict[str, Cursor]
