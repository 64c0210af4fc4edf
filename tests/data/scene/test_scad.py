"""OpenSCAD: solids, flat drawings, what the evaluated tree says, changes, and what is refused."""

import io
import re
import time
from itertools import islice

import msgspec
import numpy as np
import pytest
from PIL import Image

from trivium.data.guard import Limits, run
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Facts
from trivium.data.scene import programs
from trivium.data.scene.generators import scene
from trivium.data.scene.mesh import MeshRenderer
from trivium.data.scene.openscad import PROFILE, OpenscadEngine, OpenscadRules
from trivium.data.scene.scad.editor import OpenscadEditor
from trivium.data.scene.scad.facts import facts_of
from trivium.errors import GuardError

CODE = """
use <lib/rod.scad>
side = 10;  // of the cube
difference() {
  cube(side, center = true);
  for (turn = [0, 90]) rotate([turn, 0, 0]) rod(20, 3);
}
translate([12, 0, 0]) sphere(r = 4);
"""
ROD = b"module rod(h, r) { cylinder(h = h, r = r, center = true, $fn = 16); }"


@pytest.fixture(scope="module")
def engine(renderer: MeshRenderer) -> OpenscadEngine:
    opened = OpenscadEngine()
    opened._renderer = renderer
    return opened


def test_code_is_drawn_with_what_the_tree_says_of_it(engine: OpenscadEngine) -> None:
    settings = '{"width":96,"height":72}'
    drawn = engine.draw(CODE, {"lib/rod.scad": ROD}, settings)
    assert drawn.facts is not None
    sizes = drawn.facts.sizes
    assert (sizes["number of cubes"], sizes["number of spheres"], sizes["number of cylinders"]) == (1, 1, 2)
    assert sizes["number of separate pieces"] == 2
    assert sizes["width"] == pytest.approx(21, abs=0.05)
    assert engine.draw(CODE, {"lib/rod.scad": ROD}, settings).payload == drawn.payload
    picture = np.asarray(Image.open(io.BytesIO(drawn.payload)).convert("RGB"))
    assert (picture != 255).any(2).mean() > 0.1
    flat = "circle(5); translate([8, 0]) square(3);"
    assert engine.flat(flat, {}, settings)
    plate = engine.draw(flat, {}, settings).facts
    assert plate is not None
    assert "height" not in plate.sizes
    assert plate.sizes["number of circles"] == 1


def test_the_facets_of_a_solid_come_in_one_order(engine: OpenscadEngine) -> None:
    hole = "cylinder(h = 30, r = 4, center = true, $fn = 16);"
    code = f"difference() {{ sphere(10, $fn = 24); {hole} rotate([90, 0, 0]) {hole} }}"
    code += " translate([7, -7, 7]) sphere(4, $fn = 24);"
    solids = [engine._run(code, {}, OpenscadRules()).stl for _ in range(3)]
    assert solids[0] == solids[1] == solids[2]
    head, *facets = solids[0].split(b"facet normal")
    assert head.startswith(b"solid")
    assert len(facets) > 500
    assert solids[0].endswith(b"endfacet\nendsolid OpenSCAD_Model\n")


def test_two_runs_of_random_code_make_two_pictures(engine: OpenscadEngine) -> None:
    code = "cube([10, rands(1, 9, 1)[0], 5]);"
    views = ['{"width":64,"height":48}', '{"azimuth":0.0,"width":64,"height":48}']
    first = [engine.draw(code, {}, settings).payload for settings in views]
    second = [engine.draw(code, {}, settings).payload for settings in views]
    assert all(one != other for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("cube(;", "parse_error"),
        ("use <absent.scad>\nabsent();", "absent_file"),
        ('import("/etc/passwd.stl");', "external_reference"),
        ("module never() { cube(1); }", "empty"),
        ("assert(false);", "failed"),
    ],
)
def test_code_is_refused_with_its_reason(engine: OpenscadEngine, code: str, reason: str) -> None:
    with pytest.raises(GuardError) as caught:
        engine.draw(code, {}, "{}")
    assert caught.value.reason == reason


