"""Changes of CAD scripts: what someone could ask for, and mistakes that someone could make.

Odd: works on the text line by line, so that everything but the change stays as it was written. It reads the marks that
our own scripts carry (parameters at the top, a comment before each feature) and does less with scripts of others.
"""

import re
from collections.abc import Iterator

from trivium.data.cad.text import Script, parameter_words, parse
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts

_COUNTS = ("_count", "_rows", "_columns", "_turns", "teeth")
_PLANES = {"Plane.XZ": "Plane.YZ", "Plane.YZ": "Plane.XZ", "Axis.X": "Axis.Y", "Axis.Y": "Axis.X"}
_SIGNED = re.compile(r"(?<=[(,*] )-(?=[a-z(\d])|(?<=\()-(?=[a-z(\d])")
_HALVED = re.compile(r"\b([a-z_]*diameter) / 2\b")


class CadEditor:
    """An `Editor` of build123d scripts."""

    language = "build123d"

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        script = parse(code)
        ways = [
            list(_dimensions(script, dice)),
            list(_counts(script, dice)),
            list(_drilled(script, facts, dice)),
            list(_removed(script)),
        ]
        yield from _mixed(ways, (4, 3, 2, 2), dice)

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        script = parse(code)
        ways = [
            list(_not_subtracted(script)),
            list(_wrong_diameters(script)),
            list(_swapped(script)),
            list(_wrong_signs(script)),
        ]
        yield from _mixed(ways, (3, 2, 2, 2), dice)


def _mixed(ways: list[list[Edit]], weights: tuple[int, ...], dice: Dice) -> Iterator[Edit]:
    """All of them, those of each way in drawn order, the ways drawn by their weights."""
    left = {str(number): dice.shuffled(edits) for number, edits in enumerate(ways) if edits}
    while left:
        way = dice.weighted({name: weights[int(name)] for name in left})
        yield left[way].pop()
        if not left[way]:
            del left[way]


def _dimensions(script: Script, dice: Dice) -> Iterator[Edit]:
    """Another length of a parameter that is no count."""
    for name, value in script.parameters.items():
        if name.endswith(_COUNTS) or value < 2:
            continue
        step = max(1, value // dice.pick((5, 4, 3, 2)))
        after = value + step if dice.below(2) or value - step < 1 else value - step
        unit = "°" if name.endswith("angle") else "" if name == "module" else " mm"
        words = parameter_words(name)
        said = dice.pick(
            (
                f"Change the {words} from {value} to {after}{unit}.",
                f"Make the {words} {after}{unit} instead of {value}{unit}.",
                f"Set the {words} to {after}{unit}.",
            )
        )
        yield Edit(instruction=said, code=script.with_parameter(name, after))


def _counts(script: Script, dice: Dice) -> Iterator[Edit]:
    for name, value in script.parameters.items():
        if not name.endswith(_COUNTS):
            continue
        after = value + dice.pick((1, 2)) if value < 3 or dice.below(2) else value - 1
        words = parameter_words(name)
        what = words.removesuffix(" count")
        if words.endswith(" count"):
            noun = what if after == 1 else f"{what}s"
            said = f"Give it {after} {noun} instead of {value}."
        else:
            said = f"Change the number of {words} from {value} to {after}."
        yield Edit(instruction=said, code=script.with_parameter(name, after))


def _drilled(script: Script, facts: Facts, dice: Dice) -> Iterator[Edit]:
    """A hole more, straight down, at a whole-number place inside the bounding box."""
    x, y, z = (facts.sizes.get(f"size along {axis} mm", 0.0) for axis in "xyz")
    if script.result < 0 or min(x, y, z) < 2:
        return
    for _ in range(4):
        diameter = max(1, round(min(x, y) / dice.pick((6, 8, 10))))
        at = [dice.between(-round(side * 0.4), round(side * 0.4)) for side in (x, y)]
        reach = round(4 * z) + 4
        line = f"result -= Pos({at[0]}, {at[1]}, 0) * Cylinder({diameter} / 2, {reach})"
        said = f"Drill a hole of {diameter} mm diameter straight through along the z axis at x = {at[0]}, y = {at[1]}."
        yield Edit(instruction=said, code=script.appended(f"# the drilled hole\n{line}"))


def _removed(script: Script) -> Iterator[Edit]:
    """One feature less."""
    for number, feature in enumerate(script.features):
        if feature.name and number and feature.removable:
            yield Edit(instruction=f"Leave out {feature.name}.", code=script.without(feature))


def _not_subtracted(script: Script) -> Iterator[Edit]:
    """What should be cut away is added, or stays."""
    for feature in script.features:
        if not feature.name:
            continue
        text = script.text_of(feature)
        if "mode=Mode.SUBTRACT" in text:
            after = text.replace("mode=Mode.SUBTRACT", "mode=Mode.ADD")
        elif re.search(r"^\s*\w+ -= ", text, re.MULTILINE):
            after = re.sub(r"^(\s*\w+) -= ", r"\1 += ", text, flags=re.MULTILINE)
        else:
            continue
        verb = "are" if feature.plural else "is"
        said = f"Material is added where {feature.name} should be: {_it(feature.plural)} {verb} not cut out."
        yield Edit(instruction=said, code=script.replaced(feature, after))


def _wrong_diameters(script: Script) -> Iterator[Edit]:
    """A diameter taken for a radius."""
    for feature in script.features:
        if not feature.name:
            continue
        text = script.text_of(feature)
        found = _HALVED.search(text)
        if found is not None and text.count(found.group(0)) == 1:
            verb, they = ("are", "they") if feature.plural else ("is", "it")
            said = f"{_capital(feature.name)} {verb} twice as wide as {they} should be."
            yield Edit(instruction=said, code=script.replaced(feature, text.replace(found.group(0), found.group(1))))


def _swapped(script: Script) -> Iterator[Edit]:
    """One axis or plane taken for another, or a quarter turn forgotten."""
    for feature in script.features:
        if not feature.name:
            continue
        text = script.text_of(feature)
        verb = "lie" if feature.plural else "lies"
        for before, after in (*_PLANES.items(), ("Rot(90, 0, 0)", "Rot(0, 90, 0)"), ("Rot(0, 90, 0)", "Rot(90, 0, 0)")):
            if re.search(rf"{re.escape(before)}(?!\w)", text):
                changed = re.sub(rf"{re.escape(before)}(?!\w)", after, text)
                said = f"{_capital(feature.name)} {verb} along the wrong axis."
                yield Edit(instruction=said, code=script.replaced(feature, changed))
                break


def _wrong_signs(script: Script) -> Iterator[Edit]:
    """A minus lost, or one too many: a feature on the wrong side."""
    for feature in script.features:
        if not feature.name:
            continue
        text = script.text_of(feature)
        verb = "are" if feature.plural else "is"
        said = f"{_capital(feature.name)} {verb} on the wrong side."
        if _SIGNED.search(text):
            yield Edit(instruction=said, code=script.replaced(feature, _SIGNED.sub("", text, count=1)))
        else:
            moved = re.sub(r"\bPos\((?=[a-z])", "Pos(-", text, count=1)
            moved = moved if moved != text else re.sub(r"\bLocations\(\((?=[a-z])", "Locations((-", text, count=1)
            moved = (
                moved if moved != text else re.sub(r"(\b(?:Pos|Locations)\(\(?0, 0, )(?=[a-z])", r"\1-", text, count=1)
            )
            if moved != text:
                yield Edit(instruction=said, code=script.replaced(feature, moved))


def _it(plural: bool) -> str:
    return "they" if plural else "it"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
