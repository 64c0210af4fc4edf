"""Changes of scripts: one line or feature, told truly; text alone, nothing is drawn."""

import ast
import difflib
import re
from itertools import islice

import pytest

from trivium.data.cad.editor import CadEditor
from trivium.data.cad.families import FAMILIES
from trivium.data.cad.families.family import MODES, script
from trivium.data.cad.text import parse
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts

FACTS = Facts(what="a part", sizes={"size along x mm": 60.0, "size along y mm": 40.0, "size along z mm": 20.0})


def part(family: str, mode: str) -> str:
    return script(FAMILIES[family].draw(Dice("editor", family), mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_family_can_be_changed_and_broken(family: str, mode: str) -> None:
    code = part(family, mode)
    editor = CadEditor()
    edits, bugs = list(editor.edits(code, FACTS, Dice(1))), list(editor.bugs(code, FACTS, Dice(1)))
    assert len(edits) >= 6
    assert bugs or (family, mode) == ("plate", "algebra")
    for change in edits + bugs:
        ast.parse(change.code)
        assert change.code != code
        assert change.instruction.endswith(".")
    assert edits == list(editor.edits(code, FACTS, Dice(1)))


def test_a_changed_dimension_is_the_one_that_is_told() -> None:
    code = part("flange", "builder")
    for change in islice(CadEditor().edits(code, FACTS, Dice(2)), 40):
        told = re.fullmatch(r"Change the ([a-z ]+) from (\d+) to (\d+) mm\.", change.instruction)
        if told is None:
            continue
        name = told.group(1).replace(" ", "_")
        assert changed(code, change) == ([f"{name} = {told.group(2)}"], [f"{name} = {told.group(3)}"])
        return
    pytest.fail("no dimension was changed")


def test_a_feature_that_is_left_out_takes_its_parameters_along() -> None:
    code = part("flange", "algebra")
    script_of = parse(code)
    bolts = next(feature for feature in script_of.features if feature.name == "the bolt holes")
    without = script_of.without(bolts)
    gone, new = changed(code, Edit(instruction="", code=without))
    assert not new
    assert {line.partition(" =")[0] for line in gone if " = " in line} >= {"bolt_count", "bolt_circle_diameter"}
    assert "bolt" not in re.sub(r'""".*?"""', "", without)


def test_mistakes_say_what_is_wrong_with_which_feature() -> None:
    code = part("housing", "algebra")
    told = {change.instruction: change for change in CadEditor().bugs(code, FACTS, Dice(3))}
    twice = told["The shaft hole is twice as wide as it should be."]
    gone, new = changed(code, twice)
    assert gone == [new[0].replace("shaft_hole_diameter", "shaft_hole_diameter / 2")]
    added = told["Material is added where the bolt holes should be: they are not cut out."]
    gone, new = changed(code, added)
    assert [line.replace("-=", "+=") for line in gone] == new


def changed(before: str, change: Edit) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came."""
    lines = list(difflib.ndiff(before.splitlines(), change.code.splitlines()))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]
