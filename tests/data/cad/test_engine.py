"""The engine for real: solids proved, measured and drawn; scripts and files that mean harm refused."""

import io
import math

import msgspec
import numpy as np
import pytest
from PIL import Image

from trivium.data.cad.engine import CadEngine
from trivium.data.cad.requests import CadRequest, CadSettings
from trivium.data.scene.sharp import sharp_edges
from trivium.errors import GuardError

FLANGE = """from build123d import *

with BuildPart() as flange:
    Cylinder(40, 10)
    Hole(15)
    with PolarLocations(28, 6):
        Hole(4)

result = flange.part
"""
STEPPED = """from build123d import *

block = Box(50, 28, 50)
axis = Rot(90, 0, 0)
block -= axis * Cylinder(12, 60)
block -= axis * Pos(0, 0, 14) * Cylinder(14, 20)
block -= Pos(20, 0, 0) * Cylinder(3, 60)
result = block
"""
HEAD = "from build123d import *\n"


def settings(view: str, **other: object) -> str:
    return msgspec.json.encode(CadSettings(view=view, width=256, height=256, **other), order="sorted").decode()  # type: ignore[arg-type]


def test_facts_are_those_of_the_solid_and_boxes_those_of_the_picture(engine: CadEngine) -> None:
    drawing = engine.draw(FLANGE, {}, settings("shaded", grid="xyz"))
    facts = drawing.facts
    assert facts is not None
    volume = math.pi * 10 * (40**2 - 15**2 - 6 * 4**2)
    assert facts.sizes["volume mm³"] == pytest.approx(volume, rel=1e-6)
    assert [facts.sizes[f"size along {axis} mm"] for axis in "xyz"] == [80.0, 80.0, 10.0]
    holes = [part for part in facts.parts if part.kind == "through hole"]
    assert sorted(part.sizes["diameter mm"] for part in holes) == [8.0] * 6 + [30.0]
    assert facts.what == "a flat plate-like part with seven through holes"
    bore = next(part for part in holes if part.name == "Ø30")
    assert bore.box is not None
    left, top, right, bottom = bore.box
    pixels = np.asarray(Image.open(io.BytesIO(drawing.payload)).convert("L")).astype(int)
    inside = pixels[int(top) + 2 : int(bottom) - 1, int(left) + 2 : int(right) - 1]
    around = pixels[int((top + bottom) / 2), int(right) + 4]
    assert (np.abs(inside - around) > 10).mean() > 0.5  # the bore looks other than the face beside it
    assert (left + right) / 2 == pytest.approx(128, abs=2)


def test_a_mouth_that_lies_behind_the_front_has_no_box(engine: CadEngine) -> None:
    """The bore behind a counterbore is seen through its mouth, and its own mouth is mostly covered."""
    facts = engine.draw(STEPPED, {}, settings("shaded")).facts
    assert facts is not None
    boxes = {part.name: part.box for part in facts.parts}
    assert boxes["Ø24"] is None
    assert boxes["Ø28"] is not None
    assert boxes["Ø6"] is not None


def test_a_rounded_rim_shows_no_facets_as_edges() -> None:
    """Where triangles of a fillet meet at more than an edge's angle they were drawn as specks."""
    from trivium.data.cad.task import work  # imports Open CASCADE, as the children do

    code = HEAD + "knob = Cylinder(50, 30)\nresult = fillet(knob.edges().filter_by(GeomType.CIRCLE), 3)\n"
    [answer] = work(CadRequest(settings=(CadSettings(view="shaded", width=256, height=256),), code=code, file=b""))
    assert answer.mesh is not None
    for part in answer.mesh.surfaces:
        points, number = np.unique(part.coordinates.round(5), axis=0, return_inverse=True)  # met along the seam
        ends = points[sharp_edges(points, number.reshape(-1)[part.triangles], 30.0, 1e-3)]
        assert np.allclose(ends[:, 0, 2], ends[:, 1, 2])  # around the axis, none along it


def test_views_of_one_run_are_those_drawn_one_by_one(engine: CadEngine) -> None:
    views = [settings("isometric"), settings("drawing"), settings("top", check=False)]
    engine.expect(views)
    together = [engine.draw(FLANGE, {}, view).payload for view in views]
    engine.expect(())
    alone = [engine.draw(FLANGE, {}, view).payload for view in views]
    assert together == alone
    assert len(set(together)) == 3


REFUSED = {
    "result = Box(1, 2, 3).edges()": "no_solid",
    "result = Rectangle(4, 5)": "no_solid",
    "result = Box(10, 10.5, 10)": "off_grid",
    "result = Box(100000, 1, 1)": "bad_size",
    "raise ValueError('no part')": "script_error",
    "import collections\nname = 'o' + 's'\nresult = collections.namedtuple('A', 'b', module=name)": "no_solid",
    "def f():\n    return f()\nf()": "script_error",
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.items())
def test_scripts_that_make_no_sound_solid_are_refused(engine: CadEngine, body: str, reason: str) -> None:
    with pytest.raises(GuardError) as refused:
        engine.draw(HEAD + body, {}, settings("front", grid="xyz"))
    assert refused.value.reason == reason


def test_step_files_are_read_and_broken_ones_refused(engine: CadEngine) -> None:
    for payload in (b"no STEP", b"ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\n#1=NONSENSE(;\nENDSEC;\nEND-ISO-10303-21;\n"):
        with pytest.raises(GuardError) as refused:
            engine.draw("", {"part.step": payload}, settings("shaded"))
        assert refused.value.reason in ("broken", "no_solid")
