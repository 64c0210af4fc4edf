"""What a simple drawing holds, read twice: from its code, and from its pixels.

Odd: the two readings share nothing but the names of things, so each can check the other. A drawing is one that has only
circles, squares, triangles and diamonds in named colours, each in a cell of a grid, and perhaps a paper behind them.
"""

import io
import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

CELLS = 4  # of the grid, a side
MOST_PIXELS = 1 << 20  # a larger picture is no simple drawing
# CSS values of the names that drawings use.
COLORS = {
    "red": (255, 0, 0),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "purple": (128, 0, 128),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
}
PAPERS = {"": (255, 255, 255), "pink": (255, 192, 203), "lightblue": (173, 216, 230), "lightgreen": (144, 238, 144)}
PAPERS["beige"] = (245, 245, 220)
_NEAR = 20  # grey levels a channel may be off

_SVG = re.compile(r'<svg [^>]*viewBox="0 0 (\d+) (\d+)"[^>]*>\n?(.*)</svg>\s*\Z', re.DOTALL)
_ELEMENT = re.compile(r"<(\w+) ([^<>]*)/>\n?")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True, order=True)
class Thing:
    """One shape: row and column of its cell, and its half size in hundredths of the drawing's side."""

    row: int
    column: int
    shape: str
    color: str
    size: int


@dataclass(frozen=True, slots=True)
class Drawing:
    paper: str
    things: tuple[Thing, ...]

    def holds(self, color: str, shape: str) -> bool:
        return any(thing.color == color and thing.shape == shape for thing in self.things)

    def like(self, other: "Drawing") -> bool:
        """The same drawing, sizes within 2 % of the side: what two readings of one drawing may differ by."""
        if self.paper != other.paper or len(self.things) != len(other.things):
            return False
        pairs = zip(self.things, other.things, strict=True)
        return all(
            (a.row, a.column, a.shape, a.color) == (b.row, b.column, b.shape, b.color) and abs(a.size - b.size) <= 2
            for a, b in pairs
        )


def read_code(code: str, cells: int = CELLS) -> Drawing | None:
    """The drawing that SVG code makes; None when it is anything but a simple drawing."""
    match = _SVG.search(code.strip())
    if match is None or match[1] != match[2] or _ELEMENT.sub("", match[3]).strip():
        return None
    side = int(match[1])
    paper, things = "", []
    for number, element in enumerate(_ELEMENT.finditer(match[3])):
        values = dict(_ATTRIBUTE.findall(element[2]))
        fill = values.pop("fill", "")
        if number == 0 and element[1] == "rect" and values == {"width": str(side), "height": str(side)}:
            if fill not in PAPERS:
                return None
            paper = fill
            continue
        thing = _thing(element[1], values, fill, side, cells)
        if thing is None:
            return None
        things.append(thing)
    return Drawing(paper, tuple(sorted(things))) if things else None


def _thing(name: str, values: dict[str, str], color: str, side: int, cells: int) -> Thing | None:
    try:
        if name == "circle" and set(values) == {"cx", "cy", "r"}:
            shape, box = "circle", _circle_box(*(float(values[key]) for key in ("cx", "cy", "r")))
        elif name == "rect" and set(values) == {"x", "y", "width", "height"}:
            x, y, width, height = (float(values[key]) for key in ("x", "y", "width", "height"))
            shape, box = "square", (x, y, x + width, y + height)
        elif name == "polygon" and set(values) == {"points"}:
            numbers = [float(number) for number in re.split(r"[ ,]+", values["points"].strip())]
            xs, ys = numbers[0::2], numbers[1::2]
            shape, box = {6: "triangle", 8: "diamond"}[len(numbers)], (min(xs), min(ys), max(xs), max(ys))
        else:
            return None
    except (ValueError, KeyError):
        return None
    width, height = box[2] - box[0], box[3] - box[1]
    if color not in COLORS or width != height:
        return None
    row, column = (int((a + b) / 2 * cells // side) for a, b in ((box[1], box[3]), (box[0], box[2])))
    return Thing(row, column, shape, color, round(50 * width / side))


def _circle_box(x: float, y: float, r: float) -> tuple[float, float, float, float]:
    return x - r, y - r, x + r, y + r


@lru_cache(maxsize=4096)  # questions of one row look at the same pictures
def read_picture(payload: bytes, cells: int = CELLS) -> Drawing | None:
    """The drawing that a picture shows, from its pixels; None when it is anything but a simple drawing."""
    import PIL.Image

    with PIL.Image.open(io.BytesIO(payload)) as picture:
        if picture.width != picture.height or picture.width * picture.height > MOST_PIXELS:
            return None
        pixels = np.asarray(picture.convert("RGB"), dtype=np.int16)
    if pixels.shape[0] < 4 * cells:
        return None
    thinned = pixels[::4, ::4]
    behind = {name: int(_near(thinned, color).sum()) for name, color in PAPERS.items()}
    paper = max(behind, key=lambda name: behind[name])
    if not behind[paper]:
        return None
    side = pixels.shape[0]
    things = []
    for row in range(cells):
        for column in range(cells):
            top, left = row * side // cells, column * side // cells
            cell = pixels[top : (row + 1) * side // cells, left : (column + 1) * side // cells]
            color = _name(cell[cell.shape[0] // 2, cell.shape[1] // 2].tolist(), COLORS)
            if color is not None:
                shape, size = _shape(_near(cell, COLORS[color]), side)
                things.append(Thing(row, column, shape, color, size))
    return Drawing(paper, tuple(things)) if things else None


def _near(pixels: NDArray[np.int16], color: tuple[int, int, int]) -> NDArray[np.bool_]:
    return np.asarray(np.abs(pixels - np.array(color)).max(axis=-1) <= _NEAR)


def _name(pixel: list[int], names: dict[str, tuple[int, int, int]]) -> str | None:
    for name, color in names.items():
        if all(abs(a - b) <= _NEAR for a, b in zip(pixel, color, strict=True)):
            return name
    return None


def _shape(mask: NDArray[np.bool_], side: int) -> tuple[str, int]:
    """The shape of a mask by how it fills its box, and half its width in hundredths of the drawing's side."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    box = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    widths = box.sum(axis=1)
    filled = float(box.mean())
    if filled > 0.92:
        shape = "square"
    elif filled > 0.66:
        shape = "circle"
    else:
        shape = "triangle" if widths[-2:].max() > 0.7 * box.shape[1] else "diamond"
    return shape, round(50 * box.shape[1] / side)
