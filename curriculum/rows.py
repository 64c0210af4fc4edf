"""The values that the curriculum hands out: pieces, rows, steps, and the state from which it goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from trivium.data.config import Strict

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class StepRows:
    """Everything that one optimizer step reads: all its rows, whatever the number of ranks.

    `context` is the most tokens a row can hold; `stage` and `step` count from 0; `lr` is the step's learning rate. The
    last step of a stage may hold fewer rows than the schedule asks for, never none.
    """

    step: int
    stage: int
    context: int
    rows: tuple[Row, ...]
    lr: float

    @property
    def tokens(self) -> int:
        return sum(row.tokens for row in self.rows)


class Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Where one pool stands: documents [0, position) of `epoch` are used, and `offset` tokens of the next one.

    `taken` counts the pool's tokens in this stage; with it the mixture's error carries over from window to window.
    """

    epoch: int = 0
    position: int = 0
    offset: int = 0
    taken: int = 0


class State(Strict, frozen=True, kw_only=True):
    """The next row to hand out. Cursors, by pool (`corpus/bucket`), stand at the start of the row's window."""

    stage: int
    step: int
    window: int
    row: int
    cursors: dict[str, Cursor]


def rank_rows(rows: Sequence[T], rank: int, world: int) -> list[T]:
    """The rows of a step that `rank` of `world` computes: every world-th; a rank may get none in a short step.

    Raises ValueError when rank is not in [0, world).
    """
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is outside a world of {world}; ranks count from 0")
    return list(rows[rank::world])
