"""Who points at whom inside a file: cycles refused, expansion counted without expanding, ids renamed.

Odd: the count is a walk over the graph of references with memory, so a fan-out of 10^8 costs as much as one of ten.
"""

import re
from bisect import bisect_left

from trivium.data.svg.policy import SvgRefusedError
from trivium.data.svg.tree import Node
from trivium.data.svg.vocabulary import GRADIENTS, SHAPES

URL = re.compile(r"url\(#([^()]+)\)\Z")
_MARKERS = ("marker-start", "marker-mid", "marker-end")
_DEEPEST = 64  # references in a chain; both engines recurse
Edge = tuple[str, int]  # target id, how often it is drawn


def targets(node: Node) -> list[tuple[str, str]]:
    """(attribute, id) of every reference that an element makes."""
    found = []
    for name, value in node.attributes.items():
        if name == "href":
            if value.startswith("#"):
                found.append((name, value[1:]))
        elif value.startswith("url("):
            match = URL.match(value)
            if match is not None:
                found.append((name, match[1]))
    return found


def check(root: Node, vertices: dict[int, int], limit: int) -> dict[str, Node]:
    """The referenced elements by id.

    `vertices` gives the segments of a shape by `id(node)`: a marker is drawn at each. Raises SvgRefusedError:
    `dangling_reference`, `duplicate_id`, `reference_cycle`, `expansion`.
    """
    order = list(root.walk())
    ends = _ends(root)
    by_id: dict[str, int] = {}
    twice: set[str] = set()
    edges: list[tuple[int, str, int]] = []
    for index, node in enumerate(order):
        own = node.attributes.get("id", "")
        if own:
            if own in by_id:
                twice.add(own)
            by_id.setdefault(own, index)
        for name, target in targets(node):
            times = max(1, vertices.get(id(node), 1)) if name in _MARKERS and node.tag in SHAPES else 1
            edges.append((index, target, times))
    used = {target for _, target, _ in edges}
    for target in sorted(used):
        if target not in by_id:
            raise SvgRefusedError("dangling_reference", f"nothing has the id {target[:60]!r}")
        if target in twice:
            raise SvgRefusedError("duplicate_id", f"two elements have the id {target[:60]!r}")
    starts = [edge[0] for edge in edges]
    graph: dict[str, tuple[int, list[Edge]]] = {"": (0, [(target, times) for _, target, times in edges])}
    for target in used:
        first = by_id[target]
        last = ends[first]
        low, high = _slice(starts, first, last)
        weight = 0 if order[first].tag in GRADIENTS else last - first
        graph[target] = (weight, [(other, times) for _, other, times in edges[low:high]])
    total = _expand(graph, limit)
    if total > limit:
        raise SvgRefusedError("expansion", f"references expand to {total} elements, {limit} allowed")
    return {target: order[by_id[target]] for target in used}


def _ends(root: Node) -> list[int]:
    """For each element in document order the index after its last descendant."""
    ends: list[int] = []

    def visit(node: Node) -> None:
        mine = len(ends)
        ends.append(0)
        for child in node.elements():
            visit(child)
        ends[mine] = len(ends)

    visit(root)
    return ends


def _slice(starts: list[int], first: int, last: int) -> tuple[int, int]:

    return bisect_left(starts, first), bisect_left(starts, last)


def _expand(graph: dict[str, tuple[int, list[Edge]]], limit: int) -> int:
    """Elements drawn when every reference from "" is followed; counts no further than just above `limit`."""
    totals: dict[str, int] = {}
    depths: dict[str, int] = {}
    open_ids: set[str] = set()
    stack: list[tuple[str, bool]] = [("", False)]
    while stack:
        name, leaving = stack.pop()
        if leaving:
            weight, edges = graph[name]
            totals[name] = min(limit + 1, weight + sum(times * totals[target] for target, times in edges))
            depths[name] = 1 + max((depths[target] for target, _ in edges), default=0)
            if depths[name] > _DEEPEST:
                raise SvgRefusedError("expansion", f"a chain of more than {_DEEPEST} references")
            open_ids.discard(name)
            continue
        if name in totals:
            continue
        if name in open_ids:
            raise SvgRefusedError("reference_cycle", f"the id {name[:60]!r} leads back to itself")
        open_ids.add(name)
        stack.append((name, True))
        for target, _ in graph[name][1]:
            if target in open_ids:
                raise SvgRefusedError("reference_cycle", f"the id {target[:60]!r} leads back to itself")
            if target not in totals:
                stack.append((target, False))
    return totals[""]


def rename(root: Node, used: dict[str, Node]) -> None:
    """Short ids (a, b, … z, aa, …) in document order for what is referenced; the rest lose theirs."""
    keep = {id(node): old for old, node in used.items()}
    names: dict[str, str] = {}
    for node in root.walk():
        node.attributes.pop("id", None)
        old = keep.get(id(node))
        if old is not None:
            names[old] = _letters(len(names))
            node.attributes["id"] = names[old]
    for node in root.walk():
        for name, target in targets(node):
            node.attributes[name] = f"#{names[target]}" if name == "href" else f"url(#{names[target]})"


def _letters(index: int) -> str:
    text = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        text = chr(97 + digit) + text
    return text
