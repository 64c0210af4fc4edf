"""Best-fit decreasing with two budgets: every piece of a window finds a row, none is cut, none is left over."""

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np


def pack(
    tokens: Sequence[int], patches: Sequence[int], *, context: int, patch_budget: int, least: int = 0
) -> list[list[int]]:
    """Rows of piece numbers; each row holds at most `context` tokens and `patch_budget` patches.

    Pieces go from large to small (by the budget that they fill more) into the row with the least token room that still
    takes them. Fewer rows than `least` are split, the fullest first, as far as there are pieces. Inside a row the
    pieces stand in the order they were drawn. Raises ValueError when a piece can't fit any row: cutting and skipping
    happen before packing.
    """
    size, pictured = np.array(tokens, dtype=np.int64), np.array(patches, dtype=np.int64)
    order = np.lexsort((-pictured, -size, -np.maximum(size * patch_budget, pictured * context))).tolist()
    rows: list[list[int]] = []
    patch_room: list[int] = []
    rooms: list[tuple[int, int]] = []  # (token room, row), ascending: the first that fits is the best fit
    for i in order:
        need, pictures = tokens[i], patches[i]
        if need > context or pictures > patch_budget:
            raise ValueError(
                f"a piece of {need} tokens and {pictures} patches fits no row of {context} tokens and "
                f"{patch_budget} patches"
            )
        at = bisect_left(rooms, (need, -1))
        if pictures:
            while at < len(rooms) and patch_room[rooms[at][1]] < pictures:
                at += 1
        if at < len(rooms):
            room, row = rooms.pop(at)
            rows[row].append(i)
        else:
            room, row = context, len(rows)
            rows.append([i])
            patch_room.append(patch_budget)
        patch_room[row] -= pictures
        if room > need:  # a full row takes nothing more
            insort(rooms, (room - need, row))
    _spread(rows, tokens, least)
    for members in rows:
        members.sort()
    return rows


def _spread(rows: list[list[int]], tokens: Sequence[int], least: int) -> None:
    """Splits rows of several pieces in two until there are `least`, the fullest first."""
    if len(rows) >= least:
        return
    fullest = sorted((-sum(tokens[i] for i in members), row) for row, members in enumerate(rows) if len(members) > 1)
    while len(rows) < least and fullest:
        _, row = fullest.pop(0)
        first, second = rows[row][0::2], rows[row][1::2]  # every other one, by size
        rows[row] = first
        for members, number in ((first, row), (second, len(rows))):
            if len(members) > 1:
                insort(fullest, (-sum(tokens[i] for i in members), number))
        rows.append(second)
