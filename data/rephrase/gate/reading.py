"""A text with all that the checks compare, each found once and at its first use."""

import re
import unicodedata
from functools import cached_property

from trivium.data.rephrase.gate.config import GateConfig
from trivium.data.rephrase.gate.lexicon import Lexicon, lexicon
from trivium.data.rephrase.gate.likeness import Embed, Likeness, plain
from trivium.data.rephrase.gate.pair import Pair
from trivium.data.rephrase.gate.read.dates import Date, Moment, dates
from trivium.data.rephrase.gate.read.formulas import Formula, formulas
from trivium.data.rephrase.gate.read.literals import Literal, literals
from trivium.data.rephrase.gate.read.names import Name, labels, names
from trivium.data.rephrase.gate.read.numerals import Number, numerals
from trivium.data.rephrase.gate.read.sentences import sentences
from trivium.data.rephrase.gate.read.spans import blank
from trivium.data.rephrase.gate.read.units import Quantity, Unit, quantities, vague

SHOWN = 80  # characters of a stretch that a detail quotes
# `1.`, `2)`, `Step 3:`, `Q1.` at the beginning of a line count lines, not things.
_COUNTER = re.compile(
    r"^[ \t]*(?:[-*#>]+\s*)?(?:\*\*)?(?:(?:step|schritt|étape|etape|paso|passo|question|frage|pregunta|q|a|f|note"
    r"|part|шаг|вопрос|問|问|步骤)\s*)?\(?(\d{1,2})(?:[.):：、]|(?=\s*[–—-]\s))(?!\d)",
    re.MULTILINE | re.IGNORECASE,
)


class Reading:
    """One text of a pair in its language."""

    def __init__(self, text: str, language: str) -> None:
        self.text = unicodedata.normalize("NFC", text)
        self.language = language

    @property
    def lexicon(self) -> Lexicon:
        return lexicon(self.language)

    @cached_property
    def _without_literals(self) -> tuple[list[Literal], str]:
        return literals(self.text)

    @property
    def literals(self) -> list[Literal]:
        return self._without_literals[0]

    @cached_property
    def _without_formulas(self) -> tuple[list[Formula], str]:
        return formulas(self._without_literals[1])

    @property
    def formulas(self) -> list[Formula]:
        return self._without_formulas[0]

    @property
    def prose(self) -> str:
        """The text with blanks for literals and formulas: places are those of the text."""
        return self._without_formulas[1]

    @cached_property
    def _dated(self) -> tuple[list[Date], list[Moment], str]:
        plain = unicodedata.normalize("NFKC", self.prose) if not self.prose.isascii() else self.prose
        if len(plain) != len(self.prose):  # places must stay; full-width digits are what matters here
            plain = "".join(_narrow(character) for character in self.prose)
        return dates(blank(plain, [match.span(1) for match in _COUNTER.finditer(plain)]), self.language)

    @property
    def dates(self) -> list[Date]:
        return self._dated[0]

    @property
    def moments(self) -> list[Moment]:
        return self._dated[1]

    @cached_property
    def numbers(self) -> list[Number]:
        """Without those of dates, literals, formulas and the counters of lists."""
        return numerals(self._dated[2], self.language)

    @cached_property
    def counters(self) -> list[str]:
        """The numbers that count a list's lines."""
        return [match[1] for match in _COUNTER.finditer(self.prose)]

    @cached_property
    def quantities(self) -> list[Quantity]:
        return quantities(self._dated[2], self.numbers, self.language)

    @cached_property
    def vague(self) -> list[tuple[Unit, str]]:
        """Units of amounts without a number, as written."""
        return vague(self._dated[2], self.language)

    @cached_property
    def names(self) -> list[Name]:
        units = [(quantity.start, quantity.stop) for quantity in self.quantities]
        return names(blank(self.prose, units), self.language)

    @cached_property
    def labels(self) -> frozenset[str]:
        """Who speaks, in a dialogue: words before a colon at the beginning of a line."""
        return labels(self.prose)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        return sentences(self.text)

    @cached_property
    def sentences(self) -> list[str]:
        return [self.text[start:stop] for start, stop in self.spans]

    @cached_property
    def lower(self) -> str:
        return self.text.lower()


class Comparison:
    """Both texts of a pair, with how like each sentence of one is to each of the other."""

    def __init__(self, pair: Pair, config: GateConfig, embed: Embed) -> None:
        self.pair = pair
        self.config = config
        self.source = Reading(pair.source, pair.language)
        self.rewrite = Reading(pair.rewrite, pair.target)
        self.scope = config.scope(pair)
        self._embed = embed

    @cached_property
    def vectors(self) -> tuple[Likeness, Likeness]:
        """One unit vector a sentence, of the source and of the rewrite."""
        ours, theirs = ([plain(text) for text in reading.sentences] for reading in (self.source, self.rewrite))
        table = self._embed([*ours, *theirs])
        return table[: len(ours)], table[len(ours) :]

    @cached_property
    def likeness(self) -> Likeness:
        """[sentences of the source, sentences of the rewrite]: cosines of their vectors."""
        ours, theirs = self.vectors
        result: Likeness = ours @ theirs.T
        return result

    def nearness(self, text: str, sentence: int, *, of_source: bool) -> float:
        """The cosine that `text` has with a sentence of the rewrite, where it stands for one of the source, or back."""
        other = self.vectors[1] if of_source else self.vectors[0]
        return float(self._embed([plain(text)])[0] @ other[sentence])

    def partners(self, sentence: int, *, of_source: bool, near: float = 0.04) -> list[int]:
        """Sentences of the other text that are most like one: the best and those nearly as good."""
        row = self.likeness[sentence] if of_source else self.likeness[:, sentence]
        if not len(row):
            return []
        return [i for i in range(len(row)) if row[i] >= row.max() - near]


def _narrow(character: str) -> str:
    narrow = unicodedata.normalize("NFKC", character)
    return narrow if len(narrow) == 1 else character


def shown(text: str) -> str:
    """A stretch as a detail quotes it: one line, not too long."""
    line = " ".join(text.split())
    return f"«{line if len(line) <= SHOWN else line[: SHOWN - 1] + '…'}»"
