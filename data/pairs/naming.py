"""How parts, colours, numbers and places are said: a part is named only by what tells it from all others."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import msgspec

from trivium.data.pairs.facts import Box, Facts, Part
from trivium.data.pairs.wording import Wording, load_wording

LONGEST = 60  # characters of a part's own words by which it is named
_OF_PICTURES = ("picture width px", "picture height px")
_NAMED = re.compile(r"[a-z]+")
_UNIT = re.compile(r"(?:px|mm|mm²|mm³|cm|cm²|cm³|m|°|deg|degrees|%|s|ms|g|kg|Ω|V|A|pt|units?)")
_COUNTED = re.compile(r"questions|neighbours|rings|corners|triangles|pieces|teeth|rows\b.*|.* atoms")


class Naming(msgspec.Struct, frozen=True):
    """`phrase` says which part is meant ("the red circle"); `by` is what of it the phrase gives away."""

    phrase: str
    by: str  # name, text, color or kind


class Names:
    """The words for one item's parts. A part that nothing tells from another has none."""

    def __init__(self, facts: Facts, wording: Wording) -> None:
        self.facts, self.wording = facts, wording
        self.kinds = Counter(part.kind for part in facts.parts)
        self._colored = self.kinds.keys() - {part.kind for part in facts.parts if not part.color}
        meant = Counter(phrase for part in facts.parts for phrase in self._meanings(part))
        self._unique = {
            id(part): tuple(way for way in self._ways(part) if meant[way.phrase.casefold()] == 1)
            for part in facts.parts
        }

    def of(self, part: Part, *, but: Collection[str] = ()) -> str | None:
        """A phrase for exactly this part that does not give away its `but` (text, color); None when there is none."""
        if self.facts.cut:
            return None  # what is left out might have the same name
        ways = (way.phrase for way in self._unique[id(part)] if way.by not in but)
        return next((phrase for phrase in ways if not any(self._tells(part, what, phrase) for what in but)), None)

    def named(self) -> Iterator[tuple[Part, str]]:
        """All parts that have a phrase of their own."""
        for part in self.facts.parts:
            phrase = self.of(part)
            if phrase is not None:
                yield part, phrase

    def _tells(self, part: Part, what: str, phrase: str) -> bool:
        value = part.text if what == "text" else color_name(part.color, self.wording)
        return bool(value) and value.casefold() in phrase.casefold()

    def _meanings(self, part: Part) -> set[str]:
        """All that could be taken to mean this part, sayable or not."""
        said = [part.kind, f"{color_name(part.color, self.wording)} {part.kind}", part.name]
        said += [f"{part.kind} “{part.name}”", f"{part.kind} that reads “{part.text}”"]
        return {f"the {words}".casefold() for words in said}

    def _ways(self, part: Part) -> Iterator[Naming]:
        kind = part.kind
        if part.name and _sayable(part.name):
            spoken = part.name if kind.casefold() in part.name.casefold() else f"{kind} “{part.name}”"
            yield Naming(f"the {spoken}", "name")
        if part.text and _sayable(part.text):
            yield Naming(f"the {kind} that reads “{part.text}”", "text")
        color = color_name(part.color, self.wording)
        if is_word(color) and kind in self._colored:  # tells parts apart only where all of the kind have one
            yield Naming(f"the {color} {kind}", "color")
        yield Naming(f"the {kind}", "kind")


def _sayable(words: str) -> bool:
    return len(words) <= LONGEST and "\n" not in words and "“" not in words and "”" not in words and bool(words.strip())


def is_word(color: str) -> bool:
    """Whether a colour has a name; hex digits are nothing to call a part by."""
    return bool(_NAMED.fullmatch(color))


def color_name(color: str, wording: Wording) -> str:
    """A colour's name where it has one, the same for all ways to write it; what is no colour of CSS stays."""
    digits = _digits().get(color.casefold(), color.casefold())
    return wording.colors.get(digits) or _names().get(digits, color)


@lru_cache(maxsize=1)
def _digits() -> dict[str, str]:
    """#rrggbb by the names of CSS."""
    from PIL import ImageColor

    return {name: value for name, value in ImageColor.colormap.items() if isinstance(value, str)}


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {digits: name for name, digits in sorted(_digits().items(), reverse=True)}


def plural(kind: str, wording: Wording) -> str:
    """Of a noun phrase: "through hole" → "through holes", "piece of text" → "pieces of text"."""
    head, of, rest = kind.partition(" of ")
    before, space, noun = head.rpartition(" ")
    if noun in wording.plurals:
        many = wording.plurals[noun]
    elif re.search(r"(?:s|x|z|ch|sh)$", noun):
        many = f"{noun}es"
    elif re.search(r"[^aeiou]y$", noun):
        many = f"{noun[:-1]}ies"
    else:
        many = f"{noun}s"
    return f"{before}{space}{many}{of}{rest}"


def some(phrase: str, wording: Wording) -> str:
    """With its indefinite article."""
    word = re.split(r"[\s“]", phrase.casefold(), maxsplit=1)[0]
    vowel = word[:1] in "aeiou" if word not in wording.an and word not in wording.a else word in wording.an
    return f"{'an' if vowel else 'a'} {phrase}"


def begun(phrase: str) -> str:
    """With its indefinite article, as a sentence begins: "An intersection"."""
    words = some(phrase, load_wording())
    return words[:1].upper() + words[1:]


def number(value: float) -> str:
    """In decimal notation, to at most three decimals."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def measure(key: str) -> tuple[str, str]:
    """What is measured and its unit, from a key of `sizes`: "bore diameter mm" → ("bore diameter", "mm").

    Things in the plural are counted: "carbon atoms" → ("number of carbon atoms", "").
    """
    words, _, unit = key.rpartition(" ")
    if words and _UNIT.fullmatch(unit):
        return words, unit
    return (f"number of {key}" if _COUNTED.fullmatch(key) else key), ""


def known(key: str, facts: Facts, *, read: bool, shown: bool) -> bool:
    """Whether a size can be told: pixels by a picture, what is written in it too, all else by the code."""
    if key in _OF_PICTURES:
        return False  # said of every picture in another way
    if key in facts.legible or measure(key)[1] == "px":
        return shown
    return read


def quantity(value: float, unit: str) -> str:
    return number(value) if not unit else f"{number(value)}{'' if unit in ('°', '%') else ' '}{unit}"


def listed(things: Sequence[str]) -> str:
    """With commas and an "and"."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"


def inside(box: Box, width: int, height: int) -> bool:
    """Whether a box has an area of some pixels and lies wholly in the picture."""
    left, top, right, bottom = box
    held = left >= 0 and top >= 0 and right <= width and bottom <= height
    return held and min(right - left, bottom - top) >= 2


def place(box: Box, width: int, height: int, wording: Wording) -> str:
    """The third of the picture in which a box has its middle."""
    column = min(2, int(3 * (box[0] + box[2]) / 2 / width))
    row = min(2, int(3 * (box[1] + box[3]) / 2 / height))
    return wording.places[3 * row + column]
