"""SVG recipes as they are shipped, small: bit-identical for any workers and order, drawings as places, guard closed."""

from pathlib import Path

import msgspec
import psutil
import pytest

from trivium.data.config import from_mapping
from trivium.data.records import Image, Text
from trivium.data.shards import ShardSet
from trivium.data.shards.diff import diff
from trivium.data.stage import Raw
from trivium.data.svg.drawings import DrawingRules, draw
from trivium.pipelines.beam import parse_options
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.recipe import Recipe, load_recipe
from trivium.pipelines.corpora.svg import SvgDrawings, SvgFolder

ROOT = Path(__file__).parents[3]
RECIPES = ROOT / "recipes" / "corpora"


def test_drawings_are_places_of_a_chunk_each_and_then_of_one() -> None:
    source = SvgDrawings(name="d", count=600, seed=3)
    places = list(source.places(Path()))
    assert [place.offset for place in places] == [0, 256, 512]
    singles = [single for place in places for single in source.split(place)]
    assert len({getattr(single, "address", "") for single in singles}) == 600
    (raw,) = source.read(singles[599], "c", "d")  # type: ignore[arg-type]
    assert isinstance(raw, Raw)
    assert raw.body.decode() == draw(3, 599, DrawingRules())
    assert raw.license == "CC0-1.0"


def test_the_shipped_recipes_load_and_find_their_files() -> None:
    icons = load_recipe(RECIPES / "svg-icons.yaml")
    folders = [source for source in icons.sources if isinstance(source, SvgFolder)]
    assert [len(list(source.places(RECIPES))) for source in folders] == [320, 180, 66]
    for source in folders:
        assert (source.root(RECIPES) / "LICENSE").is_file()
    (drawings,) = load_recipe(RECIPES / "svg-drawings.yaml").sources
    assert isinstance(drawings, SvgDrawings)
    assert drawings.drawings == msgspec.structs.replace(DrawingRules(), most=2)  # simpler than the default


TWO = ("--direct_num_workers=2", "--direct_running_mode=multi_processing")


@pytest.mark.parametrize("flags", [(), pytest.param(TWO, marks=pytest.mark.soak)], ids=["one", "two"])
def test_one_worker_two_processes_and_another_order_give_the_same_shards(tmp_path: Path, flags: tuple[str]) -> None:
    """In short, two processes are test_driver's."""
    raw = {
        "version": 1,
        "corpus": "mixed",
        "domain": "visual-coding",
        "sources": [
            {"kind": "svg_drawings", "name": "drawings", "count": 24},
            {"kind": "svg_folder", "name": "clip", "path": "examples/svg/openclipart/animals", "license": "PD"},
        ],
        "stages": [{"kind": "svg_sanitize"}, {"kind": "exact_dedup"}, {"kind": "svg_render", "pixels": 56}],
        "shards": {"target_bytes": 40_000},
    }
    recipe = from_mapping(raw, Recipe, name="recipe")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    first = build(recipe, ROOT, tmp_path / "a", parse_options(["--direct_num_workers=1"]))
    build(recipe, ROOT, tmp_path / "b", parse_options(flags), shuffle_seed=7)
    assert diff(tmp_path / "a", tmp_path / "b").identical
    assert first.records > 24
    left = [c for c in psutil.Process().children(recursive=True) if c.pid not in before and "bwrap" in c.name()]
    assert left == []
    shards = ShardSet.open(tmp_path / "a")
    for index in range(len(shards)):
        document, media = shards.read(index)
        *_, image, text = document.segments
        assert isinstance(image, Image)
        assert isinstance(text, Text)
        assert media[image.media].startswith(b"\x89PNG")
        assert msgspec.json.encode(document.meta.lineage.steps)
