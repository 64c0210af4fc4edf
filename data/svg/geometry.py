"""Each element's own attributes checked and made canonical, at the precision of the size it is drawn at."""

import math
import re
from dataclasses import dataclass

from trivium.data.svg import embedded, paths, style
from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.quantities import (
    decimals_after,
    decimals_for,
    fraction,
    length,
    measure,
    numbers,
    show,
    significant,
    transform,
    view_box,
)
from trivium.data.svg.tree import Node
from trivium.data.svg.vocabulary import (
    COORDINATES,
    FILTERS,
    HIDDEN,
    NOT_NEGATIVE,
    OWN,
    PROPERTIES,
    TEXT_PROPERTIES,
    TRANSFORMS,
    UNITS,
)

_ASPECT = re.compile(r"(none|x(?:Min|Mid|Max)Y(?:Min|Mid|Max))(?:\s+(meet|slice))?\Z")
_WORD = re.compile(r"[A-Za-z][\w-]{0,60}\Z")
_PICTURE = 256  # pixels: what precision is reckoned for
_LARGEST_SIZE = 1024.0  # of width and height, which only suggest a size
_MOST_PRIMITIVES, _LARGEST_BLUR, _LARGEST_REGION = 16, 0.25, 3.0  # a blur and a region as shares of the canvas


@dataclass(slots=True)
class Canvas:
    """The root's view box in user units and the pixels that one unit takes in a picture 256 px wide."""

    width: float
    height: float
    drawn: float


