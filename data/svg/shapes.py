"""What a drawing's code says is in it: parts of a kind that a person would name, and their flat colours.

Odd: all or nothing. A path can be anything, holes and gaps look like shapes, and two shapes of one colour that touch
look like one; a drawing with any such thing has no parts, since every question about a count would have a wrong answer.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import tinycss2.color3

from trivium.data.pairs.facts import Box, Part
from trivium.data.svg.policy import SvgPolicy
from trivium.data.svg.quantities import numbers
from trivium.data.svg.requests import Seen
from trivium.data.svg.tree import Node, parse
from trivium.data.svg.vocabulary import HIDDEN, TEXT_ELEMENTS

POLICY = SvgPolicy(text=True)  # for reading our own canonical code again
_UNSURE = frozenset(  # what makes a part look unlike its element
    {"opacity", "fill-opacity", "stroke-opacity", "clip-path", "mask", "filter", "transform", "display", "visibility"}
    | {"stroke-dasharray", "marker-start", "marker-mid", "marker-end", "paint-order"}
)
_PLAIN = frozenset({"circle", "ellipse", "rect", "polygon", "text"})
_MOST = 60  # parts; more is a texture
_LEAST_SEEN = 0.7  # of its own surface, or what is left of it has another shape
_CORNERS = {3: "triangle", 4: "quadrilateral", 5: "pentagon", 6: "hexagon"}


@dataclass(frozen=True, slots=True)
class Found:
    """A part before it is drawn; `surface` in square user units, 0 for words."""

    kind: str
    color: str
    surface: float
    text: str = ""


def read(code: str) -> Node:
    """The tree of canonical code."""
    return parse(code.encode(), POLICY).root


def parts_of(root: Node) -> list[Found]:
    """The parts in drawing order; empty when any part of the drawing can't be named for certain."""
    found: list[Found] = []
    for node, inherited in _drawn(root, {}):
        part = _named(node, {**inherited, **node.attributes})
        if part is None or len(found) == _MOST:
            return []
        found.append(part)
    return found


def marked(root: Node) -> str:
    """The drawing with element n (in drawing order) in the flat colour n + 1; the tree is changed."""
    from trivium.data.svg.sanitise import write

    for number, (node, inherited) in enumerate(list(_drawn(root, {})), start=1):
        for name, initial in (("fill", "#000"), ("stroke", "none")):
            if (node.attributes.get(name) or inherited.get(name, initial)) != "none":
                node.attributes[name] = f"#{number:06x}"
    return write(root)


def visible(found: list[Found], seen: dict[int, Seen], unit: float) -> tuple[Part, ...]:
    """The parts with the boxes where they are seen; `unit` is a user unit's length in pixels.

    Empty when one is hidden to so great a part that its kind can't be seen, or touches another of its colour.
    """
    parts: list[Part] = []
    for number, part in enumerate(found):
        spot = seen.get(number)
        if spot is None or spot.pixels < _LEAST_SEEN * part.surface * unit * unit:
            return ()
        if any(part.color == other.color and _touch(spot.box, other.box) for other in parts if not part.text):
            return ()
        box = (float(spot.box[0]), float(spot.box[1]), float(spot.box[2]), float(spot.box[3]))
        parts.append(Part(kind=part.kind, text=part.text, color=part.color, box=box))
    return tuple(parts)


def _touch(one: tuple[int, int, int, int], other: Box | None) -> bool:
    if other is None:
        return False
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _drawn(node: Node, inherited: dict[str, str]) -> Iterator[tuple[Node, dict[str, str]]]:
    """Every element that draws by itself, with what it inherits."""
    for child in node.elements():
        if child.tag in HIDDEN:
            continue
        if child.tag == "g":
            yield from _drawn(child, {**inherited, **child.attributes})
        else:
            yield child, inherited


def _named(node: Node, attributes: dict[str, str]) -> Found | None:
    if node.tag not in _PLAIN or _UNSURE & attributes.keys():
        return None
    if node.tag in TEXT_ELEMENTS:
        words = "".join(child for child in node.children if isinstance(child, str)).strip()
        whole = all(isinstance(child, str) for child in node.children)
        color = hex_color(attributes.get("fill", "#000"))
        return Found("text", color, 0.0, " ".join(words.split())) if words and whole and color else None
    fill, stroke = attributes.get("fill", "#000"), attributes.get("stroke", "none")
    color = hex_color(fill)
    if not color or (stroke != "none" and hex_color(stroke) != color):
        return None
    kind, surface = _shape(node)
    return Found(kind, color, surface) if kind else None


def _shape(node: Node) -> tuple[str, float]:
    """Kind and surface; the kind is empty when no word fits."""
    own = node.attributes
    if any("%" in value for name, value in own.items() if name not in ("fill", "stroke")):
        return "", 0.0
    if node.tag == "circle":
        return "circle", math.pi * float(own["r"]) ** 2
    if node.tag == "ellipse":
        rx, ry = float(own["rx"]), float(own["ry"])
        return ("circle" if rx == ry else "ellipse"), math.pi * rx * ry
    if node.tag == "rect":
        width, height = float(own["width"]), float(own["height"])
        if _round(own):
            return "", 0.0
        return ("square" if math.isclose(width, height, rel_tol=0.01) else "rectangle"), width * height
    values = numbers(own["points"])
    return polygon(list(zip(values[::2], values[1::2], strict=True)))


def _round(own: dict[str, str]) -> bool:
    return any(re.fullmatch(r"0?", own.get(name, "")) is None for name in ("rx", "ry"))


def polygon(points: list[tuple[float, float]]) -> tuple[str, float]:
    """The word for a convex polygon of three to six corners, and its surface."""
    pairs = list(zip(points, points[1:] + points[:1], strict=True))
    surface = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs) / 2
    edges = [(b[0] - a[0], b[1] - a[1]) for a, b in pairs]
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in zip(edges, edges[1:] + edges[:1], strict=True)]
    if len(points) not in _CORNERS or min(turns) * max(turns) <= 0:
        return "", 0.0
    upright = len(points) == 4 and all(x == 0 or y == 0 for x, y in edges)
    return ("rectangle" if upright else _CORNERS[len(points)]), abs(surface)


def hex_color(text: str) -> str:
    """#rrggbb of a canonical flat colour; empty for gradients, patterns and none."""
    parsed = None if text.startswith("url(") or text == "none" else tinycss2.color3.parse_color(text)
    if parsed is None:
        return ""
    if parsed == "currentColor":
        return "#000000"
    return "#" + "".join(f"{round(part * 255):02x}" for part in parsed[:3])
