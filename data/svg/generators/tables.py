"""Tables of words and whole numbers."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made

_ROW, _FIRST, _COLUMN = 24.0, 92.0, 66.0


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]  # by row
    head: str  # colour of the first row
    striped: bool
    font: str


def make(dice: Dice) -> Made:
    topic = dice.pick(words.TOPICS)
    rows = tuple(dice.sample(topic.names, dice.between(3, 7)))
    start = dice.below(len(words.YEARS) - 4)
    columns = words.YEARS[start : start + dice.between(2, 4)]
    table = Table(
        title=topic.title,
        columns=columns,
        rows=rows if topic.names != words.YEARS else tuple(dice.sample(words.CITIES, 4)),
        cells=(),
        head=dice.pick(dice.pick(words.PALETTES)),
        striped=dice.below(2) == 0,
        font=dice.pick(words.FONTS),
    )
    cells = tuple(tuple(dice.between(1, topic.most) for _ in columns) for _ in table.rows)
    table = replace(table, cells=cells)
    return draw(table).with_changes(_edits(table, dice), _bugs(table, dice))


def draw(table: Table) -> Made:
    width = 20 + _FIRST + _COLUMN * len(table.columns)
    canvas = Canvas(width, 52 + _ROW * (len(table.rows) + 1), font=table.font)
    canvas.text(10, 24, table.title, 14, font_weight="bold")
    top, right = 36.0, width - 10
    canvas.add("rect", x=10, y=top, width=right - 10, height=_ROW, fill=table.head)
    for column, name in enumerate(table.columns):
        canvas.text(_edge(column), top + 16, name, 11, "end", fill="#ffffff", font_weight="bold")
    for row, name in enumerate(table.rows):
        y = top + _ROW * (row + 1)
        if table.striped and row % 2:
            canvas.add("rect", x=10, y=y, width=right - 10, height=_ROW, fill="#eef0f2")
        canvas.text(18, y + 16, name, 11)
        for column, value in enumerate(table.cells[row]):
            word = canvas.write(_edge(column), y + 16, str(value), 11, "end")
            canvas.part(Part(kind="cell", name=f"{name}, {table.columns[column]}", text=str(value)), word)
    bottom = top + _ROW * (len(table.rows) + 1)
    canvas.line((10, bottom), (right, bottom), words.INK)
    sizes = {"rows below the head": float(len(table.rows))}
    for column, name in enumerate(table.columns):
        sizes[f"sum of {name}"] = float(sum(row[column] for row in table.cells))
    return canvas.made("a table", table.title, sizes, tuple(sizes))


def _edge(column: int) -> float:
    return 10 + _FIRST + _COLUMN * (column + 1) - 8


def _edits(table: Table, dice: Dice) -> list[Edit]:
    row, column = dice.below(len(table.rows)), dice.below(len(table.columns))
    old = table.cells[row][column]
    new = old + dice.between(1, 40)
    where = f"{table.rows[row]} in {table.columns[column]}"
    found = [
        Edit(
            instruction=f"Change {where} from {old} to {new}.", code=_code(table, cells=_with(table, row, column, new))
        )
    ]
    order = sorted(range(len(table.rows)), key=lambda n: (-table.cells[n][column], n))
    if order != sorted(order):
        said = f"Sort the rows by {table.columns[column]}, the largest first."
        rows = tuple(table.rows[n] for n in order)
        found.append(Edit(instruction=said, code=_code(table, rows=rows, cells=tuple(table.cells[n] for n in order))))
    kept = [n for n in range(len(table.rows)) if n != row]
    code = _code(table, rows=tuple(table.rows[n] for n in kept), cells=tuple(table.cells[n] for n in kept))
    found.append(Edit(instruction=f"Delete the row of {table.rows[row]}.", code=code))
    said = (
        "Give all rows one background."
        if table.striped
        else "Give every second row below the head a grey (#eef0f2) background."
    )
    found.append(Edit(instruction=said, code=_code(table, striped=not table.striped)))
    return found


def _bugs(table: Table, dice: Dice) -> list[Edit]:
    one, two = dice.sample(range(len(table.columns)), 2)
    columns = list(table.columns)
    columns[one], columns[two] = columns[two], columns[one]
    said = f"The heads {table.columns[one]} and {table.columns[two]} stand above each other's columns."
    found = [Edit(instruction=said, code=_code(table, columns=tuple(columns)))]
    shifted = (*table.rows[1:], table.rows[0])
    found.append(Edit(instruction="The names of the rows are moved up by one row.", code=_code(table, rows=shifted)))
    return dice.shuffled(found)


def _with(table: Table, row: int, column: int, new: int) -> tuple[tuple[int, ...], ...]:
    cells = [list(one) for one in table.cells]
    cells[row][column] = new
    return tuple(tuple(one) for one in cells)


def _code(table: Table, **changes: object) -> str:
    return draw(replace(table, **changes)).svg  # type: ignore[arg-type]