class Canoniser:
    """Walks a tree of checked elements once and rewrites their attributes; `vertices` counts segments of shapes."""

    def __init__(self, policy: SvgPolicy) -> None:
        self.policy = policy
        self.vertices: dict[int, int] = {}
        self._properties = PROPERTIES | TEXT_PROPERTIES if policy.text else PROPERTIES
        self._canvas = Canvas(1, 1, 1)

    def run(self, root: Node) -> Canvas:
        """Raises SvgRefusedError."""
        size = self._root_size(root.attributes)
        self._visit(root, decimals_for(self.policy.decimals, self._canvas.drawn))
        root.attributes = {**size, **{k: v for k, v in root.attributes.items() if k not in OWN["svg"]}}
        return self._canvas

    def _visit(self, node: Node, decimals: int) -> None:
        if node.tag == "a":  # a link is never followed, and nothing is drawn of it
            node.tag = "g"
            _refuse_javascript(node, node.attributes.pop("href", ""))
        if node.tag in HIDDEN:
            decimals = min(8, decimals + 1)  # it may be drawn larger by whoever refers to it
        inner = decimals
        if "transform" in node.attributes and node.tag != "svg":
            text, factor = transform(node.attributes["transform"], decimals)
            node.attributes["transform"] = text
            inner = decimals_after(decimals, factor)
        node.attributes = self._attributes(node, inner)
        if "objectBoundingBox" in (node.attributes.get("clipPathUnits"), node.attributes.get("maskContentUnits")):
            inner = max(inner, 4)
        if node.attributes.get("patternContentUnits") == "objectBoundingBox":
            inner = max(inner, 4)
        if node.tag == "filter" and len(node.children) > _MOST_PRIMITIVES:
            raise SvgRefusedError("filter", f"{len(node.children)} primitives, {_MOST_PRIMITIVES} allowed")
        for child in node.elements():
            self._visit(child, inner)

    def _attributes(self, node: Node, decimals: int) -> dict[str, str]:
        found = node.attributes
        kept: dict[str, str] = {}
        if found.get("id"):
            kept["id"] = found["id"]
        for name in OWN[node.tag]:
            if name in found and node.tag != "svg":
                text = self._own(node, name, found[name], decimals)
                if text:
                    kept[name] = text
        if found.get("transform") and node.tag not in HIDDEN and node.tag != "svg":
            kept["transform"] = found["transform"]
        for name in sorted(found):
            if name in self._properties:
                text = style.value(name, found[name], decimals, self.policy)
                if text:
                    kept[name] = text
        return kept

    def _own(self, node: Node, name: str, text: str, decimals: int) -> str:
        if name == "href":
            return self._href(node, text)
        if name in TRANSFORMS:
            return transform(text, decimals)[0]
        if name in UNITS:
            text = text.strip()
            return text if text in ("objectBoundingBox", "userSpaceOnUse") and text != UNITS[name] else ""
        if node.tag in FILTERS or node.tag == "filter":
            return self._filter(node, name, text, decimals)
        if name in COORDINATES:
            return self._coordinate(node, name, text, decimals)
        if name == "d":
            text, self.vertices[id(node)] = paths.canonical(text, decimals)
            return text
        if name == "points":
            return self._points(node, text, decimals)
        if name == "offset":
            return fraction(text)
        if name == "viewBox":
            return " ".join(significant(v) for v in view_box(text, self.policy.max_side))
        if name == "preserveAspectRatio":
            return _aspect(text)
        if name == "orient":
            return "auto" if text.strip().startswith("auto") else show(measure(text)[0], 3)
        return text.strip() if _WORD.match(text.strip()) else ""

    def _coordinate(self, node: Node, name: str, text: str, decimals: int) -> str:
        if text.strip() == "auto":
            return ""
        if _relative_to_box(node):
            decimals = max(decimals, 4)
        if node.tag == "text" or node.tag == "tspan":
            return " ".join(show(v, decimals) for v in numbers(text))
        written = length(text, decimals)
        if name in NOT_NEGATIVE and written.startswith("-"):
            raise SvgRefusedError("bad_value", f"{node.tag} with {name} {text[:40]!r}")
        return written

    def _points(self, node: Node, text: str, decimals: int) -> str:
        values = numbers(text)
        if len(values) % 2:
            raise SvgRefusedError("bad_value", f"{node.tag} with {len(values)} coordinates, an odd number")
        self.vertices[id(node)] = len(values) // 2
        shown = [show(v, decimals) for v in values]
        return " ".join(f"{x},{y}" for x, y in zip(shown[::2], shown[1::2], strict=True))

    def _href(self, node: Node, text: str) -> str:
        text = text.strip()
        if text.startswith("#") and len(text) > 1 and node.tag != "image":
            return text
        if node.tag == "image" and text[:5].lower() == "data:":
            return embedded.canonical(text, self.policy.max_image_bytes)
        _refuse_javascript(node, text)
        if self.policy.external == "reject" and text:
            raise SvgRefusedError("external_reference", f"{node.tag} with href {text[:80]!r}")
        return ""

    def _filter(self, node: Node, name: str, text: str, decimals: int) -> str:
        """Regions and blurs whose cost does not depend on the canvas are refused rather than changed."""
        side = max(self._canvas.width, self._canvas.height)
        if node.tag == "filter":
            value, percent = measure(text)
            share = (
                value / 100
                if percent
                else value / side
                if node.attributes.get("filterUnits") == ("userSpaceOnUse")
                else value
            )
            if abs(share) > _LARGEST_REGION:
                raise SvgRefusedError("filter", f"a region with {name} {text[:40]!r}")
            return length(text, max(4, decimals))
        if name in ("stdDeviation", "dx", "dy"):
            values = numbers(text)
            if any(abs(v) > _LARGEST_BLUR * side for v in values):
                raise SvgRefusedError("filter", f"{node.tag} with {name} {text[:40]!r} on a canvas of {side:g}")
            return " ".join(show(v, decimals + 1) for v in values)
        if name in ("values", "k1", "k2", "k3", "k4"):
            return " ".join(significant(v) for v in numbers(text))
        return text.strip() if _WORD.match(text.strip()) else ""

    def _root_size(self, found: dict[str, str]) -> dict[str, str]:
        """The root's width, height and viewBox; a size that only scales the view box becomes the view box's own."""
        width, height = (_side(found.get(name)) for name in ("width", "height"))
        if found.get("viewBox", "").strip():
            box = view_box(found["viewBox"], self.policy.max_side)
        elif width and height:
            box = view_box(f"0 0 {width!r} {height!r}", self.policy.max_side)
        else:
            raise SvgRefusedError("no_size", "neither a viewBox nor width and height")
        self._canvas = Canvas(box[2], box[3], _PICTURE / max(box[2:]))
        aspect = _aspect(found.get("preserveAspectRatio", ""))
        shaped = bool(width and height) and abs(math.log((width or 1) / (height or 1) * box[3] / box[2])) > 0.01
        if shaped:
            view_box(f"0 0 {width!r} {height!r}", self.policy.max_side)
            shrink = min(1.0, _LARGEST_SIZE / max(width or 1, height or 1))
            size = [show((side or 1) * shrink, 2) for side in (width, height)]
        else:
            size = [significant(side) for side in box[2:]]
        kept = {"width": size[0], "height": size[1], "viewBox": " ".join(significant(v) for v in box)}
        return {**kept, "preserveAspectRatio": aspect} if shaped and aspect else kept


def _refuse_javascript(node: Node, href: str) -> None:
    if "".join(href.split()).lower().startswith("javascript:"):
        raise SvgRefusedError("script", f"{node.tag} with href {href[:60]!r}")


def _relative_to_box(node: Node) -> bool:
    units = {"linearGradient": "gradientUnits", "radialGradient": "gradientUnits", "pattern": "patternUnits"}
    units["mask"] = "maskUnits"
    name = units.get(node.tag)
    return name is not None and node.attributes.get(name, UNITS[name]).strip() == "objectBoundingBox"


def _side(text: str | None) -> float | None:
    if text is None or not text.strip() or text.strip() == "auto":
        return None
    value, percent = measure(text)
    if percent:
        return None
    if value <= 0:
        raise SvgRefusedError("canvas", f"a side of {text[:40]!r}")
    return value


def _aspect(text: str) -> str:
    match = _ASPECT.match(text.strip())
    if match is None or text.strip() in ("xMidYMid", "xMidYMid meet"):
        return ""
    return f"{match[1]} slice" if match[2] == "slice" else match[1]
