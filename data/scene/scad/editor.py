"""Changes of OpenSCAD code that someone could ask for, and mistakes that someone could make."""

from collections.abc import Callable, Iterator

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts
from trivium.data.pairs.naming import begun
from trivium.data.scene.scad.slots import COMBINED, Slot, slots
from trivium.data.scene.text import listed, number, swapped, without

_ROUNDS = 40
_NAMES = {"h": "height", "r": "radius", "d": "diameter", "r1": "lower radius", "r2": "upper radius", "size": "size"}
_NAMES |= {"d1": "lower diameter", "d2": "upper diameter", "$fn": "number of sides ($fn)"}
_VERBS = {"translate": "Translate", "rotate": "Rotate", "scale": "Scale"}


class OpenscadEditor:
    """Works on any code: what it changes are plain numbers and names that stand in it."""

    language = "OpenSCAD"

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        ways = (_parameter, _resize, _move, _parameter, _add, _remove, _round)
        yield from _each(code, facts, dice, ways)

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        yield from _each(code, facts, dice, (_swapped, _wrong_sign, _wrong_size, _missing))


class _Code:
    def __init__(self, code: str, facts: Facts) -> None:
        self.code, self.facts, self.slots = code, facts, slots(code)

    def of(self, *roles: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.role in roles]

    def written(self, slot: Slot, new: str) -> str:
        return swapped(self.code, slot.start, slot.end, new)


_Way = Callable[[_Code, Dice], Edit | None]


def _each(code: str, facts: Facts, dice: Dice, ways: tuple[_Way, ...]) -> Iterator[Edit]:
    whole = _Code(code, facts)
    for _ in range(_ROUNDS):
        for way in dice.shuffled(ways):
            found = way(whole, dice)
            if found is not None and found.code != code:
                yield found


def _list(values: tuple[float, ...]) -> str:
    return f"[{listed(values)}]"


def _scaled(value: float, dice: Dice) -> str:
    """Another number of the same sort: whole numbers stay whole."""
    factor = dice.pick((0.5, 0.75, 1.25, 1.5, 2.0))
    if value == int(value):
        changed = round(value * factor)
        return str(changed if changed != value else int(value) + 1)
    return number(value * factor)


def _parameter(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("parameter") if slot.values[0] > 0 and not slot.name.startswith("$f")]
    if not found:
        return None
    slot = dice.pick(found)
    new = _scaled(slot.values[0], dice)
    instruction = f"Change `{slot.name}` from {number(slot.values[0])} to {new}."
    return Edit(instruction=instruction, code=whole.written(slot, new))


def _resize(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("number", "single") if slot.values[0] > 0 and slot.name != "$fn"]
    found += [slot for slot in whole.of("vector") if slot.owner in ("cube", "square")]
    if not found:
        return None
    slot = dice.pick(found)
    if slot.role == "vector":
        axis = dice.below(len(slot.values))
        values = list(slot.values)
        values[axis] = float(_scaled(values[axis], dice))
        instruction = (
            f"Make the {slot.owner} on line {slot.line} {_list(tuple(values))} instead of {_list(slot.values)}."
        )
        return Edit(instruction=instruction, code=whole.written(slot, _list(tuple(values))))
    new = _scaled(slot.values[0], dice)
    what = _NAMES.get(slot.name, "radius" if slot.owner in ("sphere", "circle") else "size")
    old = number(slot.values[0])
    instruction = f"Change the {what} of the {slot.owner} on line {slot.line} from {old} to {new}."
    return Edit(instruction=instruction, code=whole.written(slot, new))


def _round(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("number", "parameter") if slot.name == "$fn" and slot.values[0] >= 3]
    if not found:
        return None
    slot = dice.pick(found)
    new = str(dice.pick([sides for sides in (5, 6, 8, 12, 24) if sides != slot.values[0]]))
    where = f"the {slot.owner} on line {slot.line}" if slot.owner else "all round shapes"
    instruction = f"Draw {where} with {new} sides instead of {number(slot.values[0])}."
    return Edit(instruction=instruction, code=whole.written(slot, new))


def _move(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("vector") if slot.owner in _VERBS]
    if not found:
        return None
    slot = dice.pick(found)
    values = list(slot.values)
    axis = dice.below(len(values))
    if slot.owner == "rotate":
        values[axis] += dice.pick((-45.0, 30.0, 90.0))
    elif slot.owner == "scale":
        values[axis] *= dice.pick((0.5, 1.5, 2.0))
    else:
        values[axis] += dice.pick((-1.0, 0.5, 1.0)) * max(2.0, *(abs(value) for value in slot.values))
    new = _list(tuple(values))
    instruction = f"{_VERBS[slot.owner]} by {new} instead of {_list(slot.values)} on line {slot.line}."
    return Edit(instruction=instruction, code=whole.written(slot, new))


def _add(whole: _Code, dice: Dice) -> Edit | None:
    sizes = [whole.facts.sizes.get(key, 0.0) for key in ("width", "depth", "height")]
    if not all(sizes):
        return None
    size = max(1.0, round(min(sizes) * dice.pick((0.3, 0.5))))
    place = tuple(float(round(value * dice.pick((-0.6, 0.6, 1.2)))) for value in sizes)
    made, words = dice.pick(
        (
            (f"sphere(r = {number(size)});", f"a sphere of radius {number(size)}"),
            (f"cube({number(size)});", f"a cube with sides of {number(size)}"),
            (
                f"cylinder(h = {number(2 * size)}, r = {number(size)});",
                f"a cylinder {number(2 * size)} high, radius {number(size)},",
            ),
        )
    )
    code = f"{whole.code.rstrip()}\n\ntranslate({_list(place)}) {made}\n"
    return Edit(instruction=f"Add {words} translated by {_list(place)}.", code=code)


def _remove(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("block")
    if len(found) < 2:
        return None
    slot = dice.pick(found)
    code = without(whole.code, slot.start, slot.end)
    return Edit(instruction=f"Remove the {slot.owner}() statement that begins on line {slot.line}.", code=code)


def _missing(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("block")
    if len(found) < 2:
        return None
    slot = dice.pick(found)
    return Edit(instruction="A part is missing.", code=without(whole.code, slot.start, slot.end), enough=False)


def _swapped(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("combine")
    if not found:
        return None
    slot = dice.pick(found)
    word = dice.pick([word for word in COMBINED[:3] if word != slot.owner])
    seen = {
        "union": "Shapes that should be cut away are there as solid bodies.",
        "difference": "A piece is cut out of a body that should be whole.",
        "intersection": "Of a body made of several shapes only what they share is left.",
    }[word]
    return Edit(instruction=seen, code=whole.written(slot, word))


def _wrong_sign(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("vector") if slot.owner in ("translate", "rotate") and any(slot.values)]
    if not found:
        return None
    slot = dice.pick(found)
    axis = dice.pick([at for at, value in enumerate(slot.values) if value])
    values = tuple(-value if at == axis else value for at, value in enumerate(slot.values))
    seen = "A part is not where it should be." if slot.owner == "translate" else "A part is turned the wrong way."
    return Edit(instruction=seen, code=whole.written(slot, _list(values)), enough=False)


def _wrong_size(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("number", "single", "parameter") if slot.values[0] > 0 and "$" not in slot.name]
    if not found:
        return None
    slot, large = dice.pick(found), dice.pick((True, False))
    value = number(slot.values[0] * (3.0 if large else 0.3))
    what = begun(slot.owner) if slot.owner else f"What `{slot.name}` measures"
    seen = f"{what} is much too {'large' if large else 'small'}."
    return Edit(instruction=seen, code=whole.written(slot, value), enough=False)
