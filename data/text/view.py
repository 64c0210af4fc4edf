"""One text with what several rules look at: its words, lines and paragraphs, each found once.

Odd: a word is a run between blanks, as the published thresholds count them; where a script writes no blanks (Han, kana,
Thai, Khmer …) each of its characters is a word of its own, since no dictionary is at hand that all machines share.
Characters are looked up in one table of kinds, and words are found in the array of kinds, which is much quicker than to
ask each word.
"""

from collections import defaultdict
from functools import cache, cached_property
from itertools import count

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]

_SYMBOL, _DIGIT, _LETTER, _ALONE = 1, 2, 4, 8  # 0 is a blank; _ALONE marks characters that are words of their own
_KNOWN = 0x30000  # code points beyond hold no letters yet but rare Han
# Scripts written without blanks: Thai, Lao, Tibetan, Myanmar, Khmer, kana, Han and its extensions.
_UNSPACED = (
    (0x0E01, 0x0F00), (0x0F00, 0x1000), (0x1000, 0x10A0), (0x1780, 0x1800), (0x3041, 0x3100), (0x31F0, 0x3200),
    (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x30000),
)  # fmt: skip


@cache
def _table() -> Kinds:
    """The kind of each code point; letters and digits as `str.isalpha` and `str.isalnum` have them."""
    kinds = np.full(_KNOWN + 1, _SYMBOL, dtype=np.uint8)
    for code in range(_KNOWN):
        character = chr(code)
        if character.isalpha():
            kinds[code] |= _LETTER
        elif character.isalnum():
            kinds[code] |= _DIGIT
        elif character.isspace():
            kinds[code] = 0
    for first, last in _UNSPACED:
        kinds[first:last] |= _ALONE
    return kinds


class View:
    """What rules see of a text; everything is computed at its first use."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _kinds(self) -> Kinds:
        """The kind of each character."""
        if self.text.isascii():
            return _table()[np.frombuffer(self.text.encode("ascii"), dtype=np.uint8)]
        codes = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return _table()[np.minimum(codes, _KNOWN)]

    @cached_property
    def _edges(self) -> tuple[Numbers, Numbers]:
        """Where words begin, and where they have ended."""
        parted = np.ones(len(self._kinds) + 1, dtype=bool)  # whether a word may begin or must have ended here
        parted[1:-1] = (self._kinds[:-1] == 0) | ((self._kinds[:-1] | self._kinds[1:]) & _ALONE > 0)
        starts = np.flatnonzero(parted[:-1] & (self._kinds > 0))
        parted[1:-1] |= self._kinds[1:] == 0
        return starts, np.flatnonzero(parted[1:] & (self._kinds > 0)) + 1

    @cached_property
    def words(self) -> list[str]:
        """Runs between blanks; single characters where the script has no blanks."""
        found = self.text.split()
        starts, stops = self._edges
        if len(found) == len(starts):
            return found
        return [self.text[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]

    @cached_property
    def lengths(self) -> Numbers:
        """Characters of each word."""
        starts, stops = self._edges
        return stops - starts

    @cached_property
    def _holds(self) -> Kinds:
        """The kinds of characters that each word holds."""
        return np.bitwise_or.reduceat(self._kinds, self._edges[0]) if len(self._edges[0]) else self._kinds[:0]

    @cached_property
    def with_letters(self) -> int:
        """How many words hold a letter."""
        return int(np.count_nonzero(self._holds & _LETTER))

    @cached_property
    def alone(self) -> int:
        """How many words are single characters of a script without blanks."""
        return int(np.count_nonzero(self._holds & _ALONE))

    @cached_property
    def content(self) -> tuple[int, int]:
        """Words that are more than symbols, and their characters."""
        chosen = self._holds & (_LETTER | _DIGIT) > 0
        return int(chosen.sum()), int(self.lengths[chosen].sum())

    @cached_property
    def numbered(self) -> tuple[dict[str, int], Numbers]:
        """Each distinct word and its number, in order of first use; the words as those numbers."""
        table: defaultdict[str, int] = defaultdict(count().__next__)
        numbers = np.fromiter(map(table.__getitem__, self.words), dtype=np.int64, count=len(self.words))
        table.default_factory = None  # a look-up must not make a word known
        return table, numbers

    @cached_property
    def lines(self) -> list[str]:
        """Lines that hold more than blanks, as they stand."""
        return [line for line in self.text.split("\n") if line and not line.isspace()]

    @cached_property
    def paragraphs(self) -> list[str]:
        """What empty lines part."""
        parts = (part.strip("\n") for part in self.text.strip().split("\n\n"))
        return [part for part in parts if part]

    @cached_property
    def repeated_lines(self) -> tuple[int, int]:
        """Lines that stood before, and their characters."""
        return _repeated(self.lines)

    @cached_property
    def repeated_paragraphs(self) -> tuple[int, int]:
        """Paragraphs that stood before, and their characters."""
        return _repeated(self.paragraphs)


def _repeated(parts: list[str]) -> tuple[int, int]:
    if len(set(parts)) == len(parts):
        return 0, 0
    seen: set[str] = set()
    repeats = characters = 0
    for part in parts:
        if part in seen:
            repeats += 1
            characters += len(part)
        seen.add(part)
    return repeats, characters
