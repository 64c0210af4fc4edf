"""Recipes: the shipped one as golden text, and what a wrong one says."""

from pathlib import Path
from typing import get_args

import pytest

from trivium.data.config import dump_yaml, load_yaml
from trivium.data.stage import Content
from trivium.errors import ConfigError, InputError
from trivium.pipelines.corpora.driver import cut
from trivium.pipelines.corpora.recipe import Recipe, SourceConfig, StageKind, load_recipe

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
        ("stages=[]", "stages is empty"),
        ("sources=[]", "sources is empty"),
        ("sources.0.max_bytes=0", ">= 1"),
        ("shards.target_bytes=0", "target_bytes: expected `int` >= 1"),
        ("domain=My pages", "domain: 'My pages' is no name"),
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


ICONS = ROOT / "recipes/corpora/svg-icons.yaml"


@pytest.mark.parametrize(
    ("recipe", "override", "message"),
    [
        (
            RECIPE,
            "stages=[{kind: language}, {kind: extract_html}]",
            "stages.0.kind: language takes documents, and here it gets HTML pages of source 'python-docs'; move it "
            "behind extract_html (stages.1), which makes them",
        ),
        (
            RECIPE,
            "stages=[{kind: near_dedup}]",
            "stages.0.kind: near_dedup takes documents, and here it gets HTML pages of source 'python-docs'; put "
            "extract_html before it, which makes them of HTML pages",
        ),
        (
            RECIPE,
            "stages.1={kind: extract_html}",
            "stages.1.kind: extract_html takes HTML pages, and here it gets text documents of extract_html; what it "
            "takes comes from html_folder or arc or warc: take it out, or read that",
        ),
        (
            ICONS,
            "stages=[{kind: svg_render}, {kind: svg_sanitize}]",
            "stages.0.kind: svg_render takes documents of SVG code or records of a shard set, and here it gets SVG "
            "files of source 'tabler-icons'; move it behind svg_sanitize (stages.1), which makes them",
        ),
        (
            ICONS,
            "sources.1.kind=html_folder",
            "exact_dedup takes documents, and here it gets HTML pages of source 'openmoji'; put extract_html before it",
        ),
        (
            RECIPE,
            "stages=[{kind: extract_html}, {kind: exact_dedup, quality: words}, {kind: heuristics}]",
            "stages.1.quality: no stage before it writes the score 'words'; put heuristics or page_clean before it",
        ),
        (RECIPE, "stages.4.quality=word", "stages.4.quality: no stage before it writes the score 'word'; did you mean"),
    ],
)
def test_a_wrong_order_names_the_stage_what_it_needs_and_what_gives_it(recipe, override, message):
    with pytest.raises(ConfigError) as caught:
        load_recipe(recipe, (override,))
    assert message in str(caught.value)


def test_every_kind_says_what_it_takes_and_gives():
    """What no kind gives, no stage could ever get."""
    sources, stages = get_args(SourceConfig), get_args(StageKind)
    given = {source.GIVES for source in sources} | {stage.GIVES for stage in stages}
    assert set(Content) <= given
    assert all(stage.TAKES for stage in stages)


def test_a_missing_input_is_found_at_its_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(RECIPE.read_text().replace("../../examples", str(ROOT / "examples")).replace("/pywb\n", "/pwyb\n"))
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "/pwyb" in text)
    with pytest.raises(InputError, match=f"^{path}:{line}: source 'pywb-crawls': .*pwyb does not exist"):
        load_recipe(path)


def test_all_missing_inputs_are_named_at_once_with_one_command(tmp_path):
    path, cache = tmp_path / "mine.yaml", tmp_path / "inputs"
    sources = [("one", cache / "git-doc/html", "git-doc"), ("two", cache / "python3.11-doc", "python3.11-doc")]
    sources += [("three", cache / "git-doc/more", "git-doc"), ("mine", tmp_path / "my/pages", "")]
    lines = [
        f"  - {{kind: html_folder, name: {name}, path: {where}, license: MIT{f', inputs: {key}' if key else ''}}}"
        for name, where, key in sources
    ]
    head, tail = ["version: 1", "corpus: c", "domain: d", "sources:"], ["stages: [{kind: extract_html}]"]
    path.write_text("\n".join([*head, *lines, *tail]))
    with pytest.raises(InputError) as caught:
        load_recipe(path)
    said = str(caught.value)
    assert said.count("trivium inputs fetch") == 1
    assert "bring what is a package with `trivium inputs fetch git-doc python3.11-doc`, or mend the paths of" in said
    for number, (name, where, _) in enumerate(sources, 5):
        assert f"{path}:{number}: source '{name}': {where} does not exist" in said
    path.write_text("\n".join([*head, lines[3], *tail]))
    with pytest.raises(InputError) as caught:
        load_recipe(path)
    own = f"{path}:5: source 'mine': {tmp_path}/my/pages does not exist; mend `path` in the recipe"
    assert str(caught.value) == own
    path.write_text("\n".join([*head, *lines[:2], *tail]))
    with pytest.raises(InputError, match=r"bring them with `trivium inputs fetch git-doc python3.11-doc`, or mend the"):
        load_recipe(path)


