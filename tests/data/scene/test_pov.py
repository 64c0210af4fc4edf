"""POV-Ray: pictures, what our own rays say of them, and what is refused."""

import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from trivium.data.longcontext.dice import Dice
from trivium.data.scene import povray, programs
from trivium.data.scene.closure import OutsideError, closure
from trivium.data.scene.generators import KINDS, USUAL, scene
from trivium.data.scene.pov.editor import PovrayEditor
from trivium.data.scene.pov.facts import facts_of, seen_by
from trivium.data.scene.pov.read import read
from trivium.data.scene.pov.references import references
from trivium.data.scene.povray import LIMITS, PovrayEngine
from trivium.errors import GuardError

SETTINGS = '{"antialias":0,"width":160,"height":120}'
FRAME = {"image_width": 160.0, "image_height": 120.0, "clock": 0.0}
BARE = "finish { ambient 1 diffuse 0 }"
LEVELS = {"gray": (128, 128, 128), "red": (255, 0, 0), "blue": (0, 0, 255), "lime": (0, 255, 0)}
LEVELS |= {"yellow": (255, 255, 0), "magenta": (255, 0, 255), "cyan": (0, 255, 255), "white": (255, 255, 255)}
SHAPES = f"""
#version 3.7;
#include "colors.inc"
global_settings {{ assumed_gamma 1.0 }}
#declare R = 0.8;  // declared and used
#declare Pierced = difference {{ box {{ -0.4, 0.4 }} sphere {{ 0, 0.52 }} }}
camera {{ location <1, 3, -6> look_at <0, 0.7, 0> right x*image_width/image_height angle 45 rotate y*360*clock }}
light_source {{ <2, 4, -3> White }}
plane {{ y, 0 pigment {{ color srgb <0.502, 0.502, 0.502> }} {BARE} }}
sphere {{ <-1.2, R, 0>, R pigment {{ color Red }} {BARE} }}
box {{ <-0.5, 0, -0.5>, <0.5, 1, 0.5> rotate y*30 translate <1.3, 0, -0.3> pigment {{ Blue }} {BARE} }}
cone {{ <0, 0, 1.2>, 0.7, <0, 1.8, 1.2>, 0.1 texture {{ pigment {{ Green }} {BARE} }} }}
torus {{ 0.5, 0.15 rotate x*60 translate <0.3, 0.6, -1.5> pigment {{ Yellow }} {BARE} }}
object {{ Pierced rotate <20, 30, 40> translate <2.2, 0.6, 1> pigment {{ Magenta }} {BARE} }}
intersection {{ sphere {{ 0, 0.5 }} cylinder {{ -y, y, 0.3 }} scale <1, 0.7, 1> translate <-2.4, 0.5, -1> pigment {{ Cyan }} {BARE} }}
union {{ cylinder {{ 0, 0.6*y, 0.2 }} sphere {{ 0.8*y, 0.25 }} translate <-0.4, 0, -2> pigment {{ White }} {BARE} }}
"""  # noqa: E501


@pytest.fixture(scope="module")
def engine() -> Iterator[PovrayEngine]:
    opened = PovrayEngine()
    opened.open()
    yield opened
    opened.close()


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def test_our_rays_see_what_povray_draws(engine: PovrayEngine) -> None:
    """Every pixel, without light and antialiasing, at two moments of the clock; and the same picture twice."""
    for clock in (0.0, 0.3):
        drawn = engine.draw(SHAPES, {}, SETTINGS.replace("}", f',"clock":{clock}}}'))
        whole = read(SHAPES, {**FRAME, "clock": clock})
        seen = seen_by(whole, 160, 120)
        assert seen is not None
        expected = np.array([LEVELS[thing.color.word] for thing in whole.things] + [(0, 0, 0)])[seen]
        assert (np.abs(expected - pixels(drawn.payload)).max(2) > 2).sum() <= 2  # rounding at an edge
    assert engine.draw(SHAPES, {}, SETTINGS.replace("}", ',"clock":0.3}')).payload == drawn.payload


def test_facts_name_what_is_seen() -> None:
    facts = facts_of(SHAPES, 160, 120)
    kinds = [part.kind for part in facts.parts]
    assert kinds == ["plane", "sphere", "box", "cone", "torus", "difference", "intersection", "union"]
    assert [part.kind for part in facts.parts if part.box is None] == ["plane"]  # seen, but a floor has no middle
    assert facts.parts[1].sizes == {"radius": 0.8}
    assert facts.parts[5].sizes == {"number of shapes cut away": 1.0}
    assert facts.sizes == {"number of light sources": 1.0}


