"""Files that stages read: found from the recipe's folder, refused with file and line, absolute in workers."""

from pathlib import Path

import pytest

from trivium.data.stage import Draft, Drop, Raw
from trivium.errors import InputError
from trivium.pipelines.corpora.recipe import load_recipe

RECIPE = """\
version: 1
corpus: small
domain: web
sources:
  - {kind: html_folder, name: pages, path: pages, license: x}
stages:
  - kind: urls
    lists:
      - {name: first, path: lists/domains, kind: domains}
      - {name: second, path: lists/words, kind: words}
  - {kind: extract_html}
"""


@pytest.fixture
def recipe_file(tmp_path) -> Path:
    for name, text in (("pages/a.html", "<p>a"), ("lists/domains", "bad.org\n"), ("lists/words", "casino\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path / "recipe.yaml"


def test_a_stages_files_are_found_from_the_recipes_folder(recipe_file, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    recipe = load_recipe(recipe_file)
    assert [each.path for each in recipe.stages[0].lists] == ["lists/domains", "lists/words"]
    stage = recipe.stages[0].located(tmp_path).build()
    stage.open()
    page = Raw(corpus="c", domain="d", source="s", address="http://x.bad.org/", license="", body=b"", mime="")
    assert [type(outcome) for outcome in stage.process(page)] == [Drop]
    assert not any(isinstance(outcome, Draft) for outcome in stage.process(page))


def test_a_path_on_the_command_line_is_relative_to_where_it_is_typed(recipe_file, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/other").write_text("worse.org\n")
    monkeypatch.chdir(tmp_path / "here")
    recipe = load_recipe(recipe_file, ("stages.0.lists.0.path=other",))
    assert recipe.stages[0].lists[0].path == "here/other"


def test_an_absent_file_is_named_with_its_line(recipe_file, tmp_path):
    (tmp_path / "lists/words").unlink()
    with pytest.raises(InputError, match=r"recipe\.yaml:10.*lists/words does not exist"):
        load_recipe(recipe_file)
