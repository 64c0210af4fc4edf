"""Which of many are shown, and in which order: pure functions of a seed and of the names.

Odd: what is drawn depends on no order of arrival; a larger count shows the same ones and more.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

T = TypeVar("T")
RULE = "an equal share for every set (what a small one leaves goes to the others), lowest sha256 of seed and id first"


def ranked(items: Iterable[T], limit: int, seed: int, key: Callable[[T], str]) -> list[T]:
    """At most `limit` items, those with the lowest hash of seed and key, lowest first."""
    return heapq.nsmallest(limit, items, key=lambda item: hashlib.sha256(f"{seed} {key(item)}".encode()).digest())


def shares(sizes: Sequence[int], count: int) -> list[int]:
    """`count` dealt out evenly over piles of these sizes, none more than it has; what is left over goes round."""
    given = [0] * len(sizes)
    left = count
    for done, at in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        given[at] = min(sizes[at], left // (len(sizes) - done))
        left -= given[at]
    for at in range(len(sizes)):  # the remainder of the division, one each
        extra = min(sizes[at] - given[at], left, 1)
        given[at] += extra
        left -= extra
    return given


def interleaved(piles: Sequence[Sequence[T]]) -> list[T]:
    """One of each pile in turn."""
    missing = object()
    return [item for item in chain(*zip_longest(*piles, fillvalue=missing)) if item is not missing]  # type: ignore[misc]


def arranged(items: Sequence[T], visual: Callable[[T], bool], title: Callable[[T], str]) -> list[T]:
    """First what has a title of its own, pictures and texts in turn, then the repeats of a title in the same way."""
    seen: set[str] = set()
    first: list[T] = []
    again: list[T] = []
    for item in items:
        name = title(item)
        (again if name and name in seen else first).append(item)
        seen.add(name)
    return [
        item
        for part in (first, again)
        for item in interleaved([[i for i in part if visual(i)], [i for i in part if not visual(i)]])
    ]
