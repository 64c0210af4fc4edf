"""Line charts as inline SVG text: no plotting library, no script needed to see them, colours from the page's CSS.

Odd: lines are thinned to at most `POINTS` by the mean of equal runs of steps, so a page of a million steps stays small;
a run's extremes may fall between, which is why figures stand in report.json and never in a chart alone.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from trivium.pipelines.pages import short

WIDTH, HEIGHT, TALL = 960, 356, 476  # units of the drawing; a chart of half the page's width is tall
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 46, 34
LETTER = 15.5  # units that a letter takes on a phone, where the page's style draws text at 27 units
POINTS = 480


@dataclass(frozen=True, slots=True)
class Series:
    """One line: `style` is its CSS class (s1 … s8); `marks` draws points as well; `thin` is for raw values; `low` and
    `high` are the edges of an interval around `y`."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    style: str
    marks: bool = False
    thin: bool = False
    dashed: bool = False
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()

    def edge(self, which: str) -> list[tuple[float, float]]:
        """The points of one edge of the interval, thinned like the line; none when it has no interval."""
        values = self.low if which == "low" else self.high
        return thinned(Series(self.name, self.x, values, self.style)) if len(values) else []


@dataclass(frozen=True, slots=True)
class Band:
    """A stage: steps (start, stop] with its name."""

    name: str
    start: float
    stop: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A level drawn across the chart; `style` colours it like a series."""

    name: str
    y: float
    style: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """What one figure shows; `unit` labels the y axis, the x axis is the optimizer step."""

    title: str
    note: str
    unit: str
    series: tuple[Series, ...]
    bands: tuple[Band, ...] = ()
    rules: tuple[Rule, ...] = ()
    log: bool = False
    floor: float | None = None  # the axis reaches down to this value
    wide: bool = False  # the whole width of the page
    changes: tuple[float, ...] = ()  # steps from which on another schedule holds

    @property
    def height(self) -> int:
        return HEIGHT if self.wide else TALL

    @property
    def empty(self) -> bool:
        return not any(_finite(value) for line in self.series for value in line.y)

    def svg(self) -> str:
        """The drawing; an empty chart gives an empty string."""
        if self.empty:
            return ""
        frame = _Frame.around(self)
        parts = [
            f'<svg class="chart" viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{escape(self.title)}">'
        ]
        parts += [frame.band(band, index) for index, band in enumerate(self.bands)]
        parts += frame.axes(self.unit)
        parts += [frame.change(step) for step in self.changes if frame.x0 <= step <= frame.x1]
        parts += [frame.spread(line) for line in self.series]
        parts += [frame.rule(rule) for rule in self.rules]
        parts += [frame.line(line) for line in self.series]
        parts += [frame.rule_name(rule, at) for at, rule in enumerate(self.rules)]
        parts.append('<line class="cross" y1="0" y2="0" x1="0" x2="0"/></svg>')
        return "".join(parts)

    def data(self) -> dict[str, object]:
        """What the page's hover reads: the frame in viewBox units and the drawn points."""
        if self.empty:
            return {}
        frame = _Frame.around(self)
        return {
            "x0": frame.x0,
            "x1": frame.x1,
            "left": LEFT,
            "right": WIDTH - RIGHT,
            "top": TOP,
            "bottom": self.height - BOTTOM,
            "series": [
                {"name": line.name, "style": line.style, "points": [_rounded(*point) for point in thinned(line)]}
                | {which: [_rounded(*point) for point in line.edge(which)] for which in ("low", "high") if line.low}
                for line in self.series
                if not line.thin
            ],
        }