def test_an_empty_scene_says_what_openscad_warned_of(engine: OpenscadEngine) -> None:
    code = "for (i = [0:1e9]) translate([i, 0, 0]) cube(1);"
    with pytest.raises(GuardError, match=r"warns: Bad range parameter.*too many elements") as caught:
        engine.draw(code, {}, '{"width":64,"height":48}')
    assert caught.value.reason == "empty"


def test_the_tree_is_counted_by_what_stands_in_it() -> None:
    tree = """
group() {
	multmatrix([[1, 0], [0, 1]]) {
		cylinder($fn = 0, h = 10, r1 = 5, r2 = 5, center = false);
		%cylinder($fn = 0, h = 10, r1 = 5, r2 = 2, center = false);
		text(text = "cube(1);", size = 10);
	}
}
"""
    mesh = Facts(what="a mesh", sizes={"width": 1.0, "depth": 2.0, "height": 3.0, "pieces": 1.0, "triangles": 12.0})
    sizes = facts_of(tree, mesh, flat=False).sizes
    assert sizes == {
        "width": 1.0, "depth": 2.0, "height": 3.0, "number of separate pieces": 1.0,
        "number of cylinders": 1.0, "number of cones": 1.0, "number of pieces of text": 1.0,
    }  # fmt: skip


def test_edits_say_what_they_change() -> None:
    made = scene("case", 2, 3)
    editor, facts = OpenscadEditor(), Facts(what="", sizes={"width": 40.0, "depth": 30.0, "height": 20.0})
    edits = list(islice(editor.edits(made.code, facts, Dice(1)), 60))
    assert edits == list(islice(editor.edits(made.code, facts, Dice(1)), 60))
    for edit in edits:
        old, new = made.code.splitlines(), edit.code.splitlines()
        if edit.instruction.startswith("Change `"):
            name = edit.instruction.split("`")[1]
            changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
            assert len(changed) == 1
            assert changed[0][1].startswith(f"{name} = {edit.instruction.rsplit(' ', 1)[1].rstrip('.')};")
        elif "on line" in edit.instruction and len(old) == len(new):
            line = int(edit.instruction.split("on line ")[1].split()[0].rstrip("."))
            assert old[line - 1] != new[line - 1] or edit.instruction.startswith("Remove")
    assert {edit.instruction.split()[0] for edit in edits} >= {"Change", "Add", "Draw"}
    bugs = list(islice(editor.bugs(made.code, facts, Dice(2)), 40))
    assert len({bug.instruction for bug in bugs}) >= 4
    vague = re.compile("missing|much too|where it should be|turned the wrong way|too dark")
    assert all(bug.enough == (vague.search(bug.instruction) is None) for bug in bugs)
    assert {bug.enough for bug in bugs} == {True, False}
    swapped = [bug for bug in bugs if "solid bodies" in bug.instruction]
    assert swapped
    assert all(bug.code.count("union") == made.code.count("union") + 1 for bug in swapped)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("// <http://www.gnu.org/licenses/>\nmodule part() {}", "empty"),
        ('/* import("http://a.test/b.stl") */', "empty"),
        ('/* never ended "/etc/passwd"', "empty"),
        ('assert(false, "Test! <html>&</html>");', "empty"),
        ('import("http://a.test/b.stl"); // a "comment', "external_reference"),
        ('echo("a \\" // b"); use <../../font.ttf>', "external_reference"),
        ('#include "/etc/passwd"', "external_reference"),
    ],
)
def test_only_names_that_are_read_make_a_reference_outward(code: str, reason: str) -> None:
    assert programs.wanting("empty", "it makes no object", code).reason == reason


def test_comments_without_an_end_cost_no_time() -> None:
    began = time.process_time()
    assert programs.wanting("empty", "", "/*" * 100_000 + '"' * 100_000).reason == "empty"
    assert time.process_time() - began < 5


def test_memory_lies_at_the_same_addresses_in_every_run() -> None:
    """CGAL's order follows addresses: a mesh with holes and a cylinder came out whole in one run, not in the next."""
    profile = msgspec.structs.replace(PROFILE, proc=True)
    first, second = (run(["cat", "/proc/self/maps"], {}, limits=Limits(), profile=profile).stdout for _ in range(2))
    assert b"[stack]" in first
    assert first == second
