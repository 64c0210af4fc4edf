"""Maps of parts of the world with some countries coloured (Natural Earth, public domain)."""

import functools
import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

_WINDOWS = {  # west, south, east, north in degrees
    "Europe": (-12, 35, 42, 66),
    "South America": (-84, -57, -33, 14),
    "Africa": (-20, -36, 54, 39),
    "South-East Asia": (90, -12, 143, 26),
    "the Middle East": (24, 11, 66, 43),
    "Central America": (-100, 5, -58, 28),
    "West Africa": (-19, 2, 18, 26),
    "South Asia": (58, 4, 100, 39),
    "the Balkans": (12, 34, 32, 50),
    "Southern Africa": (9, -36, 43, -7),
}
_LAND, _SEA, _BORDER = "#e9e4d8", "#dcebf3", "#b9b2a2"
_BEYOND = 2.0  # degrees outside a window at which land is cut, so that no cut is seen
Ring = tuple[Point, ...]  # degrees east and north


class Country(msgspec.Struct, frozen=True):
    name: str
    land: tuple[Ring, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """`colored`: countries and their colours, in the order of the legend."""

    window: str
    colored: tuple[tuple[str, str], ...]
    sea: bool


@functools.cache
def world() -> tuple[Country, ...]:
    """All countries; land on both sides of the 180th meridian goes on beyond it (Fiji: 178.6 to 180.2)."""
    found = msgspec.json.decode(Path(__file__).with_name("world.json").read_bytes(), type=tuple[Country, ...])
    return tuple(Country(one.name, tuple(_unwrapped(piece) for piece in one.land)) for one in found)


def _unwrapped(piece: Ring) -> Ring:
    """Without leaps of 360 degrees between two points; what runs round the pole stays as it is."""
    turn, ring = 0, [piece[0]]
    for (before, _), (x, y) in pairwise(piece):
        turn += round((before - x) / 360)
        ring.append((x + 360 * turn, y))
    if abs(ring[-1][0] - ring[0][0]) > 180:
        return piece
    back = 360 * round((min(x for x, _ in ring) + max(x for x, _ in ring)) / 720)
    return tuple((x - back, y) for x, y in ring)


def _cut(piece: Ring, window: tuple[float, float, float, float]) -> Ring:
    """What of a ring lies less than `_BEYOND` outside the window: cut at one side after the other."""
    west, south, east, north = window
    for axis, sign, limit in ((0, -1, -west), (0, 1, east), (1, -1, -south), (1, 1, north)):
        kept: list[Point] = []
        for one, two in zip((piece[-1], *piece), piece, strict=False):
            out, then = (sign * point[axis] - limit - _BEYOND for point in (one, two))
            if (out > 0) != (then > 0):
                at = out / (out - then)
                kept.append((one[0] + at * (two[0] - one[0]), one[1] + at * (two[1] - one[1])))
            if then <= 0:
                kept.append(two)
        if not kept:
            return ()
        piece = tuple(kept)
    return piece


@functools.cache
def _shown(window: str) -> tuple[tuple[Country, float, bool], ...]:
    """The countries of a window with the share of its area that the largest piece takes, and whether all is in it."""
    west, south, east, north = _WINDOWS[window]
    found = []
    for country in world():
        boxes = [
            (min(x for x, _ in p), min(y for _, y in p), max(x for x, _ in p), max(y for _, y in p))
            for p in country.land
        ]
        land = tuple(
            piece
            for piece, (left, low, right, high) in zip(country.land, boxes, strict=True)
            if left < east and right > west and low < north and high > south
        )
        if land:
            kept = [box for box, piece in zip(boxes, country.land, strict=True) if piece in land]
            whole = all(west <= b[0] and b[2] <= east and south <= b[1] and b[3] <= north for b in kept)
            share = max((b[2] - b[0]) * (b[3] - b[1]) for b in kept) / ((east - west) * (north - south))
            found.append((Country(country.name, land), share, whole))
    return tuple(sorted(found, key=lambda one: -one[1]))  # the largest first: Lesotho lies on South Africa


def make(dice: Dice) -> Made:
    window = dice.pick(sorted(_WINDOWS))
    fitting = [
        country.name for country, share, whole in _shown(window) if whole and share > 0.004 and len(country.name) < 18
    ]
    names = dice.sample(fitting, min(len(fitting) - 1, dice.between(2, 5)))
    colors = dice.sample(dice.pick(words.PALETTES), len(names))
    shown = Map(window, tuple(zip(names, colors, strict=True)), dice.below(2) == 0)
    return draw(shown).with_changes(_edits(shown, dice, fitting), _bugs(shown, dice))


def draw(shown: Map) -> Made:
    west, south, east, north = _WINDOWS[shown.window]
    shrink = math.cos(math.radians((south + north) / 2))
    scale = 300 / max((east - west) * shrink, north - south)
    width, height = (east - west) * shrink * scale, (north - south) * scale
    canvas = Canvas(round(width), round(height) + 20 * math.ceil(len(shown.colored) / 2) + 8, paper="#ffffff")
    if shown.sea:
        canvas.add("rect", width=round(width), height=round(height), fill=_SEA)

    def at(point: Point) -> Point:
        return (point[0] - west) * shrink * scale, (north - point[1]) * scale

    colors = dict(shown.colored)
    for country, _, _ in _shown(shown.window):
        color = colors.get(country.name, _LAND)
        pieces = (_cut(piece, _WINDOWS[shown.window]) for piece in country.land)
        path = "".join(_ring([at(point) for point in piece]) for piece in pieces if piece)
        element = canvas.add("path", d=path, fill=color, stroke=_BORDER, stroke_width=0.7)
        if country.name in colors:
            canvas.part(Part(kind="coloured country", name=country.name, color=color), element)
    lower = round(height)  # land goes on below the map: paper for the legend covers it
    canvas.add("rect", x=0, y=lower, width=round(width), height=canvas.height - lower, fill="#ffffff")
    for number, (name, color) in enumerate(shown.colored):
        x, y = 8 + number % 2 * width / 2, height + 19 + number // 2 * 20
        canvas.add("rect", x=x, y=y - 10, width=12, height=12, fill=color)
        canvas.text(x + 17, y, name, 11)
    return canvas.made(f"a map of {shown.window}")


def _ring(points: list[Point]) -> str:
    """A closed path in steps of a tenth, each point told from the one before; points that fall together left out."""
    tenths = [(round(x * 10), round(y * 10)) for x, y in points]
    kept = [point for n, point in enumerate(tenths) if n == 0 or point != tenths[n - 1]]
    (x, y), *rest = kept[:-1] if kept[-1] == kept[0] and len(kept) > 1 else kept
    path = f"M{x / 10:g} {y / 10:g}"
    for u, v in rest:
        path += f"l{(u - x) / 10:g} {(v - y) / 10:g}"
        x, y = u, v
    return path + "Z"


def _edits(shown: Map, dice: Dice, fitting: list[str]) -> list[Edit]:
    taken = {name for name, _ in shown.colored}
    free = [name for name in fitting if name not in taken]
    number = dice.below(len(shown.colored))
    name, color = shown.colored[number]
    found = []
    if free:
        new = dice.pick(free)
        colored = (*shown.colored[:number], (new, color), *shown.colored[number + 1 :])
        said = f"Colour {new} instead of {name}, on the map and in the legend."
        found.append(Edit(instruction=said, code=draw(replace(shown, colored=colored)).svg))
    if len(shown.colored) > 2:
        left = tuple(one for one in shown.colored if one[0] != name)
        said = f"Give {name} the colour of the other land ({_LAND}) and take it out of the legend."
        found.append(Edit(instruction=said, code=draw(replace(shown, colored=left)).svg))
    said = "Leave the sea white." if shown.sea else f"Give the sea the colour {_SEA}."
    found.append(Edit(instruction=said, code=draw(replace(shown, sea=not shown.sea)).svg))
    return found


def _bugs(shown: Map, dice: Dice) -> list[Edit]:
    (one, red), (two, blue) = shown.colored[:2]
    svg = draw(shown).svg
    said = f"{one} and {two} have each other's colour on the map; the legend is right."
    head, legend = svg.split("\n<rect x=", 1) if "\n<rect x=" in svg else (svg, "")
    mixed = (
        head.replace(f'fill="{red}"', 'fill="?"')
        .replace(f'fill="{blue}"', f'fill="{red}"')
        .replace('fill="?"', f'fill="{blue}"')
    )
    return [Edit(instruction=said, code=mixed + "\n<rect x=" + legend)] if legend else []
