"""The generator: pages that are known by their text, and changes that are what their words say."""

import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Facts
from trivium.data.web.games import play
from trivium.data.web.games.closure import named_by, resolved
from trivium.data.web.games.editor import GameEditor
from trivium.data.web.games.facts import facts
from trivium.data.web.games.kinds import Known, choices, kinds, page, recognise, variant

NOTHING = Facts(what="a page")
STRANGER = """<script>
var numBalls = 12;
var maxSpeed = 2.5;
function draw() { context.clearRect(0, 0, 100, 100);
  ball.x += ball.vx; context.fillStyle = "#ff0000";
  if (keys.ArrowLeft) go(-1); if (keys.ArrowRight) go(1); }
</script>"""


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 40), index=st.integers(0, 10_000))
def test_a_page_of_ours_is_known_by_its_text_and_no_other_is(seed: int, index: int) -> None:
    code = variant(seed, index)
    known = recognise(code)
    assert known is not None
    assert (page(known), variant(seed, index)) == (code, code)
    colors = [value for value in known.constants.values() if isinstance(value, str)]
    assert len(set(colors)) == len(colors), "two things would look alike"
    assert recognise(code.replace("getElementById", "querySelector")) is None
    assert recognise(code.replace(f"<title>{known.title}<", "<title>Mine<")) is None


@pytest.mark.parametrize("name", list(kinds()))
def test_each_kind_has_mistakes_that_can_be_made_and_edits_that_change_one_constant(name: str) -> None:
    editor, names = GameEditor(), list(kinds())
    for index in (names.index(name), names.index(name) + 4 * len(names)):
        code = variant(3, index)
        known = recognise(code)
        assert known is not None
        bugs = list(editor.bugs(code, NOTHING, Dice(name)))
        assert len(bugs) == len(kinds()[name].bugs) >= 3
        assert all(recognise(bug.code) is None for bug in bugs)
        for edit in islice(editor.edits(code, NOTHING, Dice(name)), 12):
            changed = recognise(edit.code)
            assert changed is not None
            (key,) = [key for key in known.constants if changed.constants[key] != known.constants[key]]
            assert changed.constants[key] in choices(kinds()[name].constants[key])
            assert str(changed.constants[key]) in edit.instruction


def test_facts_follow_the_constants_of_the_code() -> None:
    known = recognise(variant(1, 1))
    assert known is not None
    one = {"kind": "ball", "color": "gold", "box": [1.0, 2.0, 3.004, 4.0]}
    found = facts(Known(known.kind, {**known.constants, "BALL_SPEED": 77}, known.title, known.plain), [one] * 130)
    assert found.sizes["speed of the ball in pixels a second"] == 77
    assert not any("paddle" in key and "speed" in key for key in found.sizes), "not to be told from the clip"
    assert (len(found.parts), found.cut, found.parts[0].box) == (120, True, (1.0, 2.0, 3.0, 4.0))


def test_pages_of_others_are_changed_where_their_text_allows() -> None:
    edits = {edit.instruction: edit.code for edit in GameEditor().edits(STRANGER, NOTHING, Dice(1))}
    assert len(edits) == 3
    for words, code in edits.items():
        wanted = re.search(r"Set `(\w+)` to ([\d.]+)|Use the colour (\w+)", words)
        assert wanted is not None
        assert (f"{wanted[1]} = {wanted[2]}" if wanted[1] else f'"{wanted[3]}"') in code
    bugs = [bug.code for bug in GameEditor().bugs(STRANGER, NOTHING, Dice(1))]
    assert sorted(code.count("clearRect") for code in bugs) == [0, 1, 1]
    assert any("ball.x -= ball.vx" in code for code in bugs)
    assert any(code.count("ArrowRight") == 2 for code in bugs)


@given(seed=st.integers(), length=st.integers(500, 5000))
def test_players_let_go_of_a_key_before_they_press_the_next(seed: int, length: int) -> None:
    for acts in (
        play.inputs(play.STRANGER, length, Dice(seed)),
        [one for one in play.stranger(300, 200, length, Dice(seed)) if one.act in ("press", "release")],
    ):
        assert [one.act for one in acts] == ["press", "release"] * (len(acts) // 2)
        assert [one.at for one in acts] == sorted(one.at for one in acts)
        assert all(press.key == release.key for press, release in zip(acts[::2], acts[1::2], strict=True))


def test_what_a_page_names_is_found_and_nothing_outside_its_folder() -> None:
    html = b"""<script src="../lib/a.js?v=2"></script><link href=s.css><img src='p 1.png'><a href="b.html">
    <script src="//cdn.org/x.js"></script><script src="https://x.org/y.js"></script><img src="../../../../etc/passwd">
    <script>load("data/level.json"); style = "url(back.png)"</script>"""
    found = set(named_by("ex/one/i.html", html, "ex/one/i.html"))
    assert found == {
        f"ex/{name}" for name in ("lib/a.js", "one/s.css", "one/p 1.png", "one/data/level.json", "one/back.png")
    }
    assert set(named_by("ex/lib/a.js", b"import './m.js'; img('tiles.png')", "ex/one/i.html")) == {
        *("ex/lib/m.js", "ex/one/m.js", "ex/one/tiles.png", "ex/lib/tiles.png"),
    }
    assert resolved("a/b.html", "../../x") == resolved("a/b.html", "data:x") == resolved("a/b.html", "#x") == ""
