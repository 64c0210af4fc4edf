"""Charts as SVG inside a page, drawn from numbers that the dice give."""

import math
from collections.abc import Sequence

from trivium.data.web.composer.writer import Sketch, tag, words

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 480, 220, 36, 24


def chart(sketch: Sketch) -> str:
    return sketch.dice.pick((bars, lines, bars, area, stacked))(sketch)


def bars(sketch: Sketch) -> str:
    values = _values(sketch, sketch.dice.between(5, 12))
    top = _top(values)
    step = (_WIDTH - _LEFT) / len(values)
    width = round(step * sketch.dice.pick((0.5, 0.62, 0.75)), 1)
    shapes = []
    for at, value in enumerate(values):
        height = round((_HEIGHT - _BOTTOM - 10) * value / top, 1)
        x = round(_LEFT + step * at + (step - width) / 2, 1)
        y = round(_HEIGHT - _BOTTOM - height, 1)
        shapes.append(tag("rect", "", x=x, y=y, width=width, height=height, rx=3, fill=sketch.theme.accent))
    return _framed(sketch, top, len(values), shapes)


def stacked(sketch: Sketch) -> str:
    count = sketch.dice.between(4, 8)
    rows = [_values(sketch, count) for _ in range(3)]
    top = _top([sum(column) for column in zip(*rows, strict=True)])
    step = (_WIDTH - _LEFT) / count
    shapes = []
    for at in range(count):
        y = float(_HEIGHT - _BOTTOM)
        for row, color in zip(rows, sketch.theme.series, strict=False):
            height = round((_HEIGHT - _BOTTOM - 10) * row[at] / top, 1)
            y = round(y - height, 1)
            x = round(_LEFT + step * at + step * 0.2, 1)
            shapes.append(tag("rect", "", x=x, y=y, width=round(step * 0.6, 1), height=height, fill=color))
    return _framed(sketch, top, count, shapes)


def lines(sketch: Sketch) -> str:
    count = sketch.dice.between(6, 12)
    rows = [_values(sketch, count) for _ in range(sketch.dice.between(1, 3))]
    top = _top([value for row in rows for value in row])
    shapes = []
    for row, color in zip(rows, sketch.theme.series, strict=False):
        points = " ".join(f"{x},{y}" for x, y in _points(row, top))
        shapes.append(tag("polyline", "", points=points, fill="none", stroke=color, stroke_width=2.5))
        shapes += [tag("circle", "", cx=x, cy=y, r=3, fill=color) for x, y in _points(row, top)] if count < 9 else []
    return _framed(sketch, top, count, shapes)


def area(sketch: Sketch) -> str:
    row = _values(sketch, sketch.dice.between(6, 12))
    top = _top(row)
    points = _points(row, top)
    ground = _HEIGHT - _BOTTOM
    shape = f"M{points[0][0]},{ground} " + " ".join(f"L{x},{y}" for x, y in points) + f" L{points[-1][0]},{ground} Z"
    line = " ".join(f"{x},{y}" for x, y in points)
    accent = sketch.theme.accent
    shapes = [
        tag("path", "", d=shape, fill=accent, fill_opacity=0.18),
        tag("polyline", "", points=line, fill="none", stroke=accent, stroke_width=2),
    ]
    return _framed(sketch, top, len(row), shapes)


def donut(sketch: Sketch) -> str:
    """With its legend."""
    names = sketch.dice.sample(("North", "South", "East", "West", "Centre", "Coast"), sketch.dice.between(3, 5))
    values = _values(sketch, len(names))
    whole, at = sum(values), 0.0
    shapes = []
    around = 2 * math.pi * 40
    for value, color in zip(values, sketch.theme.series, strict=False):
        long = around * value / whole
        dashes = f"{long:.1f} {around - long:.1f}"
        shapes.append(
            tag("circle", "", cx=60, cy=60, r=40, fill="none", stroke=color, stroke_width=18,
                stroke_dasharray=dashes, stroke_dashoffset=f"{-at:.1f}", transform="rotate(-90 60 60)")
        )  # fmt: skip
        at += long
    box, key, dot = sketch.name("donut"), sketch.name("donut", "key"), sketch.name("donut", "dot")
    sketch.rule(f".{box}", display="flex", align_items="center", gap=24)
    sketch.rule(f".{box} svg", width=140, height=140, flex="none")
    sketch.rule(f".{key}", list_style="none", margin=0, padding=0, font_size=14, line_height=1.9)
    sketch.rule(f".{dot}", display="inline-block", width=10, height=10, border_radius="50%", margin_right=8)
    items = [
        tag("li", "", tag("span", dot, style=f"background: {color}"), f"{words(name)} {round(100 * value / whole)} %")
        for name, value, color in zip(names, values, sketch.theme.series, strict=False)
    ]
    return tag("div", box, tag("svg", "", *shapes, viewBox="0 0 120 120"), tag("ul", key, *items))


def spark(sketch: Sketch) -> str:
    row = _values(sketch, 10)
    low, high = min(row), max(row)
    points = " ".join(
        f"{at * 12},{round(28 - 24 * (value - low) / max(1, high - low), 1)}" for at, value in enumerate(row)
    )
    line = tag("polyline", "", points=points, fill="none", stroke=sketch.dice.pick(sketch.theme.series), stroke_width=2)
    name = sketch.name("spark")
    sketch.rule(f".{name}", width=108, height=32)
    return tag("svg", name, line, viewBox="0 0 108 32")


def _values(sketch: Sketch, count: int) -> list[int]:
    middle = sketch.dice.between(20, 70)
    return [max(4, middle + sketch.dice.between(-18, 30)) for _ in range(count)]


def _top(values: Sequence[int]) -> int:
    return -(-max(values) // 20) * 20


def _points(row: Sequence[int], top: int) -> list[tuple[float, float]]:
    step = (_WIDTH - _LEFT - 12) / (len(row) - 1)
    high = _HEIGHT - _BOTTOM - 10
    return [
        (round(_LEFT + 6 + step * at, 1), round(_HEIGHT - _BOTTOM - high * value / top, 1))
        for at, value in enumerate(row)
    ]


def _framed(sketch: Sketch, top: int, count: int, shapes: list[str]) -> str:
    theme = sketch.theme
    name = sketch.name("chart")
    sketch.rule(f".{name}", width="100%", height="auto", display="block")
    sketch.rule(f".{name} text", font_size=11, fill=theme.quiet)
    grid = []
    for part in range(5):
        y = round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 10) * part / 4, 1)
        grid.append(tag("line", "", x1=_LEFT, y1=y, x2=_WIDTH, y2=y, stroke=theme.line))
        grid.append(tag("text", "", words(str(top * part // 4)), x=_LEFT - 8, y=y + 4, text_anchor="end"))
    step = (_WIDTH - _LEFT) / count
    names = [
        tag("text", "", MONTHS[at % 12], x=round(_LEFT + step * (at + 0.5), 1), y=_HEIGHT - 6, text_anchor="middle")
        for at in range(count)
    ]
    return tag("svg", name, *grid, *shapes, *names, viewBox=f"0 0 {_WIDTH} {_HEIGHT}")
