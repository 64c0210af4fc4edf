"""Large-star and small-star against union-find, and survivors as a function of the set alone."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.dedup.components import large_star, ordered, small_star
from trivium.data.dedup.survivor import choose

NODES = [f"{i:02d}" for i in range(24)]
EDGES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda e: e[0] != e[1]), max_size=40)


def union_find(edges):
    """The oracle: node → smallest node of its component, for nodes that have an edge."""
    parent = {node: node for edge in edges for node in edge}

    def find(node):
        while parent[node] != node:
            node = parent[node]
        return node

    for a, b in edges:
        low, high = sorted((find(a), find(b)))
        parent[high] = low
    return {node: find(node) for node in parent}


def one_round(edges):
    neighbours: dict[str, set[str]] = {}
    for a, b in edges:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    large = {edge for node, others in neighbours.items() for edge in large_star(node, [*others, *others])}
    smaller: dict[str, set[str]] = {}
    for high, low in large:
        smaller.setdefault(high, set()).add(low)
    return {edge for node, others in smaller.items() for edge in small_star(node, [*others, *others])}


@given(EDGES)
def test_alternating_stars_find_the_components(edges):
    current = {ordered(a, b) for a, b in edges}
    for _ in range(20):
        following = one_round(current)
        if following == current:
            break
        current = following
    else:
        raise AssertionError("the stars did not settle")
    expected = {(node, root) for node, root in union_find(edges).items() if node != root}
    assert current == expected


class Candidate(msgspec.Struct, frozen=True):
    source_id: str
    length: int
    scores: dict[str, float] = {}


CANDIDATES = st.lists(
    st.builds(Candidate, st.sampled_from(NODES), st.integers(1, 3), st.dictionaries(st.just("q"), st.integers(0, 2))),
    min_size=1,
    max_size=10,
    unique_by=lambda candidate: candidate.source_id,
)


@given(CANDIDATES, st.sampled_from(("", "q")), st.randoms())
def test_the_survivor_does_not_depend_on_the_order_of_arrival(candidates, quality, shuffler: random.Random):
    best, others = choose(candidates, quality)
    shuffled = list(candidates)
    shuffler.shuffle(shuffled)
    assert choose(shuffled, quality) == (best, others)
    assert sorted([best, *others], key=lambda c: c.source_id) == sorted(candidates, key=lambda c: c.source_id)


def test_quality_then_length_then_the_smallest_id():
    a, b = Candidate("a", 1, {"q": 1}), Candidate("b", 2, {"q": 1})
    c, d = Candidate("c", 2, {"q": 1}), Candidate("d", 9)
    assert choose([d, c, b, a], "q")[0] is b
    assert choose([a, d, c], "")[0] is d
    assert choose([c, b], "")[0] is b
