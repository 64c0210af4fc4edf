"""Recipes: the shipped one as golden text, and what a wrong one says."""

from pathlib import Path

import pytest

from trivium.data.config import dump_yaml
from trivium.errors import ConfigError, InputError
from trivium.pipelines.corpora.driver import cut
from trivium.pipelines.corpora.recipe import load_recipe

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / "recipes/corpora/web-docs.yaml"
GOLDEN = ROOT / "tests/golden/web-docs.yaml"


def test_the_resolved_recipe_is_the_golden_text():
    assert dump_yaml(load_recipe(RECIPE)) == GOLDEN.read_text(), "explain a change of the golden file in its commit"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("stages.0.max_dept=3", "did you mean 'max_depth'"),
        ("stages.1.kind=languag", "did you mean 'language'"),
        ("stages.1.min_score=2", "min_score"),
        ("stages.4.ngram=1", "glue unrelated texts"),
        ("stages.4.threshold=0", "threshold"),
        ("stages.4.min_words=3", "min_words"),
        ("stages.4.engine=md5", "engine"),
        ("stages.4.max_source_loss=0", "max_source_loss"),
        ("stages.3.max_source_loss=2", "max_source_loss"),
        ("stages=[{kind: exact_dedup}]", "stages must begin"),
        ("sources=[]", "sources is empty"),
        ("sources.1.name=python-docs", "two sources are named 'python-docs'"),
        ("sources.0.licence=x", "did you mean 'license'"),
        ("corpus=Web Docs", "corpus"),
        ("version=2", "recipes of version 1"),
        ("error_budget=2", "error_budget"),
    ],
)
def test_a_wrong_recipe_names_the_key_and_the_cure(override, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load_recipe(RECIPE, (override,))
    assert caught.value.exit_code == 2


def test_paths_are_relative_to_the_recipe_and_overrides_to_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a.html").write_text("<p>x")
    monkeypatch.chdir(tmp_path)
    recipe = load_recipe(RECIPE, ("sources.0.path=pages",))
    assert recipe.sources[0].root(RECIPE.parent).resolve() == tmp_path / "pages"
    with pytest.raises(InputError, match="trivium inputs fetch"):
        load_recipe(RECIPE, ("sources.0.path=elsewhere",))


def test_a_kind_that_comes_again_has_a_name_of_its_own():
    stages = "[{kind: extract_html}, {kind: heuristics}, {kind: exact_dedup}, {kind: heuristics}, {kind: near_dedup}]"
    recipe = load_recipe(RECIPE, (f"stages={stages}",))
    assert recipe.stage_names() == ("read", "extract_html", "heuristics", "exact_dedup", "heuristics-2", "near_dedup")
    assert [segment.item_names for segment in cut(recipe)] == [("extract_html", "heuristics"), ("heuristics-2",)]
    assert [segment.shuffle_names for segment in cut(recipe)] == [("exact_dedup",), ("near_dedup",)]
