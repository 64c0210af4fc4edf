"""Numbers and names at each other's places: all of them are there, and they belong to something else.

Odd: nothing is parsed. What stands nearest to what decides: two things of a kind changed places when each was clearly
nearer to one anchor in the source and is clearly nearer to the other's in the rewrite. Anchors are whatever both texts
hold: other numbers and names, and in one language also words.
"""

from itertools import combinations
from typing import NamedTuple

from trivium.data.rephrase.gate.likeness import placed_stems
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown

_CLEARLY = 0.5  # of the other way's distance
_FAR = 90  # characters beyond which two things have nothing to do with each other
_MOST = 40  # anchors looked at


class Item(NamedTuple):
    kind: str
    key: str


Places = dict[Item, list[int]]


def check(both: Comparison) -> Finding:
    """No two numbers or names of the source have changed places."""
    words = not both.pair.translated
    ours, theirs = _items(both.source, words), _items(both.rewrite, words)
    common = [item for item in ours if item in theirs]
    for kind in ("number", "name"):
        things = [item for item in common if item.kind == kind][:_MOST]
        for one, two in combinations(things, 2):
            anchors = [item for item in common if item not in (one, two)]
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
    if words:
        for stem, place in placed_stems(reading.prose):
            found.setdefault(Item("word", stem), []).append(place)
    return found
