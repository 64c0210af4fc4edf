"""Numbers and names at each other's places: all of them are there, and they belong to something else.

Odd: nothing is parsed. What stands nearest to what decides: two things of a kind changed places when each was clearly
nearer to one anchor in the source and is clearly nearer to the other's in the rewrite, or stood in one clause with it
and stands in one with the other's. Anchors are whatever both texts hold: other numbers and names, and in one language
also words. Things are numbers, names, what is written letter by letter (`git stash pop`), and words of two sides.
"""

import re
from bisect import bisect
from itertools import combinations
from typing import NamedTuple

from trivium.data.rephrase.gate.lexicon import any_of, lexicon
from trivium.data.rephrase.gate.likeness import placed_stems
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown

_CLEARLY = 0.5  # of the other way's distance
_FAR = 90  # characters beyond which two things have nothing to do with each other
_MOST = 40  # anchors looked at
_CLAUSE = re.compile(r"[.;:!?\n,()。；：！？、，]+|\s[–—-]\s")


class Item(NamedTuple):
    kind: str
    key: str


Places = dict[Item, list[int]]
SIDES = frozenset({"side", "north", "east", "time", "size"})  # pairs that stand for two things of one text


def check(both: Comparison) -> Finding:
    """No two numbers or names of the source have changed places."""
    words = not both.pair.translated
    ours, theirs = _items(both.source, words), _items(both.rewrite, words)
    common = [item for item in ours if item in theirs]
    clauses = [_clauses(reading) for reading in (both.source, both.rewrite)]
    for kind in ("number", "name", "literal", "side"):
        things = [item for item in common if item.kind == kind][:_MOST]
        for one, two in combinations(things, 2):
            own = {*ours[one], *ours[two]}  # a name is a word, too
            anchors = [item for item in common if item not in (one, two) and own.isdisjoint(ours[item])]
            found = _crossed(one, two, anchors, (ours, clauses[0]), (theirs, clauses[1]))
            if not found and kind in ("number", "name"):
                found = _exchanged(one, two, anchors[:_MOST], ours, theirs)
            if found:
                first, second = (shown(both.source.text[ours[item][0] :][:24]) for item in (one, two))
                detail = (
                    f"{first} and {second} of the source stand at each other's places, beside {shown(found[0].key)}"
                )
                return Finding(check="bindings", score=0.0, passed=False, reason="number_moved", detail=detail)
    return Finding(check="bindings", score=1.0, passed=True)


def _exchanged(one: Item, two: Item, anchors: list[Item], ours: Places, theirs: Places) -> tuple[Item, Item] | None:
    near = [(a, _near(one, two, a, ours), _near(one, two, a, theirs)) for a in anchors]
    crossed_one = [a for a, before, after in near if before == 1 and after == 2]
    crossed_two = [a for a, before, after in near if before == 2 and after == 1]
    straight = sum(before == after != 0 for _, before, after in near)
    if crossed_one and crossed_two and len(crossed_one) + len(crossed_two) > straight + 1:
        return crossed_one[0], crossed_two[0]
    return None


def _clauses(reading: Reading) -> list[int]:
    """Where the clauses of a text end."""
    return [match.start() for match in _CLAUSE.finditer(reading.prose)]


def _crossed(
    one: Item, two: Item, anchors: list[Item], before: tuple[Places, list[int]], after: tuple[Places, list[int]]
) -> tuple[Item, Item] | None:
    """Anchors of one clause with the first that are now of one with the second, and back; none stayed."""
    first = [(a, _beside(one, two, a, *before), _beside(one, two, a, *after)) for a in anchors]
    to_two = [a for a, was, now in first if (was, now) == (1, 2)]
    to_one = [a for a, was, now in first if (was, now) == (2, 1)]
    stayed = any(was == now != 0 for _, was, now in first)
    return (to_two[0], to_one[0]) if to_two and to_one and not stayed else None


def _beside(one: Item, two: Item, anchor: Item, places: Places, ends: list[int]) -> int:
    """1 or 2: the only one of both that shares a clause with the anchor; 0: neither or both."""
    here = {bisect(ends, place) for place in places[anchor]}
    first, second = (any(bisect(ends, place) in here for place in places[item]) for item in (one, two))
    return 0 if first == second else 1 if first else 2


def _near(one: Item, two: Item, anchor: Item, places: Places) -> int:
    """1 or 2: which of both the anchor is clearly nearer to; 0: neither."""
    first, second = _distance(one, anchor, places), _distance(two, anchor, places)
    if min(first, second) > _FAR:
        return 0
    if first < _CLEARLY * second:
        return 1
    return 2 if second < _CLEARLY * first else 0


def _distance(one: Item, other: Item, places: Places) -> int:
    return min(abs(a - b) for a in places[one] for b in places[other])


def _items(reading: Reading, words: bool) -> Places:
    found: Places = {}
    for number in reading.numbers:
        if number.sort in ("number", "small"):
            found.setdefault(Item("number", str(min(number.readings))), []).append(number.start)
    for name in reading.names:
        key = sorted(name.codes)[0] if name.codes else name.key
        found.setdefault(Item("name", key), []).append(name.start)
    for literal in reading.literals:
        found.setdefault(Item("literal", literal.text), []).append(literal.start)
    for place, pair in enumerate(lexicon(reading.language).opposites):
        for side in (pair.one, pair.two) if pair.name in SIDES else ():
            key = f"{pair.name} {place} {side is pair.two}"
            for match in any_of(side, reading.language).finditer(reading.lower):
                found.setdefault(Item("side", key), []).append(match.start())
    if words:
        for stem, start in placed_stems(reading.prose):
            found.setdefault(Item("word", stem), []).append(start)
    return found
