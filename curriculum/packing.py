"""Best-fit decreasing with two budgets: every piece of a window finds a row, none is cut, none is left over."""

from bisect import bisect_left, insort
from collections.abc import Sequence


def pack(tokens: Sequence[int], patches: Sequence[int], *, context: int, patch_budget: int) -> list[list[int]]:
    """Rows of piece numbers; each row holds at most `context` tokens and `patch_budget` patches.

    Pieces go from large to small (by the budget that they fill more) into the row with the least token room that still
    takes them. Inside a row the pieces stand in the order they were drawn. Raises ValueError when a piece can't fit
    any row: cutting and skipping happen before packing.
    """
    order = sorted(
        range(len(tokens)),
        key=lambda i: (-max(tokens[i] * patch_budget, patches[i] * context), -tokens[i], -patches[i], i),
    )
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
    for members in rows:
        members.sort()
    return rows
