"""Takes out of a checked tree what draws nothing: invisible shapes, empty groups, properties that say the default."""

from trivium.data.svg.tree import Node
from trivium.data.svg.vocabulary import DRAWN, HIDDEN, OWN, PROPERTIES, SHAPES

_STROKES = frozenset(name for name in PROPERTIES if name.startswith("stroke-")) | {"vector-effect"}
_MARKERS = ("marker-start", "marker-mid", "marker-end")
_NEEDED = {  # without these nothing is drawn
    "path": ("d",),
    "rect": ("width", "height"),
    "circle": ("r",),
    "ellipse": ("rx", "ry"),
    "polyline": ("points",),
    "polygon": ("points",),
    "use": ("href",),
    "image": ("href", "width", "height"),
}


def simplify(root: Node, used: set[int]) -> None:
    """Works in place; `used` holds `id(node)` of referenced elements, which are kept whole."""
    _clean(root, used, frozenset(), shown=True)


def _clean(node: Node, used: set[int], inherited: frozenset[str], *, shown: bool) -> None:
    """`inherited`: properties that an ancestor sets; `shown`: drawn where it stands, not through a reference."""
    shown = shown and id(node) not in used and node.tag not in HIDDEN
    if shown:
        _drop_defaults(node, inherited)
    below = inherited | node.attributes.keys()
    children: list[Node | str] = []
    for child in node.children:
        if isinstance(child, str):
            children.append(child)
            continue
        _clean(child, used, below, shown=shown)
        if child.tag == "g" and not child.attributes:
            children += child.children
        elif not _useless(child, used, below, shown=shown):
            children.append(child)
    node.children = children


def _drop_defaults(node: Node, inherited: frozenset[str]) -> None:
    attributes = node.attributes
    for name in list(attributes):
        rule = PROPERTIES.get(name)
        if rule is not None and attributes[name] == rule[1] and not (rule[2] and name in inherited):
            del attributes[name]
    attributes.pop("clip-rule", None)  # outside a clipPath it says nothing
    if node.tag not in SHAPES:
        return
    if attributes.get("stroke", "none" if "stroke" not in inherited else "") == "none":
        for name in _STROKES & attributes.keys():
            del attributes[name]
    if attributes.get("fill") == "none":
        for name in ("fill-opacity", "fill-rule"):
            attributes.pop(name, None)


def _useless(node: Node, used: set[int], inherited: frozenset[str], *, shown: bool) -> bool:
    if any(id(inner) in used for inner in node.walk()):
        return False
    if node.tag in HIDDEN:
        return True  # a definition that nobody refers to; its stops and primitives go with it
    if node.tag == "g":
        return not node.children or node.attributes.get("display") == "none"
    if node.tag in DRAWN and (
        node.attributes.get("display") == "none"
        or any(node.attributes.get(name, "0") in ("", "0", "none") for name in _NEEDED.get(node.tag, ()))
    ):
        return True
    unfilled = node.attributes.get("fill") == "none"
    unstroked = node.attributes.get("stroke", "" if "stroke" in inherited else "none") == "none"
    return shown and node.tag in SHAPES and unfilled and unstroked and not _marked(node)


def _marked(node: Node) -> bool:
    return any(name in node.attributes for name in _MARKERS)


def own_order(node: Node) -> list[str]:
    """The order in which attributes are written: id, the element's own, transform, then properties by name."""
    first = ["id", *OWN[node.tag], "transform"]
    rest = sorted(name for name in node.attributes if name not in first)
    return [name for name in (*first, *rest) if name in node.attributes]
