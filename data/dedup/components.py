"""Connected components by alternating large-star and small-star (Kiveris et al. 2014), as functions of one key's group.

Each step sees one node and its neighbours only, so no worker ever holds the graph, nor even all neighbours of a node.
Alternated until no edge changes, every node is joined to the smallest id of its component and to nothing else.
"""

from collections.abc import Iterable, Iterator

Edge = tuple[str, str]  # (larger id, smaller id)


def ordered(a: str, b: str) -> Edge:
    return (a, b) if a > b else (b, a)


def large_star(node: str, neighbours: Iterable[str]) -> Iterator[Edge]:
    """Joins the larger neighbours of `node` to the smallest of the group; `neighbours` are of both directions.

    They are read twice and never held, so a node may have any number of them; who comes twice gives an edge twice.
    """
    smallest = min(node, min(neighbours, default=node))
    for other in neighbours:
        if other > node and other != smallest:
            yield ordered(other, smallest)


def small_star(node: str, smaller: Iterable[str]) -> Iterator[Edge]:
    """Joins `node` and its smaller neighbours to the smallest of them; `smaller` holds neighbours below `node`.

    Like `large_star`, it reads them twice and holds none.
    """
    smallest = min(smaller, default=node)
    if smallest == node:
        return
    yield ordered(node, smallest)
    for other in smaller:
        if other != smallest:
            yield ordered(other, smallest)
