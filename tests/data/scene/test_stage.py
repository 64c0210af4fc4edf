"""From a folder of real scenes to drawn items: bundles, engines, views, facts, refusals."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from trivium.data.pairs import bundle
from trivium.data.pairs.drawing import DrawRules
from trivium.data.pairs.item import sheet_of
from trivium.data.scene.stage import SceneDraw, SceneViews
from trivium.data.stage import Draft, Drop, Raw
from trivium.errors import InputError
from trivium.pipelines.corpora.scenes import SceneFolder, SceneGenerator

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "scenes"
VIEWS = SceneViews(width=64, height=48, antialias=0.0, solid=2, moving=2)


def items(source: SceneFolder | SceneGenerator, base: Path) -> dict[str, Raw | Drop]:
    found = [item for place in source.places(base) for item in source.read(place, "scenes", "visual-coding")]
    assert all(isinstance(item, Raw | Drop) for item in found)
    return {item.address: item for item in found if isinstance(item, Raw | Drop)}


@pytest.fixture(scope="module")
def stage() -> Iterator[SceneDraw]:
    made = SceneDraw(SceneDraw.Config(views=VIEWS, draw=DrawRules(edits=1, bugs=0), max_chars=5000))
    made.open()
    yield made
    made.close()


def test_real_scenes_become_items(stage: SceneDraw) -> None:
    source = SceneFolder(name="examples", path="scenes", license="MIT", licenses={"povray/": "CC-BY-3.0"})
    found = items(source, EXAMPLES.parent)
    assert len(found) == 16
    local = found["povray/local.pov"]
    assert isinstance(local, Raw)
    assert local.license == "CC-BY-3.0"
    assert sorted(bundle.unpack(local.body).files) == ["povray/local.inc", "povray/local.pov"]
    kinds = {"povray/local.pov": "povray", "openscad/CSG.scad": "openscad", "meshes/cube.stl": "mesh"}
    for address, engine in kinds.items():
        (drawn,) = stage.process(found[address])  # type: ignore[arg-type]
        assert isinstance(drawn, Draft), drawn
        meta, sheet = drawn.document.meta, sheet_of(drawn)
        assert {one.engine for one in meta.drawn} == {engine}
        assert [one.code for one in meta.drawn] == [-1 if engine == "mesh" else 0] * len(meta.drawn)
        assert len(sheet.views) == (1 if engine == "povray" else 2)
        assert set(sheet.files) == ({"local.inc"} if engine == "povray" else set())
        assert len(sheet.changes) == (0 if engine == "mesh" else 1)
        assert meta.lineage.steps[-1].name == "scene_draw"
    assert {change.role for change in sheet_of(drawn).changes} == set()
    (refused,) = stage.process(found["meshes/empty.stl"])  # type: ignore[arg-type]
    assert isinstance(refused, Drop)
    assert refused.reason == "empty"


def test_a_generated_scene_is_seen_by_several_cameras(stage: SceneDraw) -> None:
    source = SceneGenerator(name="made", license="CC0-1.0", count=3, seed=5, kinds=("still-life",))
    found = items(source, Path())
    assert list(found) == [f"still-life-0000000{index}" for index in range(3)]
    (drawn,) = stage.process(found["still-life-00000001"])  # type: ignore[arg-type]
    assert isinstance(drawn, Draft)
    sheet = sheet_of(drawn)
    assert list(sheet.views.values()) == ["clock 0", "clock 0.3"]
    assert drawn.media["i0.png"] != drawn.media["i1.png"]
    assert all((part.box is None) == (part.kind == "plane") for part in sheet.facts.parts)
    with pytest.raises(msgspec.ValidationError, match="there are still-life"):
        msgspec.convert({"name": "x", "license": "MIT", "count": 1, "kinds": ["x"]}, SceneGenerator)


def test_a_scene_never_takes_along_what_lies_outside(tmp_path: Path, stage: SceneDraw) -> None:
    (tmp_path / "secret.inc").write_text("sphere { 0, 1 }")
    inside = tmp_path / "scenes"
    inside.mkdir()
    (inside / "up.pov").write_text('#include "../secret.inc"')
    (inside / "link.inc").symlink_to(tmp_path / "secret.inc")
    (inside / "linked.pov").write_text('#include "link.inc"')
    (inside / "long.pov").write_text("// much\n" * 1000)
    found = items(SceneFolder(name="s", path="scenes", license="MIT"), tmp_path)
    up, linked = found["up.pov"], found["linked.pov"]
    assert isinstance(up, Drop)
    assert isinstance(linked, Drop)
    assert (up.reason, linked.reason) == ("external_reference", "symlink_escape")
    (long,) = stage.process(found["long.pov"])  # type: ignore[arg-type]
    assert isinstance(long, Drop)
    assert long.reason == "too_long"
    with pytest.raises(InputError, match="library absent"):
        SceneFolder(name="s", path="scenes", license="MIT", libraries=("absent",)).check(tmp_path)
