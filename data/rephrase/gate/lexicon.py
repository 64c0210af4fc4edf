"""Closed word lists by language: numerals, denials, opposites, words around names. Open ones (months, units,
currencies, places, names of languages) are Unicode's CLDR, read through Babel.
"""

import re
from fractions import Fraction
from functools import cache
from importlib import resources

import msgspec
import yaml


class Opposites(msgspec.Struct, frozen=True):
    """Two groups of words; pairs of equal `name` mean the same in all languages."""

    name: str
    one: tuple[str, ...]
    two: tuple[str, ...]

    @property
    def denied(self) -> bool:
        """Whether a denial turns one into the other: what is not left is not right."""
        return self.name not in ("side", "north", "east", "parity")


class Lexicon(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one language; a word in lower case, several words joined by blanks.

    `glue` joins parts of a numeral, `compound` says that numerals are written as one word, `tens_last` that units come
    before tens. `not_names` are written with a capital letter and are no names.
    """

    language: str = ""
    numerals: dict[str, int] = {}
    scales: dict[str, int] = {}
    glue: tuple[str, ...] = ()
    compound: bool = False
    tens_last: bool = False
    ordinals: dict[str, int] = {}
    ordinal_ends: tuple[str, ...] = ()
    fractions: dict[str, Fraction] = {}
    multiples: dict[str, int] = {}
    denials: tuple[str, ...] = ()
    denying: tuple[str, ...] = ()  # words that deny without a particle: impossible, fails, lacks
    idioms: tuple[str, ...] = ()  # hold a denial and deny nothing: not only, nothing but
    limits: tuple[str, ...] = ()  # the same as patterns: not … until, ne … que
    prefixes: tuple[str, ...] = ()  # that turn a word into its opposite
    opposites: tuple[Opposites, ...] = ()
    nouns_capital: bool = False
    not_names: tuple[str, ...] = ()
    articles: tuple[str, ...] = ()
    chatter: tuple[str, ...] = ()


EMPTY = Lexicon()
UNSPACED = frozenset({"zh", "ja"})  # scripts without blanks between words


@cache
def lexicon(language: str) -> Lexicon:
    """The words of a language by its ISO 639 code; none for a language without a list."""
    file = resources.files(__package__).joinpath("words", f"{language}.yaml")
    if not (language.isalpha() and file.is_file()):
        return EMPTY
    raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    raw["language"] = language
    for key in ("denials", "denying", "idioms", "not_names", "chatter"):
        raw[key] = [part.strip() for part in raw.get(key, "").split(",") if part.strip()]
    for key in ("glue", "ordinal_ends", "articles", "prefixes"):
        raw[key] = raw.get(key, "").split()
    raw["opposites"] = [_opposites(line) for line in raw.get("opposites", [])]
    raw["fractions"] = {word: Fraction(value) for word, value in raw.get("fractions", {}).items()}
    return msgspec.convert(raw, Lexicon)


@cache
def any_of(words: tuple[str, ...], language: str) -> re.Pattern[str]:
    """Whole words of a list, longest first; anywhere in scripts that part no words."""
    known = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))
    return re.compile(known) if language in UNSPACED else re.compile(rf"(?<!\w)(?:{known})(?!\w)")


def _opposites(line: str) -> dict[str, object]:
    """`name: words | words`, the name optional."""
    name, _, groups = line.rpartition(": ")
    one, two = ([word.strip() for word in side.split(",")] for side in groups.split("|"))
    return {"name": name, "one": one, "two": two}