@dataclass(frozen=True, slots=True)
class _Frame:
    x0: float
    x1: float
    y0: float
    y1: float
    log: bool
    bottom: float

    @classmethod
    def around(cls, chart: Chart) -> "_Frame":
        xs = [x for line in chart.series for x, y in zip(line.x, line.y, strict=True) if _finite(y)]
        ys = [y for line in chart.series for _, y in thinned(line) if not chart.log or y > 0]
        ys += [y for line in chart.series for which in ("low", "high") for _, y in line.edge(which)]
        ys += [rule.y for rule in chart.rules]
        xs += [edge for band in chart.bands for edge in (band.start, band.stop)]
        low, high = min(ys, default=0.0), max(ys, default=1.0)
        if chart.floor is not None:
            low = min(low, chart.floor)
        if chart.log:
            low, high = max(low, 1e-12), max(high, 1e-12)
            low, high = low / 1.15, high * 1.15
        else:
            room = (high - low or abs(high) or 1.0) * 0.06
            low, high = (low if chart.floor is not None and low == chart.floor else low - room), high + room
        return cls(min(xs), max(max(xs), min(xs) + 1), low, high, chart.log, chart.height - BOTTOM)

    def px(self, x: float) -> float:
        return LEFT + (x - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT)

    def py(self, y: float) -> float:
        if self.log:
            y = max(y, self.y0)
            share = math.log(y / self.y0) / math.log(self.y1 / self.y0)
        else:
            share = (y - self.y0) / (self.y1 - self.y0)
        return self.bottom - share * (self.bottom - TOP)

    def axes(self, unit: str) -> list[str]:
        parts = []
        for y in log_ticks(self.y0, self.y1) if self.log else ticks(self.y0, self.y1, 5):
            at = self.py(y)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
            parts.append(f'<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{short(y)}</text>')
        last = WIDTH - RIGHT - 6 * LETTER  # the axis' name stands behind it
        for x in ticks(self.x0, self.x1, 8):
            at = self.px(x)
            if x == int(x) and at + LETTER / 2 * len(short(x)) < last:
                parts.append(
                    f'<text class="tick below" x="{at:.1f}" y="{self.bottom + 8:.1f}" text-anchor="middle">'
                    f"{short(x)}</text>"
                )
        bottom = f"{self.bottom:.1f}"
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
        parts.append(f'<text class="unit" x="{LEFT - 8}" y="22" text-anchor="end">{escape(unit)}</text>')
        parts.append(
            f'<text class="unit below" x="{WIDTH - RIGHT}" y="{self.bottom + 8:.1f}" text-anchor="end">step →</text>'
        )
        return parts

    def band(self, band: Band, index: int) -> str:
        left, right = self.px(max(band.start, self.x0)), self.px(min(band.stop, self.x1))
        shade = f'<rect class="band{index % 2}" x="{left:.1f}" y="{TOP}" width="{max(0.0, right - left):.1f}" '
        shade += f'height="{self.bottom - TOP:.1f}"/>'
        edge = ""
        if index:
            edge = f'<line class="edge" x1="{left:.1f}" x2="{left:.1f}" y1="{TOP - 8}" y2="{self.bottom:.1f}"/>'
        crowded = "" if right - left > 6 + LETTER * len(band.name) else " crowded"
        name = f'<text class="stage{crowded}" x="{left + 5:.1f}" y="{TOP - 9}">{escape(band.name)}</text>'
        return shade + edge + (name if right - left > 6 + 12 * len(band.name) else "")

    def change(self, step: float) -> str:
        at = f"{self.px(step):.1f}"
        return (
            f'<line class="change" x1="{at}" x2="{at}" y1="{TOP}" y2="{self.bottom:.1f}">'
            f"<title>schedule changed after step {short(step)}</title></line>"
        )

    def rule(self, rule: Rule) -> str:
        at, kind = self.py(rule.y), f" {rule.style}" if rule.style else ""
        return f'<line class="rule{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'

    def rule_name(self, rule: Rule, number: int) -> str:
        """Names stand at the right and at the left in turn, so that two close levels can both be read."""
        x, anchor = (WIDTH - RIGHT - 4, "end") if number % 2 == 0 else (LEFT + 6, "start")
        return (
            f'<text class="rulename" x="{x}" y="{self.py(rule.y) - 6:.1f}" text-anchor="{anchor}">'
            f"{escape(rule.name)} {short(rule.y)}</text>"
        )

    def spread(self, line: Series) -> str:
        low, high = line.edge("low"), line.edge("high")
        if not low:
            return ""
        ring = [(self.px(x), self.py(y)) for x, y in (*high, *reversed(low))]
        if len(low) == 1:  # one interval is a whisker
            (x, top), (_, bottom) = ring
            return f'<line class="whisker {line.style}" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in ring)
        return f'<polygon class="spread {line.style}" points="{points}"/>'

    def line(self, line: Series) -> str:
        """Missing values (a step without pictures) are passed over: the line goes on to the next value."""
        places = [(self.px(x), self.py(y)) for x, y in thinned(line)]
        kind = f"{line.style}{' thin' if line.thin else ''}{' dashed' if line.dashed else ''}"
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn = f'<polyline class="line {kind}" points="{points}"/>' if len(places) > 1 else ""
        if line.marks or len(places) == 1:
            for x, y in places:
                drawn += f'<circle class="dot {line.style}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
        return drawn


def thinned(line: Series) -> list[tuple[float, float]]:
    """At most POINTS points, each the mean of an equal run of steps; runs without a value are left out."""
    size = max(1, -(-len(line.x) // POINTS))
    points: list[tuple[float, float]] = []
    for start in range(0, len(line.x), size):
        run = zip(line.x[start : start + size], line.y[start : start + size], strict=True)
        values = [(x, y) for x, y in run if y is not None and _finite(y)]
        if values:
            points.append((sum(x for x, _ in values) / len(values), sum(y for _, y in values) / len(values)))
    return points


def smoothed(values: Sequence[float | None], width: int = 10) -> list[float | None]:
    """Mean of the last `width` values there are; missing values stay missing and are passed over."""
    last: deque[float] = deque(maxlen=width)
    means: list[float | None] = []
    for value in values:
        if value is None or not _finite(value):
            means.append(None)
            continue
        last.append(value)
        means.append(sum(last) / len(last))
    return means


def ticks(low: float, high: float, wanted: int) -> list[float]:
    """About `wanted` round values inside [low, high]."""
    if not high > low:
        return [low]
    raw = (high - low) / wanted
    power = 10 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - raw))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 of each decade inside [low, high]; decades alone when there are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    heads = (1, 2, 5) if len(decades) <= 4 else (1,)
    return [head * 10.0**decade for decade in decades for head in heads if low <= head * 10.0**decade <= high]


def _rounded(x: float, y: float) -> list[float]:
    return [x, float(f"{y:.5g}")]


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
