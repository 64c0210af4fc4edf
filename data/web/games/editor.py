"""Changes to pages that move: of ours any constant and the mistakes of their kind, of others what their text allows."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts
from trivium.data.web.games.kinds import Constant, Known, Value, choices, kinds, page, recognise

_CLEARED = re.compile(r"^[^\n;]*\b\w+(?:\.\w+)*\.clearRect\([^\n;]*\);[ \t]*\n?", re.MULTILINE)
_NUMBER = re.compile(r"\b(?:var|let|const)\s+(\w+)\s*=\s*(-?\d+(?:\.\d+)?)\s*(?=[;,\n])")
_TELLING = re.compile(
    r"speed|veloc|radius|size|count|num|amount|gravity|width|height|length|segment|point|ball|angle|step|delay|friction"
    r"|distance|damp|scale|max|min|total|rows|cols",
    re.IGNORECASE,
)
_COLOR = re.compile(
    r"""(["'])(#[0-9a-fA-F]{6}|#[0-9a-fA-F]{3}|red|green|blue|black|white|yellow|orange|purple|pink|gray)\1"""
)
_STEP = re.compile(r"\b(\w+(?:\.\w+)*\.?(?:x|y|angle|rotation|top|left))\s*(\+=|-=)(?=\s*[\w.])")
_COLORS = ("crimson", "darkorange", "gold", "limegreen", "teal", "deepskyblue", "royalblue", "purple", "hotpink")
_APART = 110  # levels of the three channels together by which a new colour differs
_FACTORS = (2.0, 0.5, 3.0, 1.5)
_ARROWS = (("ArrowLeft", "ArrowRight", "left", "right"), ("ArrowUp", "ArrowDown", "up", "down"))


class _Place(NamedTuple):
    """A stretch of the code and what stands in its place then."""

    start: int
    end: int
    text: str
    words: str


class GameEditor:
    """Edits and mistakes; a page of ours is known by its text (see `kinds`)."""

    language = "HTML"

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        """Without an end for pages of ours, until none is left for others."""
        known = recognise(code)
        if known is not None:
            yield from _constants(known, dice)
            return
        for place in dice.shuffled([*_numbers(code, dice), *_recolored(code, dice)]):
            yield _applied(code, place)

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        known = recognise(code)
        if known is not None:
            for bug in dice.shuffled(kinds()[known.kind].bugs):
                if code.count(bug.find) == 1:
                    yield Edit(instruction=bug.seen, code=code.replace(bug.find, bug.replace))
            return
        for place in dice.shuffled([*_uncleared(code), *_reversed(code), *_swapped(code)]):
            yield _applied(code, place)


def _constants(known: Known, dice: Dice) -> Iterator[Edit]:
    kind = kinds()[known.kind]
    names = [name for name in kind.constants if name not in ("WIDTH", "HEIGHT")]
    taken = {value for value in known.constants.values() if isinstance(value, str)}
    while True:
        for name in dice.shuffled(names):
            constant, old = kind.constants[name], known.constants[name]
            others = [value for value in dict.fromkeys(choices(constant)) if value not in taken and _apart(value, old)]
            if others:
                new = dice.pick(others)
                changed = known._replace(constants={**known.constants, name: new})
                yield Edit(instruction=_wanted(constant, old, new, dice), code=page(changed))


def _apart(new: Value, old: Value) -> bool:
    """Whether a change can be seen: two colours must not be near each other."""
    if not isinstance(new, str) or not isinstance(old, str):
        return new != old
    from PIL import ImageColor

    one, other = (ImageColor.getrgb(color)[:3] for color in (new, old))
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) >= _APART


def _wanted(constant: Constant, old: Value, new: Value, dice: Dice) -> str:
    """The instruction in words."""
    if isinstance(old, str) or isinstance(new, str):
        if constant.name.startswith(("background", "line", "lines", "rods", "rim")):
            return f"Change the colour of the {constant.name} from {old} to {new}."
        return dice.pick(
            (
                f"Change the colour of the {constant.name} from {old} to {new}.",
                f"Make the {constant.name} {new} instead of {old}.",
            )
        )
    special = constant.lower if new < old else constant.higher
    if special:
        return special.format(old=old, new=new)
    unit = f" {constant.unit}" if constant.unit else ""
    plain = f"Change the {constant.name} from {old}{unit} to {new}{unit}."
    telling = f"{'Lower' if new < old else 'Raise'} the {constant.name} to {new}{unit}; it is {old}{unit} now."
    return dice.pick((plain, telling))


def _applied(code: str, place: _Place) -> Edit:
    return Edit(instruction=place.words, code=code[: place.start] + place.text + code[place.end :])


def _numbers(code: str, dice: Dice) -> Iterator[_Place]:
    """Variables with a telling name that are given a number."""
    for found in _NUMBER.finditer(code):
        name, text = found[1], found[2]
        value = float(text)
        if not _TELLING.search(name) or value == 0 or len(name) < 3:
            continue
        new = value * dice.pick(_FACTORS)
        number = str(max(1, round(new))) if "." not in text else f"{new:g}"
        if number != text:
            yield _Place(found.start(2), found.end(2), number, f"Set `{name}` to {number} instead of {text}.")


def _recolored(code: str, dice: Dice) -> Iterator[_Place]:
    """Colours that the code names once."""
    names = [found[2] for found in _COLOR.finditer(code)]
    for found in _COLOR.finditer(code):
        if names.count(found[2]) == 1:
            new = dice.pick([color for color in _COLORS if _apart(color, found[2])])
            yield _Place(found.start(2), found.end(2), new, f"Use the colour {new} where the code has {found[2]}.")


def _uncleared(code: str) -> Iterator[_Place]:
    for found in _CLEARED.finditer(code):
        words = "The old picture is never wiped: what moves leaves its traces behind it."
        yield _Place(found.start(), found.end(), "", words)


def _reversed(code: str) -> Iterator[_Place]:
    for found in _STEP.finditer(code):
        sign = "-=" if found[2] == "+=" else "+="
        words = "Something moves the wrong way: it goes backwards where it should go forwards."
        yield _Place(found.start(2), found.end(2), sign, words)


def _swapped(code: str) -> Iterator[_Place]:
    """The first mention of an arrow key becomes the other one of its pair."""
    for one, other, word, opposite in _ARROWS:
        at = code.find(one)
        if at >= 0 and other in code:
            words = f"The {word} arrow key does nothing; what it should do happens with the {opposite} one."
            yield _Place(at, at + len(one), other, words)
