"""A repository's files, in order, cut into documents of at most a budget: at borders between files, where few imports
cross."""

from collections.abc import Sequence

from trivium.data.code.order import Edges

_EARLY = 0.75  # of its fair share a part has at least, where the files allow it


def split(order: Sequence[int], sizes: Sequence[int], edges: Edges, budget: int) -> list[list[int]]:
    """Consecutive runs of `order`, each of at most `budget` bytes; a file that is longer stands alone.

    What is left is always shared out evenly over the fewest parts that can hold it. A part ends at that border between
    three quarters of its share and the budget that the fewest imports cross; of equals, the one nearest to the share.
    """
    crossing = crossings(order, edges)
    before = [0]
    for number in order:
        before.append(before[-1] + sizes[number])
    parts, start = [], 0
    while start < len(order):
        rest = before[-1] - before[start]
        share = rest / -(-rest // budget) if rest else 0
        borders = []
        for end in range(start + 1, len(order) + 1):
            size = before[end] - before[start]
            if size > budget and end > start + 1:
                break
            if size >= _EARLY * share or end == len(order):
                borders.append((crossing[end], abs(size - share), end))
            last = end
        end = min(borders)[2] if borders and rest > budget else last
        parts.append(list(order[start:end]))
        start = end
    return parts


def crossings(order: Sequence[int], edges: Edges) -> list[int]:
    """For each border 0..n of the order the number of imports between a file before it and one behind it."""
    position = {number: at for at, number in enumerate(order)}
    steps = [0] * (len(order) + 2)
    for number, targets in enumerate(edges):
        for target in targets:
            low, high = sorted((position[number], position[target]))
            steps[low + 1] += 1
            steps[high + 1] -= 1
    found, open_ = [], 0
    for step in steps[: len(order) + 1]:
        open_ += step
        found.append(open_)
    return found
