"""A stranger's SVG file to safe, canonical text with the same picture.

Steps: inflate and parse with caps, resolve CSS into attributes, check and canonise each value, follow references on
paper, drop what draws nothing, rename ids, write. `sanitise(sanitise(x)) == sanitise(x)`.
"""

import msgspec

from trivium.data.svg import style
from trivium.data.svg.geometry import Canoniser
from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.references import check, rename, targets
from trivium.data.svg.simplify import own_order, simplify
from trivium.data.svg.tree import SVG, Node, parse
from trivium.data.svg.vocabulary import DRAWN, TEXT_ELEMENTS

_MOST_FILTERED = 100  # elements with a filter


class CleanSvg(msgspec.Struct, frozen=True, kw_only=True):
    """Canonical SVG text; `width` and `height` as its root states them, `title` if the file had one."""

    text: str
    width: float
    height: float
    elements: int
    title: str = ""


def sanitise(payload: bytes, policy: SvgPolicy) -> CleanSvg:
    """Raises SvgRefusedError with the reason."""
    source = parse(payload, policy)
    root = source.root
    nodes = list(root.walk())
    rules = style.read_sheets(source.sheets, len(nodes), policy)
    for node in nodes:
        node.attributes = style.apply(rules, node.tag, node.attributes, policy)
    canoniser = Canoniser(policy)
    canoniser.run(root)
    used = check(root, canoniser.vertices, policy.max_expansion)
    if sum("filter" in node.attributes for node in nodes) > _MOST_FILTERED:
        raise SvgRefusedError("filter", f"more than {_MOST_FILTERED} elements with a filter")
    held = {id(node) for node in used.values()}
    for node in nodes:
        if id(node) not in held:
            node.attributes.pop("id", None)
    elements = 0
    while elements != (elements := sum(1 + len(node.attributes) for node in root.walk())):
        wanted = {target for node in root.walk() for _, target in targets(node)}
        used = {name: node for name, node in used.items() if name in wanted}
        simplify(root, {id(node) for node in used.values()})
    if not any(node.tag in DRAWN for node in root.walk()):
        raise SvgRefusedError("empty", "nothing that could be drawn")
    rename(root, used)
    return CleanSvg(
        text=write(root),
        width=float(root.attributes["width"]),
        height=float(root.attributes["height"]),
        elements=sum(1 for _ in root.walk()),
        title=source.title,
    )


def write(root: Node) -> str:
    """One element a line, no indentation, attributes in a fixed order."""
    out: list[str] = []
    _write(root, out)
    return f'<svg xmlns="{SVG}"' + "".join(out)[len("<svg") :]


def _write(node: Node, out: list[str]) -> None:
    head = "".join(f' {name}="{_escape(node.attributes[name])}"' for name in own_order(node))
    if not node.children:
        out.append(f"<{node.tag}{head}/>")
        return
    gap = "" if node.tag in TEXT_ELEMENTS else "\n"
    out.append(f"<{node.tag}{head}>{gap}")
    for child in node.children:
        if isinstance(child, str):
            out.append(_escape(child))
        else:
            _write(child, out)
        out.append(gap)
    out.append(f"</{node.tag}>")


def _escape(text: str) -> str:
    for plain, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\n", " "), ("\t", " ")):
        text = text.replace(plain, safe)
    return text
