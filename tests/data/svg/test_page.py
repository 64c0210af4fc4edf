"""docs/corpora/svg.md names tests, kinds and sources that exist."""

import re
from pathlib import Path

from trivium.data.config import load_yaml
from trivium.data.svg.generators import KINDS
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.svg import SvgFolder

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/corpora/svg.md").read_text()


def test_the_tests_of_others_bugs_exist() -> None:
    rows = re.findall(r"^\| (\d+) \|(.*)$", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == [20, 24, 25, 26]
    for number, rest in rows:
        named = re.findall(r"`(tests/[^`]+\.py)::(test_\w+)`", rest)
        assert named, f"row {number} names no test"
        for path, name in named:
            assert f"def {name}(" in (ROOT / path).read_text(), f"row {number}: {path} has no {name}"


def test_the_page_lists_the_generators_kinds_and_the_recipes_sources() -> None:
    recipe = load_yaml(ROOT / "recipes/corpora/svg.yaml", Recipe)
    listed = set(re.findall(r"^\| ([\w-]+)", PAGE, re.MULTILINE))
    assert listed >= set(KINDS)
    assert listed >= {re.sub("^openclipart-.*", "openclipart", source.name) for source in recipe.sources}
    folders = [source for source in recipe.sources if isinstance(source, SvgFolder)]
    brought = set(" ".join(re.findall(r"inputs fetch ([^\n]*)\\\n\s+([^\n]*)", PAGE)[0]).split())
    assert {source.inputs for source in folders} == brought
