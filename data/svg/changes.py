"""One function a kind of change: it changes a tree in place and says in words what it did; None where it can't.

A part is named by its order among the elements of its kind in the code, a length in the drawing's own units: what the
words say can be done exactly. Words of a mistake say what is seen to be wrong.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.naming import begun
from trivium.data.svg.quantities import show, significant
from trivium.data.svg.tree import Node
from trivium.data.svg.vocabulary import DRAWN, HIDDEN

COLORS = {
    "red": "#e6194b",
    "green": "#3cb44b",
    "yellow": "#ffe119",
    "blue": "#4363d8",
    "orange": "#f58231",
    "purple": "#911eb4",
    "cyan": "#42d4f4",
    "pink": "#fabed4",
    "brown": "#9a6324",
    "teal": "#469990",
}
_WORDS = {"rect": "rectangle", "use": "use element", "image": "picture"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PAINTS = ("fill", "stroke", "stop-color")


@dataclass(frozen=True, slots=True)
class Change:
    instruction: str
    root: Node | None = None  # when the tree itself was replaced
    enough: bool = True  # of a bug: whether what is said leads to one right drawing


Maker = Callable[[Node, Dice], Change | None]


@dataclass(frozen=True, slots=True)
class Place:
    """A drawn element that no reference leads to, its parent, and words that name it alone."""

    node: Node
    parent: Node
    words: str


def edits_of(*, planned: bool) -> tuple[Maker, ...]:
    """The kinds of edits; a drawing of data keeps its parts."""
    whole = (recolor, background, turn, mirror, shrink, thicken)
    return whole[:2] if planned else (*whole, recolor_one, remove, move, double, enlarge)


def bugs_of(*, planned: bool) -> tuple[Maker, ...]:
    """The kinds of mistakes."""
    whole = (cut_off, upside_down, unfilled)
    return (lost, shifted) if planned else (*whole, wrong_color, lost, shifted, covered, wrong_size)


def places(root: Node) -> list[Place]:
    """All drawn elements with their names, in the order of the code."""
    found = list(_below(root))
    totals: dict[str, int] = {}
    for node, _ in found:
        totals[node.tag] = totals.get(node.tag, 0) + 1
    numbers: dict[str, int] = {}
    named = []
    for node, parent in found:
        number = numbers[node.tag] = numbers.get(node.tag, 0) + 1
        word = _WORDS.get(node.tag, node.tag)
        named.append(Place(node, parent, f"the {word}" if totals[node.tag] == 1 else f"the {_nth(number)} {word}"))
    return named


def _below(node: Node) -> Iterator[tuple[Node, Node]]:
    for child in node.elements():
        if child.tag in HIDDEN:
            continue
        if child.tag in DRAWN:
            yield child, node
        else:
            yield from _below(child)


def _nth(number: int) -> str:
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _box(root: Node) -> tuple[float, float, float, float]:
    x, y, width, height = (float(part) for part in root.attributes["viewBox"].split())
    return x, y, width, height


def _paint(node: Node) -> tuple[str, str] | None:
    """The property and flat colour that an element states itself."""
    for name in ("fill", "stroke"):
        value = node.attributes.get(name, "none")
        if value != "none" and not value.startswith("url("):
            return name, value
    return None


def _free(*taken: str) -> list[tuple[str, str]]:
    """Words and values of the colours that are none of `taken`; a drawing that was changed long enough has them all."""
    return [(word, value) for word, value in COLORS.items() if value not in taken and word not in taken]


def _wrapped(root: Node, transform: str) -> None:
    """All that is drawn goes into one group; definitions stay where they are."""
    held = [child for child in root.elements() if child.tag in HIDDEN]
    moved: list[Node | str] = [child for child in root.elements() if child.tag not in HIDDEN]
    root.children = [*held, Node("g", {"transform": transform}, moved)]


def _placed(node: Node, transform: str) -> None:
    node.attributes["transform"] = f"{transform} {node.attributes.get('transform', '')}".strip()


def _whole(root: Node) -> bool:
    """Whether the drawing as a whole was turned or shrunk before: once is enough."""
    drawn = [child for child in root.elements() if child.tag not in HIDDEN]
    return len(drawn) == 1 and drawn[0].tag == "g" and "transform" in drawn[0].attributes


def recolor(root: Node, dice: Dice) -> Change | None:
    """One colour of the drawing becomes another everywhere."""
    used = sorted({value for node in root.walk() for name in _PAINTS if (value := node.attributes.get(name))})
    used = [value for value in used if value != "none" and not value.startswith("url(")]
    if not (free := _free(*used)):
        return None
    word, value = dice.pick(free)
    if not used or used == ["currentColor"]:
        for node in root.walk():
            for name in _PAINTS:
                if node.attributes.get(name) == "currentColor":
                    node.attributes[name] = value
        if not used:
            root.attributes["fill"] = value
        return Change(f"Draw all that is black in {word} ({value}) instead.")
    old = dice.pick(used)
    for node in root.walk():
        for name in _PAINTS:
            if node.attributes.get(name) == old:
                node.attributes[name] = value
    return Change(f"Change everything that has the colour {old} to {word} ({value}).")


def background(root: Node, dice: Dice) -> Change | None:
    x, y, width, height = _box(root)
    first = next(root.elements(), None)
    if first is not None and first.tag == "rect" and first.attributes.get("width") == significant(width):
        return None
    word, value = dice.pick(_free())
    corner = dice.pick([0, 0, round(min(width, height) / 8, 2)])
    attributes = {"x": significant(x), "y": significant(y), "width": significant(width), "height": significant(height)}
    if corner:
        attributes["rx"] = significant(corner)
    root.children.insert(0, Node("rect", {**attributes, "fill": value, "stroke": "none"}))
    rounded = f" with corners rounded by {corner:g} units" if corner else ""
    return Change(f"Put a {word} ({value}) rectangle as large as the drawing behind it{rounded}.")


def turn(root: Node, dice: Dice) -> Change | None:
    if _whole(root):
        return None
    x, y, width, height = _box(root)
    angle = dice.pick([90, 180, 270]) if width == height else 180
    _wrapped(root, f"rotate({angle} {significant(x + width / 2)} {significant(y + height / 2)})")
    return Change(f"Turn the whole drawing {angle}° clockwise around its centre.")


def mirror(root: Node, dice: Dice) -> Change | None:
    if _whole(root):
        return None
    x, y, width, height = _box(root)
    if dice.below(2):
        _wrapped(root, f"matrix(-1 0 0 1 {significant(2 * x + width)} 0)")
        return Change("Mirror the whole drawing so that left and right change places.")
    _wrapped(root, f"matrix(1 0 0 -1 0 {significant(2 * y + height)})")
    return Change("Mirror the whole drawing so that top and bottom change places.")


def shrink(root: Node, dice: Dice) -> Change | None:
    if _whole(root):
        return None
    x, y, width, height = _box(root)
    percent = dice.pick([50, 60, 75, 80])
    keep = 1 - percent / 100
    shift = f"{significant(keep * (x + width / 2))} {significant(keep * (y + height / 2))}"
    _wrapped(root, f"translate({shift}) scale({percent / 100:g})")
    return Change(f"Shrink the whole drawing to {percent} % of its size and keep it centred.")


def thicken(root: Node, dice: Dice) -> Change | None:
    """Only where all strokes state one width."""
    widths = {node.attributes["stroke-width"] for node in root.walk() if "stroke-width" in node.attributes}
    stroked = {node.attributes["stroke"] for node in root.walk() if "stroke" in node.attributes} - {"none"}
    if len(widths) != 1 or not stroked or "%" in (old := widths.pop()) or float(old) <= 0:
        return None
    new = significant(float(old) * dice.pick([0.5, 1.5, 2.0]))
    for node in root.walk():
        if "stroke-width" in node.attributes:
            node.attributes["stroke-width"] = new
    return Change(f"Make the lines {new} units wide instead of {old}.")


def _repainted(root: Node, dice: Dice) -> tuple[Place, str, str, str, str] | None:
    """An element that got another colour: which, what of it (fill or stroke), the old value, the new one's word, it."""
    candidates = [(place, paint) for place in places(root) if (paint := _paint(place.node))]
    if not candidates:
        return None
    place, (name, old) = dice.pick(candidates)
    word, value = dice.pick(_free(old))
    place.node.attributes[name] = value
    return place, name, old, word, value


