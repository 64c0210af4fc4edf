"""Changes of POV-Ray scenes that someone could ask for, and mistakes that someone could make."""

from collections.abc import Callable, Iterator

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts
from trivium.data.pairs.naming import begun
from trivium.data.scene.pov.colors import CSS, literal
from trivium.data.scene.pov.read import KINDS, Scene, Thing, read
from trivium.data.scene.pov.slots import COMBINED, Slot, slots
from trivium.data.scene.text import listed, number, swapped, without

_WORDS = (
    "red",
    "blue",
    "green",
    "gold",
    "purple",
    "orange",
    "teal",
    "hotpink",
    "white",
    "steelblue",
    "crimson",
    "olive",
)
_PICTURE = {"image_width": 320.0, "image_height": 240.0, "clock": 0.0}
_ROUNDS = 40


class PovrayEditor:
    """Works on any scene: what it changes are plain numbers and names that stand in the code."""

    language = "POV-Ray"

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        yield from _each(code, dice, (_recolor, _move, _resize, _camera, _light, _add, _remove, _turn, _zoom))

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        yield from _each(code, dice, (_swapped, _wrong_sign, _too_large, _wrong_color, _dark, _wrong_side))


class _Code:
    """The code with what can be changed in it, and words for its objects."""

    def __init__(self, code: str) -> None:
        self.code, self.slots = code, slots(code)
        self.scene: Scene = read(code, dict(_PICTURE))

    def of(self, *roles: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.role in roles]

    def phrase(self, slot: Slot) -> str:
        """ "the red sphere" where one such is there, else by its line."""
        things = self.scene.things if self.scene.whole else []
        mine = next((thing for thing in things if thing.start <= slot.start < thing.end), None)
        if mine is not None and slot.owner == mine.word:
            for name in (_named, lambda thing: thing.kind):
                words = name(mine)
                if sum(name(thing) == words for thing in things) == 1:
                    return f"the {words}"
        return f"the {KINDS.get(slot.owner, slot.owner)} on line {slot.line}"


def _named(thing: Thing) -> str:
    word = thing.color.word
    return f"{word} {thing.kind}" if word.isalpha() else thing.kind


_Way = Callable[[_Code, Dice], Edit | None]


def _each(code: str, dice: Dice, ways: tuple[_Way, ...]) -> Iterator[Edit]:
    """Each way in turn in a drawn order, again and again; a way that finds nothing is passed over."""
    whole = _Code(code)
    for _ in range(_ROUNDS):
        for way in dice.shuffled(ways):
            found = way(whole, dice)
            if found is not None and found.code != code:
                yield found


def _vector(values: tuple[float, ...]) -> str:
    return f"<{listed(values)}>"


def _written(whole: _Code, slot: Slot, new: str) -> str:
    return swapped(whole.code, slot.start, slot.end, new)


