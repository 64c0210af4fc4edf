"""docs/corpora/recipes.md is what the structs say, and the recipe for one's own folder is one."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from trivium.data.config import Strict, parse_yaml
from trivium.pipelines.corpora.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def keys() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recipe_keys", ROOT / "scripts" / "recipe_keys.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Example(Strict):
    """`named` stands here; `other` too, and a word on what it is for. A third sentence names none."""

    named: int
    other: int
    behind: int = 1  # said at its line
    # said above
    above: int = 2
    silent: int = 3


def test_the_page_is_what_the_structs_say(keys):
    assert keys.PAGE.read_text(encoding="utf-8") == keys.page(), "run python scripts/recipe_keys.py"


def test_a_key_means_what_its_comment_or_docstring_says(keys):
    assert keys.meaning(Example, "named") == "`named` stands here."
    assert keys.meaning(Example, "other") == "`other` too, and a word on what it is for."
    assert keys.meaning(Example, "behind") == "said at its line"
    assert keys.meaning(Example, "above") == "said above"
    with pytest.raises(LookupError, match=r"Example\.silent has no meaning; write a comment behind it"):
        keys.meaning(Example, "silent")


def test_the_recipe_for_ones_own_folder_is_a_recipe():
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    block = page.split("## Your own folder", 1)[1].split("```yaml\n", 1)[1].split("```", 1)[0]
    recipe = parse_yaml(block, Recipe, name="docs/corpora.md")
    assert [source.path for source in recipe.sources] == ["texts"] * 3
