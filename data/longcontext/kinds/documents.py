"""Questions across documents: which, how many, in what order, which is the largest."""

from collections import Counter
from itertools import combinations, pairwise

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds.base import HEADING, Room, Task

_MOST_HITS = 8
_MOST_COUNTED = 30
_FEW = 4  # drawings of one title, or there is nothing to choose from


def find(room: Room, dice: Dice) -> Task | None:
    """Which documents of a title show a shape of a colour; two of them together, where one alone is everywhere."""
    title, pages = _group(room, dice)
    single = _hits(room, pages, 1)
    two = _hits(room, pages, 2)
    choices = single if single and (not two or dice.below(2)) else two
    if not choices:
        return None
    things, hits = dice.pick(sorted(choices.items()))
    room.asked.add(title)
    fields = {"title": title, "color": things[0][0], "shape": things[0][1]}
    if len(things) == 2:
        fields |= {"other_color": things[1][0], "other_shape": things[1][1]}
    question = room.ask(dice, "find" if len(things) == 1 else "find_two", **fields)
    return Task("find", question, _numbers(hits), pages=tuple((hit, 0) for hit in hits))


def count(room: Room, dice: Dice) -> Task | None:
    """How many documents: of a title, that show a shape of a colour; or of a licence."""
    title, pages = _group(room, dice)
    choices = _hits(room, pages, 1)
    if choices and dice.below(2):
        ((color, shape), *_), hits = dice.pick(sorted(choices.items()))
        room.asked.add(title)
        question = room.ask(dice, "count", title=title, color=color, shape=shape)
        return Task("count", question, str(len(hits)), pages=tuple((hit, 0) for hit in hits))
    totals = Counter(page.license for page in room.pages)
    licences = sorted(licence for licence, total in totals.items() if 2 <= total <= _MOST_COUNTED)
    if not licences:
        return None
    licence = dice.pick(licences)
    marks = tuple((number, HEADING) for number, page in enumerate(room.pages) if page.license == licence)
    return Task("count", room.ask(dice, "count_licence", licence=licence), str(len(marks)), pages=marks)


def _group(room: Room, dice: Dice) -> tuple[str, list[int]]:
    """A title all of whose pages are simple, unedited drawings, and those pages; none when there is no such title."""
    groups = []
    for title, total in sorted(room.titles.items()):
        pages = [number for number in room.drawings if room.pages[number].title == title]
        if len(pages) == total >= _FEW and not room.edited & set(pages) and not any(mark in title for mark in "“”"):
            groups.append((title, pages))
    return dice.pick(groups) if groups else ("", [])


def _hits(room: Room, pages: list[int], together: int) -> dict[tuple[tuple[str, str], ...], list[int]]:
    """Things, one or two together, that few of the pages show, and which."""
    found: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number in pages:
        shown = sorted({(thing.color, thing.shape) for thing in room.drawings[number].things})
        for things in combinations(shown, together):
            found.setdefault(things, []).append(number)
    return {things: hits for things, hits in found.items() if len(hits) <= _MOST_HITS}


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
