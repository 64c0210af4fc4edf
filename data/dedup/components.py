"""Connected components by alternating large-star and small-star (Kiveris et al. 2014), as functions of one key's group.

Each step sees one node and its neighbours only, so no worker ever holds the graph. Alternated until no edge changes,
every node is joined to the smallest id of its component and to nothing else.
"""

import itertools
from collections.abc import Iterable, Iterator

Edge = tuple[str, str]  # (larger id, smaller id)


def ordered(a: str, b: str) -> Edge:
    return (a, b) if a > b else (b, a)


def large_star(node: str, neighbours: Iterable[str]) -> Iterator[Edge]:
    """Joins the larger neighbours of `node` to the smallest of the group; `neighbours` are of both directions."""
    group = set(neighbours)
    smallest = min(group | {node})
    for other in sorted(group):
        if other > node and other != smallest:
            yield ordered(other, smallest)


def small_star(node: str, smaller: Iterable[str]) -> Iterator[Edge]:
    """Joins `node` and its smaller neighbours to the smallest of them; `smaller` holds neighbours below `node`."""
    group = set(smaller)
    if not group:
        return
    smallest = min(group)
    for other in sorted((group | {node}) - {smallest}):
        yield ordered(other, smallest)


def bucket_pairs(members: Iterable[str], *, all_pairs_up_to: int = 64) -> Iterator[Edge]:
    """Candidate pairs of one band's bucket: all of a small one, a chain and a star of a large one (linear)."""
    ids = sorted(set(members))
    if len(ids) <= all_pairs_up_to:
        for i, a in enumerate(ids):
            for b in ids[i + 1 :]:
                yield ordered(a, b)
        return
    for before, after in itertools.pairwise(ids):
        yield ordered(before, after)
        if before != ids[0]:
            yield ordered(ids[0], after)
