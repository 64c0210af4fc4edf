"""Tables as Markdown pipes; tables that only lay out a page are read as its blocks.

Pipes and not aligned columns: they survive any later tidying of blanks, cost no padding, and are what models have seen
most. Spans are bounded, since twelve bytes of `colspan` can ask for a million cells.
"""

from collections.abc import Callable

from trivium.data.text.html.tree import INLINE, Node

MAX_COLUMNS = 64
MAX_CELLS = 50_000  # of one table, spans filled in
_LONG = 300  # characters; cells above it on average are text laid out in columns
_BLOCKS = frozenset({"p", "div", "section", "article", "ul", "ol", "dl", "pre", "blockquote", "form", "h1", "h2", "h3"})


def rows_of(table: Node) -> list[list[Node]]:
    """The cells of each row, without those of tables inside, in source order."""
    found: list[list[Node]] = []
    stack = list(reversed(list(table.nodes())))
    while stack:
        node = stack.pop()
        if node.noise:
            continue
        if node.tag == "tr":
            found.append([cell for cell in node.nodes() if cell.tag in ("td", "th") and not cell.noise])
        elif node.tag in ("tbody", "thead", "tfoot"):
            stack.extend(reversed(list(node.nodes())))
    return found


def is_data(table: Node, rows: list[list[Node]]) -> bool:
    """Whether rows and columns mean something: more than one of each, and cells that hold values, not page parts."""
    if table.get("role") in ("presentation", "none") or len(rows) < 2:
        return False
    cells = [cell for row in rows for cell in row]
    if max((len(row) for row in rows), default=0) < 2:
        return False
    heads = any(cell.tag == "th" for cell in cells) or any(part.tag in ("thead", "caption") for part in table.nodes())
    if any(part.tag in ("table", "pre") for part in table.walk() if part is not table):
        return False
    if sum(cell.chars for cell in cells) > _LONG * len(cells):
        return False
    if heads:
        return True
    blocks = sum(sum(part.tag in _BLOCKS for part in cell.nodes()) > 1 for cell in cells)
    regular = sum(len(row) == len(rows[0]) for row in rows)
    return (
        blocks * 10 <= len(cells)
        and regular * 10 >= len(rows) * 8
        and "border" in table.attrs + " border" * (len(rows) >= 3)
    )


def write(table: Node, rows: list[list[Node]], text_of: Callable[[Node], str]) -> list[str]:
    """The table's blocks: its caption, then pipes or, for pairs of a name and a value, lines `name: value`."""
    blocks = []
    for part in table.nodes():
        if part.tag == "caption" and (text := _cell(text_of(part))):
            blocks.append(text)
    if _pairs(rows):
        lines = [": ".join(text for cell in row if (text := _plain(text_of(cell)))) for row in rows]
        lines = [line for line in lines if line]
        return [*blocks, "\n".join(lines)] if lines else blocks
    grid = _grid(rows, text_of)
    width = max((len(row) for row in grid), default=0)
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in grid]
    if lines and any(cell for row in grid for cell in row):
        lines.insert(1, "|" + " --- |" * width)
        blocks.append("\n".join(lines))
    return blocks


def _pairs(rows: list[list[Node]]) -> bool:
    """Rows of one `th` and one `td`, or of one cell across: infoboxes and definition tables."""
    pairs = sum([cell.tag for cell in row] == ["th", "td"] for row in rows)
    return pairs >= 2 and all(len(row) <= 1 or [cell.tag for cell in row] == ["th", "td"] for row in rows)


def _grid(rows: list[list[Node]], text_of: Callable[[Node], str]) -> list[list[str]]:
    """Texts by row and column; a cell that spans columns leaves the others empty, one that spans rows repeats."""
    grid: list[list[str]] = []
    carried: dict[int, tuple[int, str]] = {}  # column → rows left, text
    spent = 0
    for row in rows:
        line: list[str] = []
        cells = iter(row)
        cell = next(cells, None)
        while (cell is not None or len(line) in carried) and len(line) < MAX_COLUMNS:
            if len(line) in carried:
                left, text = carried.pop(len(line))
                if left > 1:
                    carried[len(line)] = (left - 1, text)
                line.append(text)
                continue
            assert cell is not None
            text = _cell(text_of(cell))
            wide, high = (_span(cell, key, spent) for key in ("colspan", "rowspan"))
            at = len(line)
            line += [text, *[""] * min(wide - 1, MAX_COLUMNS - at - 1)]
            if high > 1:
                carried |= {column: (high - 1, line[column]) for column in range(at, len(line))}
            cell = next(cells, None)
        while line and not line[-1]:
            line.pop()
        if line:
            grid.append(line)
            spent += len(line)
    return grid


def _span(cell: Node, key: str, spent: int) -> int:
    value = cell.get(key)
    return min(int(value), 1000) if spent < MAX_CELLS and value.isdecimal() and len(value) < 7 and value != "0" else 1


def _plain(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def inline_only(node: Node) -> bool:
    """Whether a cell holds no block."""
    return all(child.tag in INLINE for child in node.nodes())
