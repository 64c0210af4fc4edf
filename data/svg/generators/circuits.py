"""Circuits of a battery with resistors and lamps, in series or side by side."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators.canvas import Canvas, Made, Point
from trivium.data.svg.generators.words import INK

_OHMS = (10, 15, 20, 22, 30, 33, 40, 47, 50, 60, 68, 82, 100, 120, 150, 200, 220, 300, 330, 470)
_VOLTS = (3, 4.5, 6, 9, 12, 24)


@dataclass(frozen=True, slots=True)
class Circuit:
    """`ohms` of R1, R2, …; a switch that is `open_` or not, or none (None)."""

    volts: float
    ohms: tuple[int, ...]
    side_by_side: bool
    open_: bool | None
    lamp: bool


def make(dice: Dice) -> Made:
    side = dice.below(2) == 0
    circuit = Circuit(
        volts=dice.pick(_VOLTS),
        ohms=tuple(dice.pick(_OHMS) for _ in range(dice.between(2, 4))),
        side_by_side=side,
        open_=dice.pick([None, True, False]),
        lamp=dice.below(3) == 0,
    )
    return draw(circuit).with_changes(_edits(circuit, dice), _bugs(circuit, dice))


def total(circuit: Circuit) -> float:
    """Of all resistors, in ohms."""
    return 1 / sum(1 / ohm for ohm in circuit.ohms) if circuit.side_by_side else float(sum(circuit.ohms))


def draw(circuit: Circuit) -> Made:
    canvas = Canvas(400, 250)
    left, right, top, bottom = 50.0, 360.0, 50.0, 205.0
    _battery(canvas, left, top, bottom, circuit)
    start = _top(canvas, left, top, circuit)
    if circuit.side_by_side:
        step = (right - start) / len(circuit.ohms)
        for number, ohm in enumerate(circuit.ohms, start=1):
            x = start + step * number
            _wire(canvas, (x - step, top), (x, top))
            _wire(canvas, (x - step, bottom), (x, bottom))
            _resistor(canvas, (x, top), (x, bottom), number, ohm)
            if number < len(circuit.ohms):
                for y in (top, bottom):
                    canvas.add("circle", cx=x, cy=y, r=3, fill=INK)
        _wire(canvas, (left, bottom), (start, bottom))
    else:
        last = len(circuit.ohms)
        step = (right - start) / max(1, last - 1)
        for number, ohm in enumerate(circuit.ohms[:-1], start=1):
            _resistor(canvas, (start + step * (number - 1), top), (start + step * number, top), number, ohm)
        _resistor(canvas, (right, top), (right, bottom), last, circuit.ohms[-1])
        _wire(canvas, (left, bottom), (right, bottom))
    sizes = {"total resistance Ω": round(total(circuit), 3)}
    way = "in parallel" if circuit.side_by_side else "in series"
    return canvas.made(
        f"a circuit diagram with {len(circuit.ohms)} resistors {way}", "", sizes, ("resistance Ω", *sizes, "voltage V")
    )


def _wire(canvas: Canvas, start: Point, end: Point) -> int:
    return canvas.line(start, end, INK, 2)


def _battery(canvas: Canvas, x: float, top: float, bottom: float, circuit: Circuit) -> None:
    middle = (top + bottom) / 2
    _wire(canvas, (x, top), (x, middle - 5))
    _wire(canvas, (x, bottom), (x, middle + 5))
    plates = (
        canvas.line((x - 16, middle - 5), (x + 16, middle - 5), INK, 2),
        canvas.line((x - 8, middle + 5), (x + 8, middle + 5), INK, 4),
    )
    label = canvas.write(x + 20, middle + 4, f"{circuit.volts:g} V", 12)
    canvas.part(Part(kind="battery", sizes={"voltage V": circuit.volts}), *plates, label)


def _top(canvas: Canvas, left: float, top: float, circuit: Circuit) -> float:
    """Switch and lamp on the upper wire; gives where it goes on."""
    x = left
    if circuit.open_ is not None:
        _wire(canvas, (x, top), (x + 14, top))
        _wire(canvas, (x + 44, top), (x + 58, top))
        tip = (x + 40, top - 18) if circuit.open_ else (x + 44, top)
        lever = canvas.line((x + 14, top), tip, INK, 2.5)
        dots = [canvas.add("circle", cx=x + at, cy=top, r=3, fill=INK) for at in (14, 44)]
        canvas.part(Part(kind=f"{'open' if circuit.open_ else 'closed'} switch"), lever, *dots)
        x += 58
    if circuit.lamp:
        _wire(canvas, (x, top), (x + 12, top))
        ring = canvas.add("circle", cx=x + 26, cy=top, r=14, fill="#ffffff", stroke=INK, stroke_width=2)
        cross = [canvas.line((x + 16, top - 10 * s), (x + 36, top + 10 * s), INK, 2) for s in (1, -1)]
        canvas.part(Part(kind="lamp"), ring, *cross)
        _wire(canvas, (x + 40, top), (x + 52, top))
        x += 52
    return x


def _resistor(canvas: Canvas, start: Point, end: Point, number: int, ohm: int) -> None:
    """A box in the middle of the wire, its name and value beside it."""
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    upright = start[0] == end[0]
    half = 18.0
    if upright:
        _wire(canvas, start, (x, y - half))
        _wire(canvas, (x, y + half), end)
        box = canvas.add(
            "rect", x=x - 8, y=y - half, width=16, height=2 * half, fill="#ffffff", stroke=INK, stroke_width=2
        )
        labels = (
            canvas.write(x - 12, y - 3, f"R{number}", 11, "end"),
            canvas.write(x - 12, y + 11, f"{ohm} Ω", 11, "end"),
        )
    else:
        _wire(canvas, start, (x - half, y))
        _wire(canvas, (x + half, y), end)
        box = canvas.add(
            "rect", x=x - half, y=y - 8, width=2 * half, height=16, fill="#ffffff", stroke=INK, stroke_width=2
        )
        labels = canvas.write(x, y - 14, f"R{number}", 11, "middle"), canvas.write(x, y + 24, f"{ohm} Ω", 11, "middle")
    canvas.part(Part(kind="resistor", name=f"R{number}", sizes={"resistance Ω": float(ohm)}), box, *labels)


def _edits(circuit: Circuit, dice: Dice) -> list[Edit]:
    at = dice.below(len(circuit.ohms))
    new = dice.pick([ohm for ohm in _OHMS if ohm != circuit.ohms[at]])
    ohms = tuple(new if n == at else ohm for n, ohm in enumerate(circuit.ohms))
    said = f"Change R{at + 1} from {circuit.ohms[at]} Ω to {new} Ω."
    found = [Edit(instruction=said, code=_code(circuit, ohms=ohms))]
    way = "one after the other" if circuit.side_by_side else "side by side (in parallel)"
    found.append(
        Edit(
            instruction=f"Connect the same resistors {way}.", code=_code(circuit, side_by_side=not circuit.side_by_side)
        )
    )
    if circuit.open_ is not None:
        verb = "Close" if circuit.open_ else "Open"
        found.append(Edit(instruction=f"{verb} the switch.", code=_code(circuit, open_=not circuit.open_)))
    if len(circuit.ohms) < 4:
        said = f"Add one more resistor at the end, R{len(circuit.ohms) + 1} of {new} Ω."
        found.append(Edit(instruction=said, code=_code(circuit, ohms=(*circuit.ohms, new))))
    return found


def _bugs(circuit: Circuit, dice: Dice) -> list[Edit]:
    lines = draw(circuit).svg.split("\n")
    wires = [n for n, line in enumerate(lines) if line.startswith("<line") and 'stroke-width="2"' in line]
    gone = dice.pick(wires[2:])
    found = [
        Edit(
            instruction="A line is missing, so that the drawing has a gap.",
            code="\n".join(lines[:gone] + lines[gone + 1 :]),
        )
    ]
    names = draw(circuit).svg
    found.append(
        Edit(
            instruction="The names R1 and R2 stand at each other's resistor.",
            code=names.replace(">R1<", ">R?<").replace(">R2<", ">R1<").replace(">R?<", ">R2<"),
        )
    )
    return dice.shuffled(found)


def _code(circuit: Circuit, **changes: object) -> str:
    return draw(replace(circuit, **changes)).svg  # type: ignore[arg-type]