def recolor_one(root: Node, dice: Dice) -> Change | None:
    if (done := _repainted(root, dice)) is None:
        return None
    place, name, old, word, value = done
    verb = "Fill" if name == "fill" else "Draw the line of"
    return Change(f"{verb} {place.words} in the code with {word} ({value}) instead of {old}.")


def _picked(root: Node, dice: Dice, least: int = 1) -> Place | None:
    """One of the drawing's elements, when it has at least so many."""
    found = places(root)
    return dice.pick(found) if len(found) >= least else None


def _taken_out(root: Node, dice: Dice) -> Place | None:
    """An element that stands in the drawing no more; it was not the only one."""
    if (place := _picked(root, dice, 2)) is not None:
        place.parent.children = [child for child in place.parent.children if child is not place.node]
    return place


def remove(root: Node, dice: Dice) -> Change | None:
    place = _taken_out(root, dice)
    return Change(f"Remove {place.words} in the code.") if place else None


def _shift(root: Node, dice: Dice) -> tuple[float, float, str]:
    """A move of a tenth to a third of the drawing, and its words."""
    _, _, width, height = _box(root)
    along = dice.below(2)
    size = (width, height)[along]
    step = round(size * dice.pick([0.1, 0.15, 0.2, 0.3]), 1 if size > 10 else 3) or size / 5
    back = dice.below(2)
    word = (("right", "left"), ("down", "up"))[along][back]
    signed = -step if back else step
    return (0.0 if along else signed), (signed if along else 0.0), f"{step:g} units {word}"


