"""Figures of plane geometry with what can be reckoned from them: triangles, rectangles, circles, regular polygons."""

import math
from dataclasses import dataclass

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

_UNIT = 22.0  # user units a length unit
_TRIPLES = ((3, 4, 5), (6, 8, 10), (5, 12, 13))


@dataclass(frozen=True, slots=True)
class Figure:
    """`kind` with its whole-numbered lengths."""

    kind: str
    lengths: tuple[int, ...]
    color: str
    font: str


def make(dice: Dice) -> Made:
    kind = dice.pick(["right triangle", "rectangle", "circle", "regular polygon"])
    color, font = dice.pick(dice.pick(words.PALETTES)), dice.pick(words.FONTS)
    figure = Figure(kind, _lengths(kind, dice), color, font)
    other = next(made for made in iter(lambda: _lengths(kind, dice), None) if made != figure.lengths)
    edits = [Edit(instruction=_asked(kind, other), code=draw(Figure(kind, other, color, font)).svg)]
    bugs = []
    if kind != "regular polygon":
        svg = draw(figure).svg
        old, new = f">{figure.lengths[0]}<", f">{figure.lengths[0] + dice.between(1, 3)}<"
        bugs.append(Edit(instruction="A length is labelled with a wrong number.", code=svg.replace(old, new, 1)))
    return draw(figure).with_changes(edits, bugs)


def _lengths(kind: str, dice: Dice) -> tuple[int, ...]:
    if kind == "right triangle":
        return dice.pick([*_TRIPLES, *((b, a, c) for a, b, c in _TRIPLES)])
    if kind == "rectangle":
        return dice.between(3, 12), dice.between(2, 8)
    return (dice.between(2, 5),) if kind == "circle" else (dice.between(5, 9), dice.between(3, 5))


def _asked(kind: str, lengths: tuple[int, ...]) -> str:
    if kind == "right triangle":
        return f"Draw it with legs of {lengths[0]} (across) and {lengths[1]} (upright) instead."
    if kind == "rectangle":
        return f"Make the rectangle {lengths[0]} wide and {lengths[1]} high."
    if kind == "circle":
        return f"Draw the circle with a radius of {lengths[0]}."
    return f"Draw a regular polygon of {lengths[0]} corners and a radius of {lengths[1]} instead."


def draw(figure: Figure) -> Made:
    drawn = {"right triangle": _triangle, "rectangle": _rectangle, "circle": _circle, "regular polygon": _regular}
    return drawn[figure.kind](figure)


def _outline(canvas: Canvas, points: list[Point], figure: Figure, name: str) -> None:
    element = canvas.polygon(points, "#f4f4f4", stroke=figure.color, stroke_width=2.5, stroke_linejoin="round")
    canvas.part(Part(kind=name), element)


def _triangle(figure: Figure) -> Made:
    across, upright, long = figure.lengths
    canvas = Canvas(across * _UNIT + 80, upright * _UNIT + 80, font=figure.font)
    left, bottom = 40.0, 40 + upright * _UNIT
    corners = [(left, bottom), (left + across * _UNIT, bottom), (left, 40.0)]
    _outline(canvas, corners, figure, "right triangle")
    canvas.polyline([(left, bottom - 12), (left + 12, bottom - 12), (left + 12, bottom)], figure.color, 1.5)
    canvas.text(left + across * _UNIT / 2, bottom + 18, str(across), 13, "middle")
    canvas.text(left - 8, bottom - upright * _UNIT / 2 + 4, str(upright), 13, "end")
    canvas.text(left + across * _UNIT / 2 + 10, bottom - upright * _UNIT / 2 - 8, str(long), 13)
    for letter, (x, y), (dx, dy) in zip("CBA", corners, ((-14, 14), (8, 14), (-4, -8)), strict=True):
        canvas.text(x + dx, y + dy, letter, 13, font_weight="bold")
    sizes = {"area": across * upright / 2, "perimeter": float(sum(figure.lengths)), "hypotenuse": float(long)}
    return canvas.made("a right triangle with its three lengths", "", sizes, tuple(sizes))


def _rectangle(figure: Figure) -> Made:
    wide, high = figure.lengths
    canvas = Canvas(wide * _UNIT + 80, high * _UNIT + 80, font=figure.font)
    right, bottom = 40 + wide * _UNIT, 40 + high * _UNIT
    name = "square" if wide == high else "rectangle"
    _outline(canvas, [(40, 40), (right, 40), (right, bottom), (40, bottom)], figure, name)
    canvas.text(40 + wide * _UNIT / 2, bottom + 18, str(wide), 13, "middle")
    canvas.text(right + 8, 40 + high * _UNIT / 2 + 4, str(high), 13)
    sizes = {"area": float(wide * high), "perimeter": 2.0 * (wide + high)}
    return canvas.made(f"a {name} with its side lengths", "", sizes, tuple(sizes))


def _circle(figure: Figure) -> Made:
    (radius,) = figure.lengths
    far = radius * _UNIT
    canvas = Canvas(2 * far + 60, 2 * far + 60, font=figure.font)
    middle = far + 30
    ring = canvas.add("circle", cx=middle, cy=middle, r=far, fill="#f4f4f4", stroke=figure.color, stroke_width=2.5)
    canvas.part(Part(kind="circle"), ring)
    canvas.line((middle, middle), (middle + far, middle), figure.color, 2)
    canvas.add("circle", cx=middle, cy=middle, r=3, fill=words.INK)
    canvas.text(middle + far / 2, middle - 6, str(radius), 13, "middle")
    canvas.text(middle - 12, middle + 14, "M", 13, font_weight="bold")
    sizes = {"radius": float(radius), "diameter": 2.0 * radius}
    return canvas.made("a circle with its radius", "", sizes, tuple(sizes))


def _regular(figure: Figure) -> Made:
    corners, radius = figure.lengths
    far = radius * _UNIT
    canvas = Canvas(2 * far + 60, 2 * far + 60, font=figure.font)
    middle = far + 30
    turns = [2 * math.pi * n / corners - math.pi / 2 for n in range(corners)]
    points = [(middle + far * math.cos(turn), middle + far * math.sin(turn)) for turn in turns]
    _outline(canvas, points, figure, "regular polygon")
    for number, turn in enumerate(turns):
        x, y = middle + (far + 14) * math.cos(turn), middle + (far + 14) * math.sin(turn)
        canvas.text(x, y + 4.5, chr(65 + number), 12, "middle")
    sizes = {"corners": float(corners), "sum of the inner angles °": 180.0 * (corners - 2)}
    return canvas.made("a regular polygon with lettered corners", "", sizes, tuple(sizes))
