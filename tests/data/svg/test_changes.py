"""Edits and mistakes: canonical code, another picture's code, words that name what was changed, the same every time."""

import re
from itertools import islice

import pytest

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit, editor
from trivium.data.pairs.facts import Facts
from trivium.data.svg import changes, shapes
from trivium.data.svg.editor import SvgEditor, canonical
from trivium.data.svg.plan import Plan
from trivium.data.svg.sanitise import write
from trivium.data.svg.tree import SVG

INSIDE = (
    '<rect x="1" y="1" width="8" height="6" fill="#f00"/><circle cx="14" cy="5" r="3" fill="#0a0"/>'
    '<path d="M2 8h16" fill="none" stroke="#00f" stroke-width="0.5"/><path d="M2 9h9" fill="none" stroke="#00f" '
    'stroke-width="0.5"/>'
)
CODE = canonical(f'<svg xmlns="{SVG}" viewBox="0 0 20 10">{INSIDE}</svg>')
MAKERS = sorted({*changes.edits_of(planned=False), *changes.bugs_of(planned=False)}, key=lambda maker: maker.__name__)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_a_change_gives_other_canonical_code_and_says_what(maker: changes.Maker) -> None:
    seen = set()
    for number in range(5):
        root = shapes.read(CODE)
        change = maker(root, Dice(number))
        assert change is not None
        changed = canonical(write(change.root or root))
        assert changed not in ("", CODE)
        assert change.instruction[0].isupper()
        assert change.instruction.endswith(".")
        seen.add((change.instruction, changed))
        again = shapes.read(CODE)
        assert maker(again, Dice(number)) == change
        assert canonical(write(again)) == changed
    assert len({words for words, _ in seen}) <= len({code for _, code in seen})  # equal words never mean two changes


def test_a_drawing_that_has_every_colour_offers_other_changes() -> None:
    """After some hundred edits a session's drawing holds the whole palette."""
    filled = "".join(
        f'<rect x="{n}" y="1" width="1" height="6" fill="{value}"/>' for n, value in enumerate(changes.COLORS.values())
    )
    code = canonical(f'<svg xmlns="{SVG}" viewBox="0 0 20 10">{filled}</svg>')
    assert changes.recolor(shapes.read(code), Dice(1)) is None
    found = list(islice(SvgEditor().edits(code, Facts(what="a drawing"), Dice(1)), 60))
    assert len(found) == 60
    assert not any(edit.instruction.startswith("Change everything") for edit in found)


def test_the_report_of_a_mistake_suffices_unless_it_leaves_open_what_was_there() -> None:
    found = list(islice(SvgEditor().bugs(CODE, Facts(what="a drawing"), Dice(1)), 40))
    for bug in found:
        vague = re.search(r"is missing|lies too|too large for its frame", bug.instruction)
        assert bug.enough == (vague is None), bug.instruction
    assert {bug.enough for bug in found} == {True, False}


def test_words_say_exactly_what_becomes_of_the_code() -> None:
    (place,) = [place for place in changes.places(shapes.read(CODE)) if place.node.attributes.get("d") == "M2 9h9"]
    assert place.words == "the second path"
    for number in range(24):
        root = shapes.read(CODE)
        change = changes.move(root, Dice(number))
        assert change is not None
        moved = next(place for place in changes.places(root) if "transform" in place.node.attributes)
        assert moved.words in change.instruction
        right, down = (float(part) for part in moved.node.attributes["transform"][len("translate(") : -1].split())
        way = ("left" if right < 0 else "right") if right else "up" if down < 0 else "down"
        assert change.instruction.endswith(f"{abs(right or down):g} units {way}.")


def test_the_editor_never_offers_one_change_twice_and_ends() -> None:
    found = list(islice(SvgEditor().edits(CODE, Facts(what="a drawing"), Dice(1)), 60))
    assert len(found) == 60
    assert len({edit.code for edit in found}) == 60
    assert CODE not in {edit.code for edit in found}
    assert found == list(islice(SvgEditor().edits(CODE, Facts(what="a drawing"), Dice(1)), 60))
    lone = canonical(f'<svg xmlns="{SVG}" viewBox="0 0 20 10"><path d="M1 1h5v5z"/></svg>')
    assert all("missing" not in bug.instruction for bug in islice(SvgEditor().bugs(lone, Facts(what=""), Dice(1)), 20))


def test_changes_of_the_data_come_first_and_an_idle_editor_offers_nothing() -> None:
    made = editor("svg")
    assert isinstance(made, SvgEditor)
    planned = Edit(instruction="Make it smaller.", code=CODE.replace('r="3"', 'r="2.000"'))
    made.plan = Plan(facts=Facts(what="a chart"), marks=(), edits=(planned,))
    first = next(made.edits(CODE, Facts(what="a chart"), Dice(1)))
    assert first == Edit(instruction="Make it smaller.", code=CODE.replace('r="3"', 'r="2"'))
    made.idle = True
    assert list(made.edits(CODE, Facts(what="a chart"), Dice(1))) == []
