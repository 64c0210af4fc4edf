"""Numbers with their units, as amounts in one measure a dimension, so that `5 km` and `5000 metres` are equal.

Symbols and sizes stand in `words/units.yaml`; the words of each language are CLDR's, through Babel.
"""

import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import NamedTuple

import yaml

from trivium.data.rephrase.gate.read.numerals import Number

_RANGE = re.compile(r"\s?(?:[-–—~〜至到]|to|and|or|bis|und|oder|à|et|ou|a|y|o|и|до|から|と)\s?", re.IGNORECASE)
_VAGUE = re.compile(
    r"\b(?:a few|few|several|some|many|einige|wenige|mehrere|quelques|plusieurs|unos|unas|varios|varias|несколько)\b"
    r"|几|数",
    re.IGNORECASE,
)
_BRITISH = re.compile(r"(me|li)ter")
_BEFORE = re.compile(r"(US\$|[$€£¥₽]|USD|EUR|GBP|CHF|RMB)\s?$")
_AFTER = re.compile(r"[\s\u00a0\u202f]?[-‑]?\s?(?:of an? |d['’]|de )?")


class Unit(NamedTuple):
    """`size` in the dimension's measure; a temperature has a scale of C, F or K instead."""

    dimension: str
    size: Fraction
    scale: str = ""


class Quantity(NamedTuple):
    """A number and its unit; `stop` is behind the unit."""

    number: Number
    unit: Unit
    written: str
    start: int
    stop: int

    def amounts(self) -> frozenset[Fraction]:
        return frozenset(_amount(reading, self.unit) for reading in self.number.readings)

    def equals(self, other: "Quantity") -> bool:
        """The same amount of the same dimension; a thousandth apart where it was converted."""
        if self.unit.dimension != other.unit.dimension:
            return False
        if self.unit == other.unit:
            return self.number.meets(other.number)
        return any(abs(a - b) * 1000 <= max(abs(a), abs(b)) for a in self.amounts() for b in other.amounts())


def _amount(value: Fraction, unit: Unit) -> Fraction:
    if unit.scale == "C":
        return value + Fraction("273.15")
    if unit.scale == "F":
        return (value - 32) * Fraction(5, 9) + Fraction("273.15")
    return value * unit.size


@cache
def _units(language: str) -> tuple[dict[str, Unit], dict[str, Unit], re.Pattern[str]]:
    """Symbols as they are written, words in lower case, and the pattern of all of them behind a number."""
    from babel import Locale, UnknownLocaleError

    raw = yaml.safe_load(resources.files(__package__).joinpath("../words/units.yaml").read_text(encoding="utf-8"))
    locales = []
    for code in dict.fromkeys((language, "en")):
        try:
            locales.append(Locale.parse(code))
        except (UnknownLocaleError, ValueError):
            continue
    symbols: dict[str, Unit] = {}
    words: dict[str, Unit] = {}
    for dimension, size, cldr, *written in raw:
        unit = Unit(dimension, Fraction(1), size) if size in ("C", "F", "K") else Unit(dimension, Fraction(str(size)))
        for form in written:
            (symbols if len(form) < 4 or not form.isalpha() else words).setdefault(
                form if len(form) < 4 or not form.isalpha() else form.lower(), unit
            )
        for locale in locales:
            for form in _words(locale, cldr):
                words.setdefault(form.lower(), unit)
                words.setdefault(_BRITISH.sub(r"\1tre", form.lower()), unit)
    for form in ("c", "f", "k", "in", "a", "y", "h.", "″", "′", "jour", "d.", "я", "с", "ч", "г", "в", "o", "and"):
        words.pop(form, None)
    known = sorted({*words, *symbols}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, known)), re.IGNORECASE)
    return symbols, words, pattern


def _words(locale: object, cldr: str) -> list[str]:
    """What CLDR puts behind a number for one unit or currency, long and short."""
    if len(cldr) == 3:
        names = locale._data.get("currency_names_plural", {}).get(cldr, {})  # type: ignore[attr-defined]
        return [str(name) for name in dict(names).values()]
    patterns = locale._data.get("unit_patterns", {}).get(cldr, {}) if cldr else {}  # type: ignore[attr-defined]
    found = []
    for width in ("long", "short"):
        for count, form in dict(patterns.get(width, {})).items():
            if count in ("zero", "one", "two", "few", "many", "other") and "{0}" in form:
                word = form.replace("{0}", "").replace("\u00a0", " ").strip()
                if word:
                    found.append(word)
    return found


def quantities(text: str, numbers: Sequence[Number], language: str) -> list[Quantity]:
    """The numbers of a text that have a unit, in its order; the first of `10 to 20 km` has that of the second."""
    found: list[Quantity] = []
    plain = [number for number in numbers if number.sort not in ("part", "roman", "multiple")]
    for number in plain:
        unit = _behind(text, number.stop, language) or _ahead(text, number.start, language)
        if unit:
            found.append(Quantity(number, unit[0], unit[1], number.start, max(number.stop, unit[2])))
    having = {quantity.number.start: quantity for quantity in found}
    for one, two in itertools.pairwise(plain):
        other = having.get(two.start)
        if other and one.start not in having and _RANGE.fullmatch(text[one.stop : two.start]):
            found.append(Quantity(one, other.unit, other.written, one.start, other.stop))
    return sorted(found, key=lambda quantity: quantity.start)


def vague(text: str, language: str) -> list[tuple[Unit, str]]:
    """The units of amounts without a number: `several kilometres`."""
    found = []
    for match in _VAGUE.finditer(text):
        unit = _behind(text, match.end(), language)
        if unit:
            found.append((unit[0], text[match.start() : unit[2]]))
    return found


def _behind(text: str, stop: int, language: str) -> tuple[Unit, str, int] | None:
    symbols, words, pattern = _units(language)
    gap = _AFTER.match(text, stop)
    for place in dict.fromkeys((gap.end() if gap else stop, stop)):
        match = pattern.match(text, place)
        while match:
            form, end = match[0], match.end()
            unit = symbols.get(form) or words.get(form.lower())
            following = text[end : end + 1]
            letter = following.isalpha() and form[-1].isascii() and form[-1].isalnum() and following.isascii()
            letter = letter or (
                following.isalpha() and not _han(form[-1]) and form[-1].isalpha() and not _han(following)
            )
            if unit and not letter and not following.isdigit():
                return unit, form, end
            match = pattern.match(text, place, end - 1) if end - 1 > place else None
    return None


def _ahead(text: str, start: int, language: str) -> tuple[Unit, str, int] | None:
    match = _BEFORE.search(text[max(0, start - 5) : start])
    if not match:
        return None
    return _units(language)[0][match[1]], match[1], start


def _han(character: str) -> bool:
    return "\u3040" <= character <= "\u30ff" or "\u4e00" <= character <= "\u9fff"
