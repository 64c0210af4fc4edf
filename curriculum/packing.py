"""Best-fit decreasing with two budgets: every piece of a window finds a row, none is cut, none is left over."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np


def pack(
    tokens: Sequence[int], patches: Sequence[int], *, context: int, patch_budget: int, least: int = 0
) -> list[list[int]]:
    """Rows of piece numbers; each row holds at most `context` tokens and `patch_budget` patches.

    Pieces go from large to small (by the budget that they fill more) into the row with the least token room that still
    takes them. Where that gives fewer rows than `least`, the fullest give pieces to new ones, as far as there are any.
    Inside a row the pieces stand in the order they were drawn. Raises ValueError when a piece can't fit any row:
    cutting and skipping happen before packing.
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
    _spread(rows, tokens, patches, patch_budget, least)
    for members in rows:
        members.sort()
    return rows


def _spread(
    rows: list[list[int]], tokens: Sequence[int], patches: Sequence[int], patch_budget: int, least: int
) -> None:
    """Opens new rows until there are `least`, each filled with pieces of the fullest rows up to about the mean."""
    if len(rows) >= least:
        return
    enough = sum(tokens) // least - min(tokens, default=0)
    fullest = [(-sum(tokens[i] for i in members), row) for row, members in enumerate(rows) if len(members) > 1]
    heapify(fullest)
    while len(rows) < least and fullest:
        members, fill, room, aside = list[int](), 0, patch_budget, list[tuple[int, int]]()
        while fullest and fill < enough:
            full, row = fullest[0]
            fits = [i for i in rows[row] if 2 * tokens[i] <= -full - fill and patches[i] <= room]
            if not fits or len(rows[row]) < 2:
                aside.append(heappop(fullest))
                continue
            piece = max(fits, key=lambda i: (tokens[i], i))
            rows[row].remove(piece)
            members.append(piece)
            fill, room = fill + tokens[piece], room - patches[piece]
            heapreplace(fullest, (full + tokens[piece], row))
        for entry in aside:
            if len(rows[entry[1]]) > 1:
                heappush(fullest, entry)
        if not members:  # nothing evens them out: the smallest piece of the fullest row moves alone
            if not fullest:
                return
            full, row = heappop(fullest)
            piece = min(rows[row], key=lambda i: (tokens[i], i))
            rows[row].remove(piece)
            members, fill = [piece], tokens[piece]
            if len(rows[row]) > 1:
                heappush(fullest, (full + tokens[piece], row))
        if len(members) > 1:
            heappush(fullest, (-fill, len(rows)))
        rows.append(members)
