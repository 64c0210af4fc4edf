"""What a simple drawing holds, read twice: from its code, and from its pixels.

Odd: the two readings share nothing but the names of colours, so each can check the other. A drawing is one that has
only circles, squares, triangles and diamonds in named colours, none on another, each in a cell of a grid, and perhaps a
paper behind them. What is read from pixels is drawn again, and counts only when it gives the same picture.
"""

import io
import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trivium.data.svg.drawings import COLORS, PAPERS

GRIDS = (2, 3, 4, 5, 6, 8)  # cells a side; the first that explains a picture is taken
MOST_PIXELS = 1 << 20  # a larger picture is no simple drawing
BLANK = "white"  # what shows where there is no paper
_NEAR = 20  # grey levels a channel may be off
_OFF, _OFF_SHARE = 60, 0.001  # a pixel inside an area is wrong from so many grey levels; so many may be

_SVG = re.compile(r'<svg [^>]*viewBox="0 0 (\d+) (\d+)"[^>]*>\n?(.*)</svg>\s*\Z', re.DOTALL)
_LIKE = 20  # thousandths of the side
_ELEMENT = re.compile(r"<(\w+) ([^<>]*)/>\n?")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')

Pixels = NDArray[np.int16]
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, order=True)
class Thing:
    """One shape: its middle, from the top and from the left, and its half width; thousandths of the drawing's side."""

    top: int
    left: int
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
        """The same drawing, with places and sizes as far apart as two readings of one may be."""
        if self.paper != other.paper or len(self.things) != len(other.things):
            return False
        return all(any(_close(one, another) for another in other.things) for one in self.things)


def _close(a: Thing, b: Thing) -> bool:
    apart = max(abs(a.top - b.top), abs(a.left - b.left), abs(a.size - b.size))
    return (a.shape, a.color) == (b.shape, b.color) and apart <= _LIKE


@lru_cache(maxsize=1)
def _palette() -> dict[str, tuple[int, ...]]:
    """Red, green and blue of every colour that a drawing may have."""
    from PIL import ImageColor

    return {name: ImageColor.getrgb(name)[:3] for name in (*COLORS, *PAPERS, BLANK) if name}


def read_code(code: str) -> Drawing | None:
    """The drawing that SVG code makes; None when it is anything but a simple drawing."""
    match = _SVG.search(code.strip())
    if match is None or match[1] != match[2] or _ELEMENT.sub("", match[3]).strip():
        return None
    side = int(match[1])
    paper, things = BLANK, []
    for number, element in enumerate(_ELEMENT.finditer(match[3])):
        values = dict(_ATTRIBUTE.findall(element[2]))
        fill = values.pop("fill", "")
        if number == 0 and element[1] == "rect" and values == {"width": str(side), "height": str(side)}:
            if fill not in PAPERS:
                return None
            paper = fill
            continue
        thing = _thing(element[1], values, fill, side)
        if thing is None:
            return None
        things.append(thing)
    return Drawing(paper, tuple(sorted(things))) if things else None


def _thing(name: str, values: dict[str, str], color: str, side: int) -> Thing | None:
    try:
        found = _outline(name, values)
    except (ValueError, KeyError):
        return None
    if found is None or color not in COLORS:
        return None
    shape, (left, top, right, bottom) = found
    if right - left != bottom - top:
        return None
    return Thing(
        round(500 * (top + bottom) / side),
        round(500 * (left + right) / side),
        shape,
        color,
        round(500 * (right - left) / side),
    )


def _outline(name: str, values: dict[str, str]) -> tuple[str, Box] | None:
    """The shape of an element and its box. Raises ValueError or KeyError for attributes of another kind."""
    if name == "circle" and set(values) == {"cx", "cy", "r"}:
        x, y, r = (float(values[key]) for key in ("cx", "cy", "r"))
        return "circle", (x - r, y - r, x + r, y + r)
    if name == "rect" and set(values) <= {"x", "y", "width", "height"}:
        x, y = (float(values.get(key, "0")) for key in ("x", "y"))
        return "square", (x, y, x + float(values["width"]), y + float(values["height"]))
    if name == "polygon" and set(values) == {"points"}:
        numbers = [float(number) for number in re.split(r"[ ,]+", values["points"].strip())]
        xs, ys = numbers[0::2], numbers[1::2]
        return {6: "triangle", 8: "diamond"}[len(numbers)], (min(xs), min(ys), max(xs), max(ys))
    return None


