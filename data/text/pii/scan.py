"""Where in a text numbers of some length stand, found in the array of its characters.

Odd: the finders' patterns run only inside these windows. A pattern that begins with a digit class looks at every
character of the prose between; an array comparison does that at memory speed. And the patterns begin with their first
character, what must not stand before it behind that: so the engine looks for the character first (ten times as fast).
"""

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]
Windows = list[tuple[int, int]]

_MARGIN = 48  # characters around a window: no pattern of the finders is longer on either side
# What windows can't do without; a pattern that begins with one character is looked for at memory speed.
_TWO_DOTS = re.compile(r"\.(?<=[0-9]\.)(?=[0-9].{0,6}\.[0-9])", re.S)
_TWO_COLONS = re.compile(r":[^:]{0,4}:")
_ZERO, _DOT, _COLON, _TEN = (np.uint8(value) for value in b"0.:\n")


class Scan:
    """A text and its windows, each kind computed once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _codes(self) -> npt.NDArray[np.uint8]:
        """A byte a character; those beyond Latin-1 are question marks, which nothing here looks for."""
        return np.frombuffer(self.text.encode("latin-1", "replace"), dtype=np.uint8)

    @cached_property
    def _digit(self) -> npt.NDArray[np.bool_]:
        return self._codes - _ZERO < _TEN  # below "0" the subtraction wraps around

    @cached_property
    def _digits(self) -> Places:
        return self._digit.nonzero()[0]

    @cached_property
    def numbers(self) -> Windows:
        """Where seven digits stand within 25 characters: telephone numbers, accounts."""
        return self._dense(self._digits, 7, 25)

    @cached_property
    def cards(self) -> Windows:
        """Where fourteen digits stand within 19 characters: payment cards."""
        return self._dense(self._digits, 14, 19)

    @cached_property
    def dotted(self) -> Windows:
        """Where three dots between digits stand within nine characters: IP addresses, v4."""
        if not _TWO_DOTS.search(self.text):
            return []
        between = (self._codes[1:-1] == _DOT) & self._digit[:-2] & self._digit[2:]
        return self._dense(between.nonzero()[0] + 1, 3, 9)

    @cached_property
    def colons(self) -> Windows:
        """Where two colons stand within six characters: IP addresses, v6 (and times)."""
        if not _TWO_COLONS.search(self.text):
            return []
        return self._dense((self._codes == _COLON).nonzero()[0], 2, 6)

    def _dense(self, places: Places, count: int, within: int) -> Windows:
        """Windows around `count` places that lie within so many characters; those that meet are joined."""
        if len(places) < count:
            return []
        last = places[count - 1 :]
        chosen = (last - places[: len(last)] < within).nonzero()[0]
        if not len(chosen):
            return []
        starts = np.maximum(places[chosen] - _MARGIN, 0)
        stops = np.minimum(last[chosen] + _MARGIN, len(self.text))
        apart = (starts[1:] > stops[:-1]).nonzero()[0]
        first, final = np.concatenate(([0], apart + 1)), np.concatenate((apart, [len(stops) - 1]))
        return list(zip(starts[first].tolist(), stops[final].tolist(), strict=True))

    def each(self, pattern: re.Pattern[str], windows: Windows) -> Iterator[re.Match[str]]:
        """The pattern's matches inside the windows; look-behinds see the text before one."""
        for start, stop in windows:
            yield from pattern.finditer(self.text, start, stop)