def test_paths_are_relative_to_the_recipe_and_overrides_to_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a.html").write_text("<p>x")
    monkeypatch.chdir(tmp_path)
    recipe = load_recipe(RECIPE, ("sources.0.path=pages",))
    assert recipe.sources[0].root(RECIPE.parent).resolve() == tmp_path / "pages"
    for wrong in ("elsewhere", "../../x"):
        with pytest.raises(InputError, match="mend `path`") as caught:
            load_recipe(RECIPE, (f"sources.0.path={wrong}",))
        assert f"(path {wrong}, relative to where the command runs; in a recipe, to the recipe)" in str(caught.value)
        absent = (tmp_path / wrong).resolve()
        assert str(caught.value).startswith(f"--set sources.0.path={wrong}: source 'python-docs': {absent} does not")


LONG = ROOT / "recipes/corpora/long-context.yaml"


@pytest.mark.parametrize("key", ["sources.0.sets.0.path", "sources.joined-64k.sets.web-docs.path"])
def test_nested_paths_of_overrides_are_relative_to_the_working_directory_too(tmp_path, monkeypatch, key):
    for name in ("web", "icons", "drawings"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    off = "sources.joined-1m.rows=0"
    others = ("sources.0.sets.1.path=icons", "sources.0.sets.2.path=s3://bucket/drawings")
    source = load_recipe(LONG, (off, f"{key}=web", *others)).sources[0]
    assert [path.resolve() for path in source.reads(LONG.parent)] == [tmp_path / "web", tmp_path / "icons"]
    assert source.sets[2].path == "s3://bucket/drawings"
    assert not Path(source.sets[0].path).is_absolute()  # the recipe's digest is the same in every checkout
    whole = "[{name: a, path: web}, {name: b, path: icons}]"
    source = load_recipe(LONG, (off, f"sources.0.sets={whole}")).sources[0]
    assert [path.resolve() for path in source.reads(LONG.parent)] == [tmp_path / "web", tmp_path / "icons"]
    with pytest.raises(InputError) as caught:
        load_recipe(LONG, (off, f"{key}=../nowhere"))
    absent = tmp_path.parent / "nowhere"
    assert str(caught.value).startswith(f"--set {key}=../nowhere: source 'joined-64k/web-docs': {absent} holds no")


def test_a_source_of_long_rows_can_be_switched_off_but_not_all(tmp_path):
    with pytest.raises(ConfigError, match="sources have 0 rows in all; give at least one of them"):
        load_recipe(LONG, ("sources.0.rows=0", "sources.1.rows=0"))
    off = load_yaml(LONG, Recipe, overrides=("sources.1.rows=0",)).sources[1]
    assert list(off.places(tmp_path)) == []
    off.check(tmp_path)  # its sets need not be there


def test_a_kind_that_comes_again_has_a_name_of_its_own():
    stages = "[{kind: extract_html}, {kind: heuristics}, {kind: exact_dedup}, {kind: heuristics}, {kind: near_dedup}]"
    recipe = load_recipe(RECIPE, (f"stages={stages}",))
    assert recipe.stage_names() == ("read", "extract_html", "heuristics", "exact_dedup", "heuristics-2", "near_dedup")
    assert [segment.item_names for segment in cut(recipe)] == [("extract_html", "heuristics"), ("heuristics-2",)]
    assert [segment.shuffle_names for segment in cut(recipe)] == [("exact_dedup",), ("near_dedup",)]
    second = ("stages.heuristics-2.kind=language", "stages.near_dedup.threshold=0.5")
    named = load_recipe(RECIPE, (f"stages={stages}", *second)).stages
    assert (named[3].__struct_config__.tag, named[4].threshold) == ("language", 0.5)
    with pytest.raises(
        ConfigError, match=r"'heuristics-3' is not .* \(.*heuristics, exact_dedup, heuristics-2, near_d"
    ):
        load_recipe(RECIPE, (f"stages={stages}", "stages.heuristics-3.kind=language"))
