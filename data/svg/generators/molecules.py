"""Skeletal formulas of known molecules, laid out beforehand (scripts/svg_tables.py), turned and coloured by lot."""

import functools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators.canvas import Canvas, Made, Point
from trivium.data.svg.generators.words import INK

_COLORS = {
    "O": "#d62728",
    "N": "#1f4fd8",
    "S": "#b8860b",
    "Cl": "#2e8b57",
    "Br": "#8b2500",
    "F": "#2e8b57",
    "I": "#6a0dad",
}
_NAMES = {
    "O": "oxygen",
    "N": "nitrogen",
    "S": "sulfur",
    "Cl": "chlorine",
    "Br": "bromine",
    "F": "fluorine",
    "I": "iodine",
}
_BOND = 34.0  # user units a bond


class Molecule(msgspec.Struct, frozen=True):
    """`atoms`: element, number of hydrogens; `at`: their places, bonds about 1 long; `bonds`: two atoms and order."""

    name: str
    formula: str
    atoms: tuple[tuple[str, int], ...]
    at: tuple[tuple[float, float], ...]
    bonds: tuple[tuple[int, int, int], ...]
    rings: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    molecule: Molecule
    turn: int  # degrees
    flipped: bool
    colored: bool
    titled: bool


@functools.cache
def table() -> tuple[Molecule, ...]:
    payload = Path(__file__).with_name("molecules.json").read_bytes()
    return msgspec.json.decode(payload, type=tuple[Molecule, ...])


def make(dice: Dice) -> Made:
    molecules = [molecule for molecule in table() if len(molecule.atoms) > 2]
    drawn = Drawn(
        molecule=dice.pick(molecules),
        turn=dice.pick(range(0, 360, 30)),
        flipped=dice.below(2) == 0,
        colored=dice.below(2) == 0,
        titled=dice.below(3) > 0,
    )
    return draw(drawn).with_changes(_edits(drawn, dice, molecules), _bugs(drawn, dice))


def _places(drawn: Drawn) -> list[Point]:
    angle = math.radians(drawn.turn)
    cos, sin = math.cos(angle), math.sin(angle)
    points = [((-x if drawn.flipped else x), y) for x, y in drawn.molecule.at]
    points = [((x * cos - y * sin) * _BOND, (x * sin + y * cos) * _BOND) for x, y in points]
    left, top = min(x for x, _ in points), min(y for _, y in points)
    return [(x - left + 40, y - top + (60 if drawn.titled else 36)) for x, y in points]


def draw(drawn: Drawn) -> Made:
    molecule, places = drawn.molecule, _places(drawn)
    width, height = max(x for x, _ in places) + 40, max(y for _, y in places) + 36
    canvas = Canvas(max(width, 150.0), height)
    if drawn.titled:
        canvas.text(canvas.width / 2, 24, molecule.name, 14, "middle")
    orders = {1: "single bond", 2: "double bond", 3: "triple bond"}
    for one, two, order in molecule.bonds:
        lines = _bond(canvas, molecule, places, (one, two), order)
        canvas.part(Part(kind=orders[order]), *lines)
    for number, (element, hydrogens) in enumerate(molecule.atoms):
        x, y = places[number]
        if element != "C":
            _label(canvas, (x, y), element, hydrogens, drawn, _leftward(molecule, places, number))
    counts = {element: sum(atom[0] == element for atom in molecule.atoms) for element in ("C", *_NAMES)}
    sizes = {f"{_NAMES.get(element, 'carbon')} atoms": float(count) for element, count in counts.items() if count}
    sizes["hydrogen atoms"] = float(sum(atom[1] for atom in molecule.atoms))
    sizes["rings"] = float(len(molecule.rings))
    title = molecule.name if drawn.titled else ""
    return canvas.made("the skeletal formula of a molecule", title, sizes, tuple(sizes))


