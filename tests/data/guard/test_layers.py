"""What isolation this machine gives, and who may work with how little."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from trivium.data.config import from_mapping
from trivium.data.guard import Sandbox, sandbox
from trivium.data.guard.layers import demand, layers
from trivium.data.svg.pairs import SvgRender
from trivium.errors import MissingDependencyError
from trivium.pipelines.corpora.extent import Extent
from trivium.pipelines.corpora.recipe import Recipe, SourceConfig, StageKind


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", "/nonexistent")
    sandbox.cache_clear()
    yield
    sandbox.cache_clear()


def test_each_layer_says_whether_it_holds_and_what_to_do() -> None:
    weak = {layer.name: layer for layer in layers(Sandbox(reason="bubblewrap is not installed"))}
    assert all(layer.found and (layer.cure == "") == layer.holds for layer in weak.values())
    lost = {"namespaces (bubblewrap)", "no network", "a user without rights", "a bound on processes"}
    assert lost <= {layer.name for layer in weak.values() if not layer.holds}
    assert weak["namespaces (bubblewrap)"].cure == "sudo apt-get install -y bubblewrap"
    if not sandbox().strong:
        pytest.skip(f"no namespaces here: {sandbox().reason}")
    here = {layer.name for layer in layers() if layer.holds}
    assert {"namespaces (bubblewrap)", "no network", "a user without rights"} <= here
    assert ("a bound on processes" in here) == sandbox().counted


@pytest.mark.usefixtures("no_bubblewrap")
def test_strangers_code_is_refused_without_namespaces(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    raw = {
        "version": 1,
        "corpus": "drawings",
        "domain": "visual-coding",
        "sources": [{"kind": "svg_drawings", "name": "drawings", "count": 1}],
        "stages": [{"kind": "svg_sanitize"}, {"kind": "svg_render"}],
    }
    recipe = from_mapping(raw, Recipe, name="recipe")
    Extent().check(recipe, tmp_path / "out")  # markup runs, with the guard's warning
    monkeypatch.setattr(SvgRender.Config, "EXECUTES", True)
    with pytest.raises(MissingDependencyError, match=r"svg_render: runs code of strangers.*apt-get install bubblewrap"):
        Extent().check(recipe, tmp_path / "out")
    Extent(unsafe=True).check(recipe, tmp_path / "out")
    assert "svg_render runs code of strangers without namespaces" in capfd.readouterr().err
    monkeypatch.setattr(type(recipe.sources[0]), "EXECUTES", True)
    with pytest.raises(MissingDependencyError, match=r"^drawings, svg_render: runs code of strangers"):
        Extent().check(recipe, tmp_path / "out")
    demand([], unsafe=False)


def test_all_kinds_that_execute_code_say_so() -> None:
    known = [*get_args(SourceConfig), *get_args(StageKind)]
    executing = {kind.__struct_config__.tag for kind in known if getattr(kind, "EXECUTES", False)}
    assert executing == {"cad_draw", "game_draw", "page_jsx", "scene_draw"}
