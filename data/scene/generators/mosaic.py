"""Mosaics: rows and columns of one solid, coloured by a rule, seen from above the corner."""

from collections.abc import Callable

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators.made import BRIGHT, GROUNDS, Made, paint, pov, vector
from trivium.data.scene.text import number

_RULES: dict[str, Callable[[int, int, int], int]] = {
    "checkered": lambda row, column, count: (row + column) % count,
    "striped": lambda row, column, count: row % count,
    "in columns": lambda row, column, count: column % count,
    "in diagonals": lambda row, column, count: (row + 2 * column) % count,
    "in rings": lambda row, column, count: max(abs(2 * row - 4), abs(2 * column - 4)) // 2 % count,
}


def scene(dice: Dice) -> Made:
    rows, columns = dice.between(3, 5), dice.between(3, 6)
    rule = dice.pick(sorted(_RULES))
    count = dice.between(2, 3)
    colors = dice.sample(BRIGHT, count)
    kind = dice.pick(("sphere", "box", "cylinder"))
    names = [f"Tile{index + 1}" for index in range(count)]
    lines = [f"plane {{ y, 0 {paint(dice.pick(GROUNDS))} }}", ""]
    for name, color in zip(names, colors, strict=True):
        lines.append(f"#declare {name} = {_tile(kind, color)}")
    for row in range(rows):
        lines.append("")
        for column in range(columns):
            x, z = column - (columns - 1) / 2, row - (rows - 1) / 2
            name = names[_RULES[rule](row, column, count)]
            lines.append(f"object {{ {name} translate {vector(x, 0, z)} }}")
    far = round(max(rows, columns) * 1.35 + 1, 2)
    plural = {"sphere": "balls", "box": "blocks", "cylinder": "discs"}[kind]
    title = f"Mosaic of {plural}, {rows} by {columns}, {rule}"
    return pov(dice, title, lines, eye=(round(far * 0.35, 2), round(far * 0.8, 2), -far), target=0, angle=42)


def _tile(kind: str, color: str) -> str:
    look = paint(color)
    if kind == "sphere":
        return f"sphere {{ {vector(0, 0.4, 0)}, {number(0.4)} {look} }}"
    if kind == "box":
        return f"box {{ {vector(-0.42, 0, -0.42)}, {vector(0.42, 0.3, 0.42)} {look} }}"
    return f"cylinder {{ {vector(0, 0, 0)}, {vector(0, 0.25, 0)}, {number(0.42)} {look} }}"