@pytest.mark.parametrize(
    ("added", "parts", "boxes"),
    [
        ("#if (1) sphere { 0, 1 } #end", 0, False),  # what runs is not known without running it
        ('#include "mine.inc"', 0, False),
        ("Mine(3)", 0, False),
        ("sphere { <0, 0, rand(S)>, 1 pigment { Red } }", 9, False),  # counted, but where?
        ("sphere { <0, 1, -3>, 0.2 pigment { color rgbt <1, 0, 0, 0.5> } }", 9, False),  # seen through
        ("sphere { <0, 1, -3>, 0.2 texture { Glass } }", 9, False),
        ("sphere { <0, 1, -3>, 0.2 clipped_by { plane { y, 0 } } }", 9, False),
        ("sphere { <0, -9, 0>, 0.2 pigment { Red } }", 8, True),  # below the floor
        ("// sphere { 0, 1 }\n/* box /* { */ */", 8, True),
        ('text { ttf "timrom.ttf" "Hello" 0.1, 0 pigment { Red } }', 9, False),
    ],
)
def test_what_is_not_known_is_left_out(added: str, parts: int, boxes: bool) -> None:
    facts = facts_of(SHAPES + added, 160, 120)
    assert len(facts.parts) == parts
    assert any(part.box is not None for part in facts.parts) == boxes


@pytest.mark.parametrize(
    ("code", "files", "reason"),
    [
        ('#fopen F "out.txt" write\n#write (F, "x")\n', {}, "file_output"),
        ('#declare Mode = 1; #fopen F "out.txt" append\n', {}, "file_output"),
        ('#include "a.inc"\n', {"a.inc": b'#fopen F "out.txt" /* read */ write'}, "file_output"),
        ('#include "/etc/passwd"\n', {}, "external_reference"),
        ('#include "absent.inc"\n', {}, "absent_file"),
        ("sphere { 0, }\n", {}, "parse_error"),
        ("#while (1) #end\n", {}, "timeout"),
    ],
)
def test_a_scene_is_refused_with_its_reason(code: str, files: dict[str, bytes], reason: str) -> None:
    engine = PovrayEngine(msgspec.structs.replace(LIMITS, cpu_seconds=1))
    with pytest.raises(GuardError) as caught:
        engine.draw(code, files, SETTINGS)
    assert caught.value.reason == reason


@pytest.mark.parametrize(("silent", "reason"), [(3, "parse_error"), (4, "failed")])
def test_a_program_that_says_too_late_what_is_wrong_is_asked_again(
    engine: PovrayEngine, monkeypatch: pytest.MonkeyPatch, silent: int, reason: str
) -> None:
    outcomes = []
    whole = povray.run

    def run(*given, **limits):
        outcomes.append(whole(*given, **limits))
        lines = outcomes[-1].stderr.splitlines(keepends=True)
        kept = b"".join(line for line in lines if len(outcomes) > silent or b"Parse Error" not in line)
        return msgspec.structs.replace(outcomes[-1], stderr=kept)

    monkeypatch.setattr(povray, "run", run)
    with pytest.raises(GuardError) as caught:
        engine.draw("sphere { 0, }\n", {}, SETTINGS)
    assert caught.value.reason == reason
    assert len(outcomes) == 4


def test_written_files_are_found_out(engine: PovrayEngine) -> None:
    """A mode that no reader of code can know: the directive's words come from a macro of an include."""
    sly = {"a.map": b"", "b.dat": b'#fopen F "out.txt" write\n#write (F, "x")\n#fclose F\n'}
    with pytest.raises(GuardError, match=r"wrote 'out\.txt'"):
        engine.draw('#include "b.dat"\n' + SHAPES, sly, SETTINGS)


def test_a_scene_takes_along_what_it_names_and_nothing_from_outside() -> None:
    files = {
        "d/main.pov": b'#include "part.inc" // "no.inc"\nimage_map { png "a.png" } text { ttf "letters" "Hi" 1, 0 }',
        "d/part.inc": b'#include "deep.inc"',
        "d/deep.inc": b"",
        "d/a.png": b"png",
        "d/letters.ttf": b"ttf",
        "d/other.inc": b"",
    }
    held = closure("d/main.pov", files["d/main.pov"], files.get)
    assert sorted(held) == ["d/a.png", "d/deep.inc", "d/letters.ttf", "d/part.inc"]
    for name in ("../x.inc", "/etc/passwd", "a/../../x.inc", "..\\x.inc", "http://127.0.0.1/x.inc", "~/x.inc"):
        with pytest.raises(OutsideError):
            closure("main.pov", f'#include "{name}"'.encode(), files.get)
    scad = {
        "m/a.scad": b'use <../lib/b.scad>\nimport("c.stl");',
        "lib/b.scad": b"include <d.scad>",
        "m/c.stl": b"",
        "lib/d.scad": b"",
    }
    assert sorted(closure("m/a.scad", scad["m/a.scad"], scad.get)) == ["lib/b.scad", "lib/d.scad", "m/c.stl"]
    with pytest.raises(OutsideError):
        closure("m/a.scad", b"use <../../x.scad>", scad.get)
    assert list(references('union { } "plain words" #debug "x"')) == []