def _bond(canvas: Canvas, molecule: Molecule, places: list[Point], ends: tuple[int, int], order: int) -> list[int]:
    """The lines of one bond; the second line of a double bond lies on the inner side of its ring."""
    one, two = ends
    (x1, y1), (x2, y2) = _cut(molecule, places, one, two), _cut(molecule, places, two, one)
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    right, down = -(y2 - y1) / length * 5, (x2 - x1) / length * 5
    if order == 1:
        return [canvas.line((x1, y1), (x2, y2), INK, 2)]
    if order == 3:
        return [
            canvas.line((x1 + right * s, y1 + down * s), (x2 + right * s, y2 + down * s), INK, 2)
            for s in (-0.8, 0, 0.8)
        ]
    ring = next((ring for ring in molecule.rings if one in ring and two in ring), ())
    if not ring:
        shifts = (-0.5, 0.5)
        return [canvas.line((x1 + right * s, y1 + down * s), (x2 + right * s, y2 + down * s), INK, 2) for s in shifts]
    middle = (sum(places[n][0] for n in ring) / len(ring), sum(places[n][1] for n in ring) / len(ring))
    side = 1 if right * (middle[0] - x1) + down * (middle[1] - y1) > 0 else -1
    short = 0.14
    inner = [
        (a + short * (b - a) + side * shift, c + short * (d - c) + side * lift)
        for (a, b, shift), (c, d, lift) in (((x1, x2, right), (y1, y2, down)), ((x2, x1, right), (y2, y1, down)))
    ]
    return [canvas.line((x1, y1), (x2, y2), INK, 2), canvas.line(inner[0], inner[1], INK, 2)]


def _cut(molecule: Molecule, places: list[Point], one: int, two: int) -> Point:
    """Where a bond begins: at the atom, or outside of its letters."""
    (x, y), (u, v) = places[one], places[two]
    if molecule.atoms[one][0] == "C":
        return x, y
    share = min(0.4, 10 / (math.hypot(u - x, v - y) or 1.0))
    return x + share * (u - x), y + share * (v - y)


def _leftward(molecule: Molecule, places: list[Point], number: int) -> bool:
    """Whether the hydrogens stand on the left: where all bonds lead to the right."""
    others = [two if one == number else one for one, two, _ in molecule.bonds if number in (one, two)]
    return bool(others) and sum(places[other][0] - places[number][0] for other in others) > 1


def _label(canvas: Canvas, spot: Point, element: str, hydrogens: int, drawn: Drawn, leftward: bool) -> None:
    x, y = spot
    color = _COLORS[element] if drawn.colored else INK
    words = canvas.write(x, y + 5, element, 14, "middle", fill=color)
    marks = [words]
    if hydrogens:
        wide = 5.5 * len(element)
        side = -1 if leftward else 1
        digit = 6 if hydrogens > 1 else 0
        marks.append(
            canvas.write(x + side * (wide + 6) - (digit if leftward else 0), y + 5, "H", 14, "middle", fill=color)
        )
        if hydrogens > 1:
            marks.append(
                canvas.write(
                    x + side * (wide + 6) + 8 - (digit if leftward else 0),
                    y + 9,
                    str(hydrogens),
                    9,
                    "middle",
                    fill=color,
                )
            )
    canvas.part(Part(kind=f"{_NAMES[element]} atom", color=color if drawn.colored else ""), *marks)


def _edits(drawn: Drawn, dice: Dice, molecules: list[Molecule]) -> list[Edit]:
    turned = dice.pick([30, 60, 90, 180])
    found = [
        Edit(
            instruction=f"Turn the molecule {turned}° clockwise; letters stay upright.",
            code=draw(replace(drawn, turn=(drawn.turn + turned) % 360)).svg,
        )
    ]
    if any(element != "C" for element, _ in drawn.molecule.atoms):
        said = (
            "Write all atoms in the colour of the bonds."
            if drawn.colored
            else "Give each element but carbon a colour of its own: " + _legend(drawn)
        )
        found.append(Edit(instruction=said, code=draw(replace(drawn, colored=not drawn.colored)).svg))
    if drawn.titled:
        found.append(Edit(instruction="Leave the name out.", code=draw(replace(drawn, titled=False)).svg))
    return dice.shuffled(found)


def _legend(drawn: Drawn) -> str:
    elements = sorted({element for element, _ in drawn.molecule.atoms} - {"C"})
    return ", ".join(f"{_NAMES[element]} {_COLORS[element]}" for element in elements) + "."


def _bugs(drawn: Drawn, dice: Dice) -> list[Edit]:
    molecule, found = drawn.molecule, []
    double = [n for n, bond in enumerate(molecule.bonds) if bond[2] == 2]
    if double:
        at = dice.pick(double)
        bonds = tuple((one, two, 1 if n == at else order) for n, (one, two, order) in enumerate(molecule.bonds))
        said = "A double bond is drawn as a single one."
        found.append(
            Edit(
                instruction=said, code=draw(replace(drawn, molecule=msgspec.structs.replace(molecule, bonds=bonds))).svg
            )
        )
    at = dice.below(len(molecule.bonds))
    bonds = tuple(bond for n, bond in enumerate(molecule.bonds) if n != at)
    code = draw(replace(drawn, molecule=msgspec.structs.replace(molecule, bonds=bonds))).svg
    found.append(Edit(instruction="A bond is missing.", code=code, enough=False))
    return dice.shuffled(found)
