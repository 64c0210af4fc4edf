"""Histograms as inline SVG: no script, no plotting library, colours from the page's style sheet.

Odd: bars stand side by side at equal widths whatever their edges, so a scale that grows by a factor needs no other
drawing; a limit is drawn where its value lies between two edges. Heights grow with the square root of the counts: most
scores of most texts are 0, and the few that a limit takes must be seen beside them.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from trivium.pipelines.corpora.report.histogram import Bars
from trivium.pipelines.pages import short

WIDTH, HEIGHT = 400, 190  # units of the drawing, about the pixels of a card on a desk
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 24, 26
TICKS = 4  # labels below, at most one more


@dataclass(frozen=True, slots=True)
class Limits:
    """Values below `low` or above `high` are refused."""

    low: float | None = None
    high: float | None = None

    def outside(self, start: float, stop: float) -> bool:
        """Whether every value of start ≤ v < stop is refused."""
        return (self.low is not None and stop <= self.low) or (self.high is not None and start > self.high)


def histogram(title: str, bars: Bars, styles: Sequence[tuple[str, str]], limits: Limits = Limits()) -> str:
    """The drawing; `styles` are (series, CSS class) from back to front, and bars outside the limits get `out` too."""
    top = max((max(counts) for counts in bars.series.values()), default=0) or 1
    width = (WIDTH - LEFT - RIGHT) / (len(bars.edges) - 1)
    parts = [f'<svg class="hist" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for level in _levels(top):
        y = _y(math.sqrt(level / top))
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(level)}</text>')
    for name, style in styles:
        for at, count in enumerate(bars.series.get(name, ())):
            if count:
                parts.append(
                    _bar(bars, at, count, (LEFT + at * width, width), math.sqrt(count / top), name, style, limits)
                )
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(0):.1f}" y2="{_y(0):.1f}"/>')
    parts += _labels(bars.edges, width)
    parts += [
        _limit(bars.edges, width, value, sign)
        for value, sign in ((limits.low, "≥"), (limits.high, "≤"))
        if value is not None
    ]
    return "".join(parts) + "</svg>"


def _levels(top: int) -> list[int]:
    """The largest count, and a round one about half as high on the page."""
    head = 10 ** math.floor(math.log10(top))
    middle = max((size for step in (0.1, 0.2, 0.5, 1, 2, 5) if (size := int(head * step)) <= top * 0.35), default=0)
    return [middle, top] if middle else [top]


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _bar(
    bars: Bars, at: int, count: int, place: tuple[float, float], share: float, name: str, style: str, limits: Limits
) -> str:
    (x, width), start, stop = place, bars.edges[at], bars.edges[at + 1]
    height = max(share * (HEIGHT - TOP - BOTTOM), 1.0)
    kind = f"{style} out" if limits.outside(start, stop) else style
    title = f"{name}: {count:,} of {short(start)} to {short(stop)}"
    return (
        f'<rect class="{kind}" x="{x + 0.5:.1f}" y="{_y(0) - height:.1f}" width="{max(width - 1, 1):.1f}" '
        f'height="{height:.1f}"><title>{escape(title)}</title></rect>'
    )


def _labels(edges: Sequence[float], width: float) -> list[str]:
    step = -(-(len(edges) - 1) // TICKS)
    y = HEIGHT - BOTTOM + 16
    return [
        f'<text class="tick" x="{LEFT + at * width:.1f}" y="{y}" text-anchor="middle">{short(edges[at])}</text>'
        for at in range(0, len(edges), step)
        if LEFT + at * width < WIDTH - RIGHT - 8
    ]


def _limit(edges: Sequence[float], width: float, value: float, sign: str) -> str:
    """An upright line with its value; nothing when it lies outside of what is drawn."""
    if not edges[0] <= value <= edges[-1]:
        return ""
    at = min(bisect_right(edges, value) - 1, len(edges) - 2)
    x = LEFT + (at + (value - edges[at]) / (edges[at + 1] - edges[at])) * width
    anchor = "end" if x > WIDTH * 0.6 else "start"
    label = f'<text class="limitname" x="{x + (-4 if anchor == "end" else 4):.1f}" y="{TOP - 10}" '
    label += f'text-anchor="{anchor}">{sign} {short(value)}</text>'
    return f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{_y(0):.1f}"/>{label}'
