"""Simple drawings made by a generator: what they show can only be known from the picture.

Odd: shapes stand in the cells of a grid that falls on the picture's patches (2 cells a side: at 112 px a cell is 56 px,
2 × 2 tokens of a tower with 14 px patches merged 2 by 2), and are written row by row, so the order of the code follows
from the picture too. A small canvas keeps numbers at one digit: fewer tokens a picture.
"""

import hashlib
from typing import Annotated, Literal

from msgspec import Meta

from trivium.data.config import Strict

Shape = Literal["circle", "square", "triangle", "diamond"]
COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "black", "gray")
PAPERS = ("white", "pink", "lightblue", "lightgreen", "beige", "gold", "violet", "khaki")


class DrawingRules(Strict, frozen=True, kw_only=True):
    """The choices that a drawing makes; sizes in user units. A cell is `canvas / cells` wide."""

    canvas: Annotated[int, Meta(ge=4, le=1024)] = 8
    cells: Annotated[int, Meta(ge=2, le=16)] = 2  # a side
    radii: tuple[int, ...] = (1, 2)  # of shapes
    most: Annotated[int, Meta(ge=1, le=4)] = 2  # shapes in a drawing
    colors: tuple[str, ...] = COLORS  # of shapes
    shapes: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")  # what is drawn
    papers: tuple[str, ...] = PAPERS  # "" is no background


class _Dice:
    """Draws from the bits of one hash: the same on every machine and Python."""

    def __init__(self, key: str) -> None:
        self._bits = int.from_bytes(hashlib.sha512(key.encode()).digest(), "big")

    def below(self, count: int) -> int:
        self._bits, value = divmod(self._bits, count)
        return value


def draw(seed: int, index: int, rules: DrawingRules) -> str:
    """Drawing number `index` as SVG text in the sanitiser's canonical form; a pure function of its arguments."""
    dice = _Dice(f"{seed}/{index}")
    side = rules.canvas
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}" viewBox="0 0 {side} {side}">']
    paper = rules.papers[dice.below(len(rules.papers))]
    if paper:
        lines.append(f'<rect width="{side}" height="{side}" fill="{paper}"/>')
    free = list(range(rules.cells**2))
    cells = sorted(free.pop(dice.below(len(free))) for _ in range(1 + dice.below(rules.most)))
    for cell in cells:
        row, column = divmod(cell, rules.cells)
        x, y = ((2 * place + 1) * side // (2 * rules.cells) for place in (column, row))
        shape = rules.shapes[dice.below(len(rules.shapes))]
        radius = rules.radii[dice.below(len(rules.radii))]
        color = rules.colors[dice.below(len(rules.colors))]
        lines.append(_element(shape, x, y, radius, color))
    return "\n".join([*lines, "</svg>"])


def _element(shape: str, x: int, y: int, r: int, color: str) -> str:
    fill = f'fill="{color}"/>'
    if shape == "circle":
        return f'<circle cx="{x}" cy="{y}" r="{r}" {fill}'
    if shape == "square":
        return f'<rect x="{x - r}" y="{y - r}" width="{2 * r}" height="{2 * r}" {fill}'
    points = [(x, y - r), (x + r, y + r), (x - r, y + r)]
    if shape == "diamond":
        points = [(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
    return f'<polygon points="{" ".join(f"{a},{b}" for a, b in points)}" {fill}'
