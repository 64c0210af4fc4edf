"""What an item shows, in sentences made of its facts alone: nothing is added, and what can't be seen is left out."""

from collections import Counter
from collections.abc import Iterator

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Facts, Part
from trivium.data.pairs.naming import (
    LONGEST,
    color_name,
    inside,
    is_word,
    known,
    listed,
    measure,
    number,
    place,
    plural,
    quantity,
    some,
)
from trivium.data.pairs.questions import area, leading
from trivium.data.pairs.wording import Wording, say


def describe(
    facts: Facts,
    width: int,
    height: int,
    wording: Wording,
    dice: Dice,
    *,
    code: str,
    shown: bool,
    alone: bool,
    most: int = 12,
) -> str:
    """One paragraph. `code` (or ""), `shown`: what is given, code and pictures; `alone`: there is one picture, of which
    places and colours may be told.

    At most `most` parts are placed, the largest of them. "" where nothing is known but what it is and its colour.
    """
    found = list(_sentences(facts, width, height, wording, dice, code=code, shown=shown, alone=alone, most=most))
    if len(found) == 1:
        return ""
    color = leading(facts) if alone else ""
    if color:
        share = number(round(100 * facts.colors[color]))
        found.append(say(dice, wording.description.color, color=color_name(color, wording), share=share))
    return " ".join(sentence[:1].upper() + sentence[1:] for sentence in found)


def _sentences(
    facts: Facts,
    width: int,
    height: int,
    wording: Wording,
    dice: Dice,
    *,
    code: str,
    shown: bool,
    alone: bool,
    most: int,
) -> Iterator[str]:
    words = wording.description
    yield say(dice, words.what, what=facts.what)
    if facts.title and "\n" not in facts.title and facts.title not in facts.what and (shown or facts.title in code):
        yield say(dice, words.title, title=facts.title)
    counts = Counter(() if facts.cut else (part.kind for part in facts.parts))
    if counts:
        things = [
            some(kind, wording) if count == 1 else f"{count} {plural(kind, wording)}" for kind, count in counts.items()
        ]
        if facts.parts[1:]:
            yield say(dice, words.counts, things=listed(things))
        else:
            yield say(dice, words.one, thing=things[0])
    if alone:
        yield from _placed(facts, width, height, wording, dice, most)
    told = {f"number of {plural(kind, wording)}" for kind in counts}
    for key, value in facts.sizes.items():
        name, unit = measure(key)
        if known(key, facts, read=bool(code), shown=shown) and name not in told:
            yield say(dice, words.size, measure=name, value=quantity(value, unit))


def _placed(facts: Facts, width: int, height: int, wording: Wording, dice: Dice, most: int) -> Iterator[str]:
    """A sentence for each place, its parts in the order of the facts."""
    boxed = [part for part in facts.parts if part.box is not None and inside(part.box, width, height)]
    large = {id(part) for part in sorted(boxed, key=lambda part: -area(part.box or (0, 0, 0, 0)))[:most]}
    places: dict[str, list[str]] = {}
    for part in boxed:
        if id(part) in large and part.box is not None and (part.name or part.text or part.color):
            places.setdefault(place(part.box, width, height, wording), []).append(_one(part, wording))
    for where in wording.places:
        if where in places:
            yield say(dice, wording.description.placed, things=listed(places[where]), place=where)


def _one(part: Part, wording: Wording) -> str:
    """A part with all that is known of how it looks."""
    color = color_name(part.color, wording)
    short = len(part.text) <= LONGEST and "\n" not in part.text
    text = f" that reads “{part.text}”" if part.text and short and part.text != part.name else ""
    name = f" “{part.name}”" if part.name and len(part.name) <= LONGEST and "\n" not in part.name else ""
    return some(f"{color} {part.kind}" if is_word(color) else part.kind, wording) + name + text