def test_generators_repeat_and_are_read_whole() -> None:
    for kind in KINDS:
        codes = {scene(kind, 3, index).code for index in range(8)}
        assert codes == {scene(kind, 3, index).code for index in range(8)}
        assert len(codes) >= 7
    for kind in ("still-life", "carved", "mosaic", "sculpture", "market"):
        made = scene(kind, 3, 1)
        facts = facts_of(made.code, 160, 120)
        assert facts.parts, kind
        assert all((part.box is None) == (part.kind == "plane") and part.color for part in facts.parts), kind


def test_a_market_is_long_and_all_of_it_can_be_seen() -> None:
    """Sessions of 256K tokens are made of it; other corpora of generated scenes have none unless they ask."""
    facts, made = facts_of(scene("market", 1, 0).code, 256, 192), scene("market", 1, 0)
    assert len(made.code) > 6000
    assert sum(part.box is not None for part in facts.parts) > 50
    assert "market" not in USUAL
    assert {*USUAL, "market"} == set(KINDS)


@pytest.mark.parametrize("kind", ["still-life", "carved"])
def test_edits_do_what_their_words_say(kind: str) -> None:
    made = scene(kind, 5, 2)
    before = read(made.code, dict(FRAME))
    editor, told, facts = PovrayEditor(), set(), facts_of(made.code, 160, 120)
    edits = list(islice(editor.edits(made.code, facts, Dice(1)), 60))
    assert edits == list(islice(editor.edits(made.code, facts, Dice(1)), 60))
    for edit in edits:
        after = read(edit.code, dict(FRAME))
        assert after.whole
        word = edit.instruction.split()[0]
        told.add(word)
        assert len(after.things) - len(before.things) == {"Add": 1, "Remove": -1}.get(word, 0)
        if word == "Make":
            colors = [[thing.color.word for thing in one.things] for one in (before, after)]
            changed = [new for old, new in zip(*colors, strict=True) if old != new]
            assert changed == [edit.instruction.split()[-1].rstrip(".")]
    assert told >= ({"Make", "Move", "Remove", "Add"} if kind == "still-life" else {"Make", "Move", "Translate"})
    shared = "intersection { sphere { <1, 0, 0>, 1 } box { -1, 1 } pigment { color Red } translate <1, 0, 0> }"
    seen = {bug.instruction for bug in islice(editor.bugs(shared, facts, Dice(2)), 40)}
    assert "An intersection is not where it should be." in seen
    assert "A sphere is much too large." in seen
    bugs = list(islice(editor.bugs(made.code, facts, Dice(2)), 40))
    assert len({bug.instruction for bug in bugs}) >= 3
    vague = re.compile("missing|much too|where it should be|turned the wrong way|too dark")
    assert all(bug.enough == (vague.search(bug.instruction) is None) for bug in bugs)
    assert {bug.enough for bug in bugs} == {True, False}
    assert all(bug.code != made.code for bug in bugs)


def test_real_scenes_of_the_package_are_read_without_an_error() -> None:
    """Reader, slots and editor see strangers' code; they may know nothing of it but must not fail."""
    folder = Path(__file__).resolve().parents[3] / "examples" / "scenes" / "povray"
    for path in sorted(folder.glob("*.pov")):
        code = path.read_text(encoding="latin-1")
        facts = facts_of(code, 160, 120)
        assert facts.what
        assert len(list(islice(PovrayEditor().edits(code, facts, Dice(3)), 20))) == 20


def test_a_scene_that_reads_the_clock_is_found_out(engine: PovrayEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    wait = programs.wait_for_next_second  # a slow machine comes to the next second without it
    monkeypatch.setattr(programs, "wait_for_next_second", lambda: waited.append(wait()))
    code = "camera { location <0, 0, -9> look_at 0 }\n#declare R = seed(now * 86400 + 0.5);\n"
    code += "sphere { <6 * rand(R) - 3, 4 * rand(R) - 2, 0>, 1 pigment { rgb 1 } finish { ambient 1 } }"
    assert engine.draw(code, {}, SETTINGS).payload != engine.draw(code, {}, SETTINGS).payload
    assert len(waited) == 1
