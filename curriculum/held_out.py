"""Held-out documents as rows, for evaluation."""

from typing import TYPE_CHECKING

from trivium.curriculum.packing import pack
from trivium.curriculum.rows import Piece, Row
from trivium.curriculum.stage import PATCHES_A_TOKEN

if TYPE_CHECKING:
    from trivium.curriculum.plan import Plan


def held_out_rows(plan: "Plan", corpus: str, *, context: int | None, patches: int | None) -> list[Row]:
    """The held-out documents of a corpus, packed once in the order of their records (see `Plan.held_out`)."""
    last = plan.schedule.stages[-1]
    budget = patches if patches is not None else last.patch_budget if context is None else PATCHES_A_TOKEN * context
    room = last.context if context is None else context
    sizes = plan.sizes.get(corpus)
    if sizes is None:  # a corpus on paper
        return []
    pieces: list[Piece] = []
    pictures: list[int] = []
    held = plan.sides[corpus].held_out
    found = zip(held.tolist(), sizes.tokens[held].tolist(), sizes.patches_of(held).tolist(), strict=True)
    for record, length, patch_count in found:
        if patch_count and (length > room or patch_count > budget):
            continue
        pieces += [Piece(corpus, record, at, min(at + room, length)) for at in range(0, length, room)]
        pictures += [patch_count] * (len(pieces) - len(pictures))
    packed = pack([piece.tokens for piece in pieces], pictures, context=room, patch_budget=budget)
    return [
        Row(
            tuple(pieces[i] for i in members),
            sum(pieces[i].tokens for i in members),
            sum(pictures[i] for i in members),
        )
        for members in packed
    ]
