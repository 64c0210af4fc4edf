"""docs/corpora/recipes.md is what the structs say, and the recipe for one's own folder is one."""

import importlib.util
import re
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


class Base(Strict):
    """`path` is relative to the recipe."""

    path: str


class Below(Base):
    """What names anything outside `path` is refused."""


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
    assert keys.meaning(Below, "path") == "`path` is relative to the recipe."  # not what names it in passing
    with pytest.raises(LookupError, match=r"Example\.silent has no meaning; write a comment behind it"):
        keys.meaning(Example, "silent")


def test_the_page_says_what_there_is_and_what_a_default_holds(keys):
    page = keys.page()
    head = page.partition("## The file")[0]
    anchors = re.findall(r"\]\(#([\w-]+)\)", head)
    titles = re.findall(r"^#+ (.*)$", page, re.M)
    assert anchors == [re.sub(r"[`:]", "", title).lower().replace(" ", "-") for title in titles if title not in TOP]
    assert "1 for each of `bars`, `lines`, `pie`" in page  # of `svg_generated`
    assert '`["still-life", "carved"' in page  # of `scene_generator`
    row = next(line for line in page.split("### `kind: svg_draw`")[1].splitlines() if line.startswith("| `draw`"))
    assert "(#drawrules)" in row
    assert "`look`: [LookRules](#lookrules)" in row


TOP = ("Every key of a corpus recipe", "Sources", "Stages", "Parts")


def own(page: str) -> list[Recipe]:
    """The recipes for one's own folder on a page of docs/."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split("## Your own folder", 1)[1].split("\n## ")[0]
    return [parse_yaml(block.split("```")[0], Recipe, name=page) for block in text.split("```yaml\n")[1:]]


def test_the_recipe_for_ones_own_folder_is_a_recipe():
    (recipe,) = own("corpora.md")
    assert [source.path for source in recipe.sources] == ["texts"] * 3


def test_the_recipes_for_ones_own_drawings_pages_and_models_are_recipes():
    found = own("programmatic.md")
    assert [source.path for recipe in found for source in recipe.sources] == ["svgs", "pages", "models"]
    assert all(recipe.stage_names()[-1] == "pair_tasks" for recipe in found)
    assert found[0].stages[0].policy.text
