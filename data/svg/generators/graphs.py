"""Graphs of lettered nodes on a ring, edges with lengths."""

import math
from dataclasses import dataclass, replace
from itertools import combinations

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

Link = tuple[int, int, int]  # two nodes, the smaller first, and a length


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: int
    links: tuple[Link, ...]
    color: str
    labels: bool  # whether lengths are written


def make(dice: Dice) -> Made:
    nodes = dice.between(4, 8)
    links: list[Link] = []
    for node in range(1, nodes):  # a tree first, so that all hangs together
        links.append((dice.below(node), node, dice.between(1, 20)))
    free = [pair for pair in combinations(range(nodes), 2) if all(pair != link[:2] for link in links)]
    links += [(one, two, dice.between(1, 20)) for one, two in dice.sample(free, dice.between(0, nodes // 2 + 1))]
    graph = Graph(nodes, tuple(sorted(links)), dice.pick(dice.pick(words.PALETTES)), dice.below(3) > 0)
    return draw(graph).with_changes(_edits(graph, dice), _bugs(graph, dice))


def _spot(graph: Graph, node: int) -> Point:
    angle = 2 * math.pi * node / graph.nodes - math.pi / 2
    return 150 + 112 * math.cos(angle), 150 + 112 * math.sin(angle)


def letter(node: int) -> str:
    return chr(65 + node)


def draw(graph: Graph) -> Made:
    canvas = Canvas(300, 300)
    for one, two, length in graph.links:
        start, end = _spot(graph, one), _spot(graph, two)
        element = canvas.line(start, end, "#777777", 2)
        sizes = {"length": float(length)} if graph.labels else {}
        canvas.part(Part(kind="edge", name=f"{letter(one)}–{letter(two)}", sizes=sizes), element)
    if graph.labels:
        for (_, _, length), (x, y) in zip(graph.links, _labels(graph), strict=True):
            canvas.add("circle", cx=x, cy=y, r=9, fill="#ffffff")
            canvas.text(x, y + 4, str(length), 11, "middle")
    for node in range(graph.nodes):
        x, y = _spot(graph, node)
        neighbours = float(sum(node in link[:2] for link in graph.links))
        element = canvas.add("circle", cx=x, cy=y, r=16, fill=graph.color)
        word = canvas.write(x, y + 5, letter(node), 14, "middle", fill="#ffffff", font_weight="bold")
        canvas.part(
            Part(kind="node", name=letter(node), text=letter(node), sizes={"neighbours": neighbours}), element, word
        )
    sizes = {"total length of all edges": float(sum(link[2] for link in graph.links))} if graph.labels else {}
    what = "a graph with lengths at its edges" if graph.labels else "a graph"
    return canvas.made(what, "", sizes, ("length", "neighbours") if graph.labels else ("neighbours",))


def _labels(graph: Graph) -> list[Point]:
    """A place on each edge for its length, away from those before and from other edges where that can be had."""
    placed: list[Point] = []
    lines = [(_spot(graph, one), _spot(graph, two)) for one, two, _ in graph.links]
    for number, (start, end) in enumerate(lines):
        others = [line for n, line in enumerate(lines) if n != number]
        spots = [_between(start, end, share / 100) for share in (50, 40, 60, 32, 68, 45, 55, 36, 64)]
        placed.append(max(spots, key=lambda spot: round(_room(spot, placed, others))))
    return placed


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _room(spot: Point, placed: list[Point], lines: list[tuple[Point, Point]]) -> float:
    """The distance to the next label (as half a label is wide, at most) and the next edge."""
    labels = min((math.dist(spot, other) for other in placed), default=40.0)
    edges = min((math.dist(spot, _between(*line, share / 20)) for line in lines for share in range(21)), default=20.0)
    return min(labels, 24.0) * 2 + min(edges, 12.0)


def _edits(graph: Graph, dice: Dice) -> list[Edit]:
    found = []
    free = [pair for pair in combinations(range(graph.nodes), 2) if all(pair != link[:2] for link in graph.links)]
    if free:
        one, two = dice.pick(free)
        length = dice.between(1, 20)
        of = f" of length {length}" if graph.labels else ""
        said = f"Add an edge{of} between {letter(one)} and {letter(two)}."
        found.append(Edit(instruction=said, code=_code(graph, links=tuple(sorted((*graph.links, (one, two, length)))))))
    gone = dice.pick(graph.links)
    said = f"Remove the edge between {letter(gone[0])} and {letter(gone[1])}."
    found.append(Edit(instruction=said, code=_code(graph, links=tuple(link for link in graph.links if link != gone))))
    if graph.labels:
        other = (*gone[:2], gone[2] + dice.between(1, 9))
        links = tuple(other if link == gone else link for link in graph.links)
        said = f"Change the length of the edge between {letter(gone[0])} and {letter(gone[1])} to {other[2]}."
        found.append(Edit(instruction=said, code=_code(graph, links=links)))
    return dice.shuffled(found)


def _bugs(graph: Graph, dice: Dice) -> list[Edit]:
    one, two, length = dice.pick(graph.links)
    free = [
        n
        for n in range(graph.nodes)
        if n not in (one, two) and all((min(one, n), max(one, n)) != k[:2] for k in graph.links)
    ]
    if not free:
        return []
    wrong = dice.pick(free)
    links = [link for link in graph.links if link != (one, two, length)] + [(min(one, wrong), max(one, wrong), length)]
    said = f"An edge that should lead from {letter(one)} to {letter(two)} leads to {letter(wrong)}."
    return [Edit(instruction=said, code=_code(graph, links=tuple(sorted(links))))]


def _code(graph: Graph, **changes: object) -> str:
    return draw(replace(graph, **changes)).svg  # type: ignore[arg-type]
