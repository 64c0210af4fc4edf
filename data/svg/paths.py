"""Canonical path data: one letter a segment, numbers on a grid, no drift.

Odd: a relative segment's numbers are the difference of *rounded* end points, so a thousand relative segments end where
the original ends. Letters stay as the author wrote them, absolute or relative.
"""

import re

from trivium.data.svg.policy import SvgRefusedError
from trivium.data.svg.quantities import NUMBER, SEPARATOR, number, show

_COMMAND = re.compile(r"[MmLlHhVvCcSsQqTtAaZz]")
_COUNT = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}
_FLAG = re.compile(r"[01]")


def canonical(data: str, decimals: int) -> tuple[str, int]:
    """Path data rounded to `decimals`, and its number of segments. Raises SvgRefusedError (`bad_path`)."""
    pen = _Pen(decimals)
    at = SEPARATOR.match(data).end()  # type: ignore[union-attr]
    letter = ""
    while at < len(data):
        match = _COMMAND.match(data, at)
        if match is not None:
            letter, at = match[0], match.end()
        elif letter in ("", "Z", "z"):
            raise SvgRefusedError("bad_path", f"no command before {data[at : at + 20]!r}")
        else:
            letter = {"M": "L", "m": "l"}.get(letter, letter)
        if not pen.segments and letter not in "Mm":
            raise SvgRefusedError("bad_path", f"begins with {letter}, not with a move")
        values, at = _arguments(data, at, letter.upper())
        pen.add(letter, values)
    return "".join(pen.out), pen.segments


def _arguments(data: str, at: int, letter: str) -> tuple[list[float], int]:
    values: list[float] = []
    for index in range(_COUNT[letter]):
        at = SEPARATOR.match(data, at).end()  # type: ignore[union-attr]
        pattern = _FLAG if letter == "A" and index in (3, 4) else NUMBER
        match = pattern.match(data, at)
        if match is None:
            raise SvgRefusedError("bad_path", f"{letter} lacks a number at {data[at : at + 20]!r}")
        values.append(number(match[0]))
        at = match.end()
    return values, SEPARATOR.match(data, at).end()  # type: ignore[union-attr]


class _Pen:
    """Follows the exact point and the rounded one (in grid steps) along the path."""

    def __init__(self, decimals: int) -> None:
        self.out: list[str] = []
        self.segments = 0
        self._decimals = decimals
        self._grid = 10**decimals
        self._exact = [0.0, 0.0]
        self._snapped = [0, 0]
        self._start = ([0.0, 0.0], [0, 0])

    def add(self, letter: str, values: list[float]) -> None:
        kind, relative = letter.upper(), letter.islower()
        self.segments += 1
        if kind == "Z":
            self._exact, self._snapped = list(self._start[0]), list(self._start[1])
            self.out.append(letter)
            return
        head: list[str] = []
        if kind == "A":
            head = [show(abs(v), self._decimals) for v in values[:2]]
            head += [show(values[2], 3), str(int(values[3])), str(int(values[4]))]
            values = values[5:]
        axes = [1] if kind == "V" else [0] if kind == "H" else [0, 1] * (len(values) // 2)
        texts, exact, snapped = [], list(self._exact), list(self._snapped)
        for axis, value in zip(axes, values, strict=True):
            point = self._exact[axis] + value if relative else value
            steps = round(point * self._grid)
            texts.append(show((steps - self._snapped[axis] if relative else steps) / self._grid, self._decimals))
            exact[axis], snapped[axis] = point, steps
        self._exact, self._snapped = exact, snapped
        if kind == "M":
            self._start = (list(exact), list(snapped))
        self.out.append(letter + " ".join(head + texts))