@lru_cache(maxsize=4096)  # questions of one row look at the same pictures
def read_picture(payload: bytes) -> Drawing | None:
    """The drawing that a picture shows, from its pixels; None when it is anything but a simple drawing."""
    import PIL.Image

    with PIL.Image.open(io.BytesIO(payload)) as picture:
        if picture.width != picture.height or picture.width * picture.height > MOST_PIXELS:
            return None
        pixels: Pixels = np.asarray(picture.convert("RGB"), dtype=np.int16)
    thinned = pixels[::4, ::4]
    behind = {name: int(_near(thinned, name).sum()) for name in sorted({*PAPERS, BLANK} - {""})}
    paper = max(behind, key=lambda name: behind[name])
    if not behind[paper]:
        return None
    for cells in GRIDS:
        if pixels.shape[0] < 4 * cells:
            break
        drawing = Drawing(paper, _things(pixels, cells, paper))
        if drawing.things and _explains(drawing, pixels):
            return drawing
    return None


def _things(pixels: Pixels, cells: int, paper: str) -> tuple[Thing, ...]:
    """What stands in the cells of a grid, by the colour in the middle of each."""
    side = pixels.shape[0]
    things = []
    for row in range(cells):
        for column in range(cells):
            top, left = row * side // cells, column * side // cells
            cell = pixels[top : (row + 1) * side // cells, left : (column + 1) * side // cells]
            color = _named(cell[cell.shape[0] // 2, cell.shape[1] // 2].tolist())
            if color is None:
                continue
            shape, box = _shape(_distance(cell, color) < _distance(cell, paper))
            middle = [round(500 * (a + b) / side) for a, b in ((2 * top + box[0], box[1]), (2 * left + box[2], box[3]))]
            things.append(Thing(middle[0], middle[1], shape, color, round(500 * (box[3] - box[2]) / side)))
    return tuple(sorted(things))


def _explains(drawing: Drawing, pixels: Pixels) -> bool:
    """Whether the drawing gives these pixels, borders between areas apart: there engines blend."""
    areas, colors = _draw(drawing, pixels.shape[0])
    flat = np.ones(areas.shape, bool)
    for area, view in ((areas, flat), (areas.T, flat.T)):
        for shift in (1, 2):
            same = area[shift:] == area[:-shift]
            view[shift:] &= same
            view[:-shift] &= same
    wrong = np.abs(colors[areas] - pixels).max(axis=-1) > _OFF
    return float((wrong & flat).mean()) < _OFF_SHARE


def _near(pixels: Pixels, name: str) -> NDArray[np.bool_]:
    return np.asarray(_distance(pixels, name) <= _NEAR)


def _distance(pixels: Pixels, name: str) -> Pixels:
    return np.asarray(np.abs(pixels - np.array(_palette()[name], np.int16)).max(axis=-1))


def _named(pixel: list[int]) -> str | None:
    for name in COLORS:
        if all(abs(a - b) <= _NEAR for a, b in zip(pixel, _palette()[name], strict=True)):
            return name
    return None


def _shape(mask: NDArray[np.bool_]) -> tuple[str, tuple[int, int, int, int]]:
    """The shape of a mask by how it fills its box; the box as top, bottom, left, right."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    bounds = (int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1)
    box = mask[bounds[0] : bounds[1], bounds[2] : bounds[3]]
    filled = float(box.mean())
    if filled > 0.92:
        return "square", bounds
    if filled > 0.66:
        return "circle", bounds
    return ("triangle" if box.sum(axis=1)[-2:].max() > 0.7 * box.shape[1] else "diamond"), bounds


def _draw(drawing: Drawing, side: int) -> tuple[NDArray[np.uint8], Pixels]:
    """The drawing as a map of areas, [side, side], and the colour of each area, [areas, 3]; edges are not blended."""
    areas = np.zeros((side, side), np.uint8)
    at = np.arange(side) + 0.5
    for number, thing in enumerate(drawing.things, 1):
        x, y, r = (value * side / 1000 for value in (thing.left, thing.top, thing.size))
        across, down = np.abs(at - x)[None, :], (at - y)[:, None]
        if thing.shape == "circle":
            inside = across**2 + down**2 <= r * r
        elif thing.shape == "square":
            inside = (across <= r) & (np.abs(down) <= r)
        elif thing.shape == "triangle":
            inside = (np.abs(down) <= r) & (2 * across <= down + r)
        else:
            inside = across + np.abs(down) <= r
        areas[inside] = number
    names = (drawing.paper, *(thing.color for thing in drawing.things))
    return areas, np.array([_palette()[name] for name in names], np.int16)
