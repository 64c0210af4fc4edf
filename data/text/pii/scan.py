"""Where in a text numbers of some length stand, found in the array of its characters.

Odd: the finders' patterns run only inside these windows. A pattern that begins with a digit class looks at every
character of the prose between; an array comparison does that at memory speed.
"""

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]
Windows = list[tuple[int, int]]

_MARGIN = 48  # characters around a window: no pattern of the finders is longer on either side
_ZERO, _DOT, _COLON = ord("0"), ord("."), ord(":")


class Scan:
    """A text and its windows, each kind computed once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _codes(self) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint32]:
        if self.text.isascii():
            return np.frombuffer(self.text.encode("ascii"), dtype=np.uint8)
        return np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)

    @cached_property
    def _digit(self) -> npt.NDArray[np.bool_]:
        return self._codes - self._codes.dtype.type(_ZERO) < 10  # below "0" the subtraction wraps around

    @cached_property
    def numbers(self) -> Windows:
        """Where seven digits stand within 25 characters: telephone numbers, accounts, cards."""
        return self._dense(np.flatnonzero(self._digit), 7, 25)

    @cached_property
    def dotted(self) -> Windows:
        """Where three dots between digits stand within nine characters: IP addresses, v4."""
        between = (self._codes[1:-1] == _DOT) & self._digit[:-2] & self._digit[2:]
        return self._dense(np.flatnonzero(between) + 1, 3, 9)

    @cached_property
    def colons(self) -> Windows:
        """Where two colons stand within six characters: IP addresses, v6 (and times)."""
        return self._dense(np.flatnonzero(self._codes == _COLON), 2, 6)

    def _dense(self, places: Places, count: int, within: int) -> Windows:
        """Windows around `count` places that lie within so many characters; those that meet are joined."""
        if len(places) < count:
            return []
        last = places[count - 1 :]
        chosen = last - places[: len(last)] < within
        starts = np.maximum(places[: len(last)][chosen] - _MARGIN, 0)
        stops = np.minimum(last[chosen] + _MARGIN, len(self.text))
        if not len(starts):
            return []
        apart = np.flatnonzero(starts[1:] > stops[:-1])
        first, final = np.concatenate(([0], apart + 1)), np.concatenate((apart, [len(stops) - 1]))
        return list(zip(starts[first].tolist(), stops[final].tolist(), strict=True))

    def each(self, pattern: re.Pattern[str], windows: Windows) -> Iterator[re.Match[str]]:
        """The pattern's matches inside the windows; look-behinds see the text before one."""
        for start, stop in windows:
            yield from pattern.finditer(self.text, start, stop)
