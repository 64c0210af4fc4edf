"""Questions across documents: which, how many, in what order, which is the largest."""

from collections import Counter
from itertools import pairwise

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.drawings import COLORS
from trivium.data.longcontext.kinds.base import HEADING, Room, Task

_MOST_HITS = 8
_MOST_COUNTED = 30
SHAPES = ("circle", "square", "triangle", "diamond")


def find(room: Room, dice: Dice) -> Task | None:
    """Which documents of a title show a shape of a colour."""
    drawn = _drawn(room, dice)
    if drawn is None:
        return None
    title, color, shape, hits = drawn
    question = room.ask(dice, "find", title=title, color=color, shape=shape)
    return Task("find", question, _numbers(hits), pages=tuple((hit, 0) for hit in hits))


def count(room: Room, dice: Dice) -> Task | None:
    """How many documents: of a title, that show a shape of a colour; or of a licence."""
    if dice.below(2):
        drawn = _drawn(room, dice)
        if drawn is not None:
            title, color, shape, hits = drawn
            question = room.ask(dice, "count", title=title, color=color, shape=shape)
            return Task("count", question, str(len(hits)), pages=tuple((hit, 0) for hit in hits))
    totals = Counter(page.license for page in room.pages)
    choices = sorted(licence for licence, total in totals.items() if 2 <= total <= _MOST_COUNTED)
    if not choices:
        return None
    licence = dice.pick(choices)
    pages = tuple((number, HEADING) for number, page in enumerate(room.pages) if page.license == licence)
    return Task("count", room.ask(dice, "count_licence", licence=licence), str(len(pages)), pages=pages)


def _drawn(room: Room, dice: Dice) -> tuple[str, str, str, list[int]] | None:
    """(title, colour, shape, pages that show it), for a title all of whose pages are simple, unedited drawings."""
    titles = []
    for title, total in sorted(room.titles.items()):
        pages = [number for number, page in enumerate(room.pages) if page.title == title]
        if total >= 4 and all(number in room.drawings and number not in room.edited for number in pages):
            titles.append((title, pages))
    if not titles:
        return None
    title, pages = dice.pick(titles)
    hits = {
        (color, shape): [number for number in pages if room.drawings[number].holds(color, shape)]
        for color in COLORS
        for shape in SHAPES
    }
    choices = sorted(pair for pair, found in hits.items() if 1 <= len(found) <= _MOST_HITS)
    if not choices or any(mark in title for mark in "“”"):
        return None
    color, shape = dice.pick(choices)
    room.asked.add(title)
    return title, color, shape, hits[color, shape]


def order(room: Room, dice: Dice) -> Task | None:
    """Titles in the order of their documents, one from each part of the row."""
    single = [number for number, page in enumerate(room.pages) if room.titles[page.title] == 1]
    chosen = _spread(single, min(dice.between(4, 6), len(single)), dice)
    if len(chosen) < 3:
        return None
    titles = [room.pages[number].title for number in chosen]
    asked = dice.shuffled(titles)
    question = room.ask(dice, "order", text="\n".join(asked))
    return Task("order", question, "\n".join(titles), pages=tuple((number, HEADING) for number in chosen))


def compare(room: Room, dice: Dice) -> Task | None:
    """Which of some documents has the most or the fewest bytes, by their headings."""
    chosen = _spread(list(range(len(room.pages))), min(dice.between(3, 5), len(room.pages)), dice)
    sizes = sorted(room.pages[number].bytes for number in chosen)
    kind = dice.pick(("most", "least"))
    if len(chosen) < 3 or len(set(sizes)) < len(sizes):
        return None
    best = sizes[-1] if kind == "most" else sizes[0]
    (winner,) = (number for number in chosen if room.pages[number].bytes == best)
    question = room.ask(dice, kind, numbers=_numbers(dice.shuffled(chosen)))
    return Task("compare", question, str(winner + 1), pages=tuple((number, HEADING) for number in chosen))


def _numbers(pages: list[int]) -> str:
    return ", ".join(str(number + 1) for number in pages)


def _spread(numbers: list[int], count: int, dice: Dice) -> list[int]:
    """`count` of the rising numbers, one from each of as many equal parts."""
    if not 0 < count <= len(numbers):
        return []
    bounds = [part * len(numbers) // count for part in range(count + 1)]
    return [numbers[dice.between(a, b - 1)] for a, b in pairwise(bounds)]
