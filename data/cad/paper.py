"""A sheet of paper as SVG text: strokes of drawing's line kinds, arrows, words; lengths in pixels of the sheet."""

import math
from collections.abc import Iterable, Sequence

from trivium.data.cad.strokes import Point

FONT = "DejaVu Sans"
# Width in pixels and dashes of each kind of line, as ISO 128 has them: thick outlines, thin others.
_KINDS: dict[str, tuple[float, str]] = {
    "visible": (1.7, ""),
    "smooth": (0.6, ""),
    "hidden": (0.8, "4.5 2.5"),
    "centre": (0.7, "9 2.5 2 2.5"),
    "dimension": (0.7, ""),
    "frame": (1.2, ""),
}
_ARROW = 7.0  # length
_ORDER = ("smooth", "hidden", "centre", "dimension", "visible", "frame")  # later ones lie on top


class Paper:
    """`ink` maps kinds of lines to colours; what it leaves out is black."""

    def __init__(self, width: int, height: int, color: str, ink: dict[str, str] | None = None) -> None:
        self.width, self.height, self.color = width, height, color
        self._ink = ink or {}
        self._strokes: dict[str, list[str]] = {kind: [] for kind in _ORDER}
        self._words: list[str] = []
        self._arrows: list[str] = []

    def lines(self, kind: str, strokes: Iterable[Sequence[Point]]) -> None:
        """Strokes of one kind; equal ends close a stroke."""
        for stroke in strokes:
            points = [f"{_number(x)} {_number(y)}" for x, y in stroke]
            closed = points[0] == points[-1] and len(points) > 2
            self._strokes[kind].append(f"M{'L'.join(points[:-1] if closed else points)}{'Z' if closed else ''}")

    def arrow(self, tip: Point, toward: Point) -> None:
        """A filled head at `tip` that points the way from `toward` to it."""
        angle = math.atan2(tip[1] - toward[1], tip[0] - toward[0])
        corners = [tip]
        for side in (-1, 1):
            turned = angle + math.pi + side * 0.17
            corners.append((tip[0] + _ARROW * math.cos(turned), tip[1] + _ARROW * math.sin(turned)))
        self._arrows.append("M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in corners) + "Z")

    def words(self, text: str, at: Point, *, size: float = 12, anchor: str = "middle", upright: bool = False) -> None:
        """Text whose baseline is at `at`; `upright` turns it to be read from the right."""
        x, y = _number(at[0]), _number(at[1])
        turn = f' transform="rotate(-90 {x} {y})"' if upright else ""
        shown = text.replace("&", "&amp;").replace("<", "&lt;")
        self._words.append(
            f'<text x="{x}" y="{y}" font-size="{_number(size)}" text-anchor="{anchor}"{turn}>{shown}</text>'
        )

    def svg(self) -> str:
        """The sheet; equal drawings give equal text."""
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}">',
            f'<rect width="{self.width}" height="{self.height}" fill="{self.color}"/>',
            '<g fill="none" stroke-linecap="round" stroke-linejoin="round">',
        ]
        for kind in _ORDER:
            width, dashes = _KINDS[kind]
            dashed = f' stroke-dasharray="{dashes}" stroke-linecap="butt"' if dashes else ""
            color = self._ink.get(kind, "#000000")
            if self._strokes[kind]:
                path = "".join(self._strokes[kind])
                out.append(f'<path stroke="{color}" stroke-width="{width}"{dashed} d="{path}"/>')
        out.append("</g>")
        ink = self._ink.get("dimension", "#000000")
        if self._arrows:
            out.append(f'<path fill="{ink}" d="{"".join(self._arrows)}"/>')
        if self._words:
            out += [f'<g font-family="{FONT}" text-rendering="plain" fill="{ink}">', *self._words, "</g>"]
        return "\n".join([*out, "</svg>\n"])


def _number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
