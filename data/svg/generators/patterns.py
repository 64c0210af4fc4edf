"""Coloured shapes on a grid, boards, rings and stripes: what can be counted."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.pairs.naming import begun
from trivium.data.svg.generators.canvas import Canvas, Made

NAMED = {  # colours that people have one word for
    "red": "#ff0000",
    "blue": "#0000ff",
    "green": "#008000",
    "yellow": "#ffff00",
    "orange": "#ffa500",
    "purple": "#800080",
    "pink": "#ffc0cb",
    "black": "#000000",
    "grey": "#808080",
    "brown": "#a52a2a",
    "cyan": "#00ffff",
}
_SHAPES = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True, slots=True)
class Pattern:
    """`cells` by row: (shape, colour word), or None for an empty one."""

    cells: tuple[tuple[tuple[str, str] | None, ...], ...]
    side: float
    size: float  # of a shape, as a share of its cell


def make(dice: Dice) -> Made:
    if dice.below(4) == 0:
        return _rings(dice)
    rows, columns = dice.between(2, 6), dice.between(2, 6)
    shapes = dice.sample(_SHAPES, dice.between(1, 3))
    colors = dice.sample(sorted(NAMED), dice.between(2, 4))
    empty = dice.pick([0, 0, 20, 40])
    while True:
        cells = tuple(
            tuple(None if dice.below(100) < empty else (dice.pick(shapes), dice.pick(colors)) for _ in range(columns))
            for _ in range(rows)
        )
        if all(any(line) for line in (*cells, *zip(*cells, strict=True))):
            break  # a row or column that nobody sees could not be counted
    pattern = Pattern(cells, 40.0, dice.pick([0.5, 0.6, 0.7, 0.8]))
    return draw(pattern).with_changes(_edits(pattern, dice, colors), _bugs(pattern, dice, colors))


def draw(pattern: Pattern) -> Made:
    side = pattern.side
    rows, columns = len(pattern.cells), len(pattern.cells[0])
    canvas = Canvas(side * columns + 20, side * rows + 20)
    for row, cells in enumerate(pattern.cells):
        for column, cell in enumerate(cells):
            if cell is not None:
                x, y = 10 + side * (column + 0.5), 10 + side * (row + 0.5)
                element = _shape(canvas, cell[0], x, y, side * pattern.size / 2, NAMED[cell[1]])
                name = f"row {row + 1}, column {column + 1}"
                canvas.part(Part(kind=cell[0], name=f"{cell[0]} in {name}", color=NAMED[cell[1]]), element)
    return canvas.made(f"a grid of shapes with {rows} rows and {columns} columns")


def _shape(canvas: Canvas, shape: str, x: float, y: float, half: float, color: str) -> int:
    if shape == "circle":
        return canvas.add("circle", cx=x, cy=y, r=half, fill=color)
    if shape == "square":
        return canvas.add("rect", x=x - half, y=y - half, width=2 * half, height=2 * half, fill=color)
    if shape == "triangle":
        return canvas.polygon([(x, y - half), (x + half, y + half), (x - half, y + half)], color)
    return canvas.polygon([(x, y - half), (x + half, y), (x, y + half), (x - half, y)], color)


def _edits(pattern: Pattern, dice: Dice, colors: list[str]) -> list[Edit]:
    filled = [(r, c) for r, row in enumerate(pattern.cells) for c, cell in enumerate(row) if cell is not None]
    row, column = dice.pick(filled)
    cell = pattern.cells[row][column]
    assert cell is not None
    where = f"in row {row + 1}, column {column + 1}"
    new = dice.pick([color for color in sorted(NAMED) if color != cell[1]])
    found = [Edit(instruction=f"Make the {cell[0]} {where} {new}.", code=_code(pattern, row, column, (cell[0], new)))]
    shape = dice.pick([shape for shape in _SHAPES if shape != cell[0]])
    said = f"Replace the {cell[0]} {where} by a {shape} of the same colour."
    found.append(Edit(instruction=said, code=_code(pattern, row, column, (shape, cell[1]))))
    if len(filled) > 1:
        found.append(Edit(instruction=f"Remove the {cell[0]} {where}.", code=_code(pattern, row, column, None)))
    mirrored = replace(pattern, cells=tuple(tuple(reversed(row)) for row in pattern.cells))
    found.append(Edit(instruction="Exchange left and right in the whole grid.", code=draw(mirrored).svg))
    more = replace(pattern, cells=(*pattern.cells, pattern.cells[0]))
    found.append(Edit(instruction="Repeat the first row once more below the last one.", code=draw(more).svg))
    return dice.shuffled(found)


def _bugs(pattern: Pattern, dice: Dice, colors: list[str]) -> list[Edit]:
    filled = [(r, c) for r, row in enumerate(pattern.cells) for c, cell in enumerate(row) if cell is not None]
    row, column = dice.pick(filled)
    cell = pattern.cells[row][column]
    assert cell is not None
    wrong = dice.pick([color for color in sorted(NAMED) if color != cell[1]])
    said = f"A {cell[0]} that should be {cell[1]} is {wrong}."
    alike = any((cell[0], wrong) in row for row in pattern.cells)  # then nobody can tell which of them is meant
    found = [Edit(instruction=said, code=_code(pattern, row, column, (cell[0], wrong)), enough=not alike)]
    if len(filled) > 1:
        said = f"{begun(cell[1])} {cell[0]} is missing."
        only = len(filled) == len(pattern.cells) * len(pattern.cells[0])  # the one empty place
        found.append(Edit(instruction=said, code=_code(pattern, row, column, None), enough=only))
    return found


def _code(pattern: Pattern, row: int, column: int, new: tuple[str, str] | None) -> str:
    cells = [list(one) for one in pattern.cells]
    cells[row][column] = new
    return draw(replace(pattern, cells=tuple(tuple(one) for one in cells))).svg


def _rings(dice: Dice) -> Made:
    """Discs one on the other, the largest first, as targets are."""
    colors = dice.sample(sorted(NAMED), dice.between(3, 7))

    def target(words: list[str]) -> Made:
        canvas = Canvas(200, 200)
        for number, word in enumerate(words):
            radius = 90.0 * (len(words) - number) / len(words)
            element = canvas.add("circle", cx=100, cy=100, r=radius, fill=NAMED[word])
            canvas.part(Part(kind="ring" if number + 1 < len(words) else "disc", color=NAMED[word]), element)
        return canvas.made("a target of rings around a disc")

    turned = list(reversed(colors))
    one = dice.below(len(colors) - 1)
    exchanged = [*colors[:one], colors[one + 1], colors[one], *colors[one + 2 :]]
    said = f"Exchange the colours {colors[one]} and {colors[one + 1]}."
    edits = [
        Edit(instruction=said, code=target(exchanged).svg),
        Edit(
            instruction="Reverse the order of the colours, so that the innermost one comes to the outside.",
            code=target(turned).svg,
        ),
        Edit(
            instruction="Leave the outermost ring out and let the others fill its place.", code=target(colors[1:]).svg
        ),
    ]
    bugs = [
        Edit(instruction=f"{colors[one].capitalize()} and {colors[one + 1]} are exchanged.", code=target(exchanged).svg)
    ]
    return target(colors).with_changes(edits, bugs)