def _moved(root: Node, dice: Dice, least: int = 1) -> tuple[Place, str] | None:
    """An element that was moved, and how far and where in words."""
    if (place := _picked(root, dice, least)) is None:
        return None
    right, down, words = _shift(root, dice)
    _placed(place.node, f"translate({show(right, 3)} {show(down, 3)})")
    return place, words


def move(root: Node, dice: Dice) -> Change | None:
    if (done := _moved(root, dice)) is None:
        return None
    place, words = done
    return Change(f"Move {place.words} in the code {words}.")


def double(root: Node, dice: Dice) -> Change | None:
    if (place := _picked(root, dice)) is None:
        return None
    right, down, words = _shift(root, dice)
    copy = Node(place.node.tag, dict(place.node.attributes), list(place.node.children))
    copy.attributes.pop("id", None)
    _placed(copy, f"translate({show(right, 3)} {show(down, 3)})")
    at = next(index for index, child in enumerate(place.parent.children) if child is place.node)
    place.parent.children.insert(at + 1, copy)
    return Change(f"Add a copy of {place.words} in the code right after it, moved {words}.")


def enlarge(root: Node, dice: Dice) -> Change | None:
    round_ones = [
        place for place in places(root) if place.node.tag == "circle" and "%" not in place.node.attributes["r"]
    ]
    if not round_ones:
        return None
    place = dice.pick(round_ones)
    old = place.node.attributes["r"]
    new = place.node.attributes["r"] = significant(float(old) * dice.pick([0.5, 1.5, 2.0]))
    return Change(f"Give {place.words} in the code a radius of {new} units instead of {old}.")


def wrong_color(root: Node, dice: Dice) -> Change | None:
    if (done := _repainted(root, dice)) is None:
        return None
    _, _, old, word, _ = done
    return Change(f"A part that should have the colour {old} is {word}.")


def lost(root: Node, dice: Dice) -> Change | None:
    if (place := _taken_out(root, dice)) is None:
        return None
    paint = _paint(place.node)
    word = _WORDS.get(place.node.tag, place.node.tag)
    coloured = f" of the colour {paint[1]}" if paint and paint[1] != "currentColor" else ""
    kind = begun(word) if word != "path" else "A part"
    return Change(f"{kind}{coloured} is missing.", enough=False)


def shifted(root: Node, dice: Dice) -> Change | None:
    if (done := _moved(root, dice, 2)) is None:
        return None
    direction = done[1].rpartition(" ")[2]
    said = {"right": "too far to the right", "left": "too far to the left", "up": "too high", "down": "too low"}
    return Change(f"One part of the drawing lies {said[direction]}.", enough=False)


def covered(root: Node, dice: Dice) -> Change | None:
    found = [place for place in places(root) if place.parent is root]
    if len(found) < 2:
        return None
    place = found[-1]
    root.children = [place.node, *(child for child in root.children if child is not place.node)]
    return Change("The part that should lie on top of all others lies below them.")


def cut_off(root: Node, dice: Dice) -> Change | None:
    x, y, width, height = _box(root)
    share = dice.pick([0.6, 0.7, 0.8])
    root.attributes["viewBox"] = " ".join(significant(v) for v in (x, y, width * share, height * share))
    return Change("The drawing is too large for its frame: it is cut off on the right and at the bottom.", enough=False)


def upside_down(root: Node, dice: Dice) -> Change | None:
    x, y, width, height = _box(root)
    _wrapped(root, f"rotate(180 {significant(x + width / 2)} {significant(y + height / 2)})")
    return Change("The whole drawing stands on its head.")


def unfilled(root: Node, dice: Dice) -> Change | None:
    """`fill="none"` forgotten: outlines become black shapes."""
    hollow = [node for node in root.walk() if node.attributes.get("fill") == "none"]
    if not hollow:
        return None
    for node in hollow:
        del node.attributes["fill"]
    return Change("Shapes that should be outlines only are filled with black.")


def wrong_size(root: Node, dice: Dice) -> Change | None:
    """The whole grows around the upper left corner, as when a scale is forgotten."""
    factor = dice.pick([0.5, 1.5])
    _wrapped(root, f"scale({factor:g})")
    return Change(f"Everything is drawn too {'small' if factor < 1 else 'large'} and out of its place.")