def _recolor(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("color")
    if not found:
        return None
    slot, word = dice.pick(found), dice.pick(_WORDS)
    code = _written(whole, slot, literal(CSS[word]))
    return Edit(instruction=f"Make {whole.phrase(slot)} {word}.", code=code)


def _wrong_color(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("color") if slot.owner in KINDS]
    if not found:
        return None
    slot, word = dice.pick(found), dice.pick(_WORDS)
    phrase = f"{KINDS[slot.owner]} has the wrong colour: it is {word}"
    return Edit(instruction=f"{begun(phrase)}.", code=_written(whole, slot, literal(CSS[word])))


def _move(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("translate")
    found += [slot for slot in whole.of("center") if len(slot.values) == 3 and slot.owner == "sphere"]
    if not found:
        return None
    slot = dice.pick(found)
    step = max(0.4, 0.25 * max(abs(value) for value in slot.values))
    turned = [round(value + step * dice.pick((-2, -1, 0, 1, 2)), 2) for value in slot.values]
    turned[1] = slot.values[1] if len(turned) > 1 else turned[-1]
    values = tuple(turned)
    if values == slot.values:
        return None
    verb = "Move" if slot.role == "center" else "Translate"
    place = "to" if slot.role == "center" else "by"
    old = f" instead of {_vector(slot.values)}" if slot.role == "translate" else ""
    code = _written(whole, slot, _vector(values))
    return Edit(instruction=f"{verb} {whole.phrase(slot)} {place} {_vector(values)}{old}.", code=code)


def _resize(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("radius") if slot.values[0] > 0]
    if not found:
        return None
    slot = dice.pick(found)
    value = number(slot.values[0] * dice.pick((0.5, 0.7, 1.3, 1.6, 2.0)))
    what = "major radius" if slot.owner == "torus" else "radius"
    instruction = f"Change the {what} of {whole.phrase(slot)} from {number(slot.values[0])} to {value}."
    return Edit(instruction=instruction, code=_written(whole, slot, value))


def _too_large(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("radius") if slot.values[0] > 0]
    if not found:
        return None
    slot, large = dice.pick(found), dice.pick((True, False))
    value = number(slot.values[0] * (3.0 if large else 0.25))
    kind = KINDS[slot.owner]
    size = "large" if large else "small"
    return Edit(instruction=f"{begun(kind)} is much too {size}.", code=_written(whole, slot, value), enough=False)


def _camera(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("location") if len(slot.values) == 3]
    if not found:
        return None
    slot = dice.pick(found)
    scale = dice.pick((0.75, 1.0, 1.3))
    x, y, z = slot.values
    across = dice.pick((-0.5, -0.25, 0.25, 0.5)) * abs(z or x)
    values = (round(scale * x + across, 2), round(scale * y, 2), round(scale * z, 2))
    instruction = f"Move the camera from {_vector(slot.values)} to {_vector(values)}."
    return Edit(instruction=instruction, code=_written(whole, slot, _vector(values)))


def _zoom(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("angle")
    if not found:
        return None
    slot = dice.pick(found)
    value = number(min(120.0, slot.values[0] * dice.pick((0.7, 1.4))))
    instruction = f"Change the camera's angle from {number(slot.values[0])} to {value} degrees."
    return Edit(instruction=instruction, code=_written(whole, slot, value))


def _wrong_side(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("location") if len(slot.values) == 3 and slot.values[0]]
    if not found:
        return None
    slot = dice.pick(found)
    x, y, z = slot.values
    code = _written(whole, slot, _vector((-x, y, z)))
    return Edit(instruction="The scene is seen from the wrong side.", code=code)


def _light(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("light") if len(slot.values) == 3]
    if not found:
        return None
    slot = dice.pick(found)
    x, y, z = slot.values
    values = dice.pick(((-x, y, z), (x, round(2 * y, 2), z), (round(x * 0.3, 2), y, round(z * 0.3, 2))))
    if values == slot.values:
        return None
    where = "the light" if len(found) == 1 else f"the light on line {slot.line}"
    code = _written(whole, slot, _vector(values))
    return Edit(instruction=f"Move {where} from {_vector(slot.values)} to {_vector(values)}.", code=code)


def _dark(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("block") if slot.owner == "light_source"]
    if not found:
        return None
    slot = dice.pick(found)
    seen = "A light is missing: part of the scene is too dark." if len(found) > 1 else "The scene is too dark."
    return Edit(instruction=seen, code=without(whole.code, slot.start, slot.end), enough=False)


def _remove(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("block") if slot.owner != "light_source"]
    if len(found) < 2:
        return None
    slot = dice.pick(found)
    return Edit(instruction=f"Remove {whole.phrase(slot)}.", code=without(whole.code, slot.start, slot.end))


def _add(whole: _Code, dice: Dice) -> Edit | None:
    centers = [slot for slot in whole.of("center") if len(slot.values) == 3]
    radii = [slot.values[0] for slot in whole.of("radius") if slot.values[0] > 0]
    if not centers or not radii:
        return None
    beside, radius = dice.pick(centers).values, dice.pick(radii)
    moved = (round(beside[0] + radius * dice.pick((-2, 2)), 2), round(beside[1], 2), round(beside[2] - radius, 2))
    word = dice.pick(_WORDS)
    made = f"sphere {{ {_vector(moved)}, {number(radius)} pigment {{ color {literal(CSS[word])} }} }}"
    code = f"{whole.code.rstrip()}\n\n{made}\n"
    instruction = f"Add a {word} sphere of radius {number(radius)} with its centre at {_vector(moved)}."
    return Edit(instruction=instruction, code=code)


def _turn(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("rotate") if len(slot.values) == 3]
    if not found:
        return None
    slot = dice.pick(found)
    values = tuple(value + dice.pick((-30.0, 0.0, 45.0)) for value in slot.values)
    if values == slot.values:
        return None
    instruction = f"Rotate {whole.phrase(slot)} by {_vector(values)} instead of {_vector(slot.values)}."
    return Edit(instruction=instruction, code=_written(whole, slot, _vector(values)))


def _swapped(whole: _Code, dice: Dice) -> Edit | None:
    found = whole.of("combine")
    if not found:
        return None
    slot = dice.pick(found)
    word = dice.pick([word for word in COMBINED if word != slot.owner and {word, slot.owner} != {"union", "merge"}])
    seen = {
        "union": "Shapes that should be cut away are there as solid bodies.",
        "merge": "Shapes that should be cut away are there as solid bodies.",
        "difference": "A piece is cut out of a body that should be whole.",
        "intersection": "Of a body made of several shapes only what they share is left.",
    }[word]
    return Edit(instruction=seen, code=_written(whole, slot, word))


def _wrong_sign(whole: _Code, dice: Dice) -> Edit | None:
    found = [slot for slot in whole.of("translate", "center") if any(slot.values) and slot.owner != "light_source"]
    if not found:
        return None
    slot = dice.pick(found)
    axis = dice.pick([number for number, value in enumerate(slot.values) if value])
    values = tuple(-value if number == axis else value for number, value in enumerate(slot.values))
    kind = KINDS.get(slot.owner, slot.owner)
    code = _written(whole, slot, _vector(values))
    return Edit(instruction=f"{begun(kind)} is not where it should be.", code=code, enough=False)
