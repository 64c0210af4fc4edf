"""A duplicate whose survivor lies in an earlier set stands beside it, in the report and in the gallery."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "gallery"))  # its page read as a browser would read it
from gallery_sets import parsed

from trivium.cli import app

RECIPE = """
version: 1
corpus: NAME
domain: test
sources:
  - {kind: jsonl, name: s, path: in/NAME.jsonl, license: CC0-1.0}
stages:
  - {kind: unicode}
  - {kind: exact_dedupAGAINST}
  - {kind: near_dedupAGAINST}
"""
MOSS, REED = (" ".join(f"{word}{number}" for number in range(200)) for word in ("moss", "reed"))
ALONE = " ".join(f"pine{number}" for number in range(90))


def invoked(*arguments: object) -> str:
    run = CliRunner().invoke(app, [str(one) for one in arguments])
    assert run.exit_code == 0, run.output
    return run.stdout


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets, the second `against` the first; it loses one text that is the same (the smaller source_id stays, which
    these names give to the first) and one that is alike."""
    base = tmp_path_factory.mktemp("two")
    (base / "in").mkdir()
    for name, texts, against in (
        ("a", [MOSS, f"{REED} and a little more"], ""),
        ("b", [MOSS, REED, ALONE], ", against: [sets/a]"),
    ):
        (base / "in" / f"{name}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
        recipe = base / f"{name}.yaml"
        recipe.write_text(RECIPE.replace("NAME", name).replace("AGAINST", against))
        invoked("build", recipe, "--out", base / "sets" / name)
    return base


def survivors(report: Path) -> list[dict[str, Any]]:
    return [one["survivor"] for stage in json.loads(report.read_bytes())["dedup"] for one in stage["largest"]]


def test_the_report_shows_the_survivor_of_an_earlier_set(base):
    same, alike = survivors(base / "sets/b/report/report.json")
    for one, text, address in ((same, MOSS, "a.jsonl@0"), (alike, REED, "a.jsonl@")):
        assert (one["earlier"], one["source"], one["excerpt"]) == ("sets/a", "s", text[:400])
        assert one["address"].startswith(address)
    page = (base / "sets/b/report/index.html").read_text()
    assert "2 alike · a.jsonl@0" in page
    assert page.count("in the earlier set sets/a</div><pre") == 2


def test_where_the_earlier_set_lost_the_text_the_report_has_its_id_and_place(base, tmp_path):
    """A shard that is gone: what the set keeps for later builds is there, its texts are not."""
    shutil.copytree(base, tmp_path / "two")
    shutil.rmtree(tmp_path / "two/sets/a/shards")
    invoked("build", tmp_path / "two/b.yaml", "--out", tmp_path / "two/sets/again", "--set", "corpus=again")
    known = survivors(base / "sets/b/report/report.json")
    for one, whole in zip(survivors(tmp_path / "two/sets/again/report/report.json"), known, strict=True):
        assert (one["source_id"], one["earlier"]) == (whole["source_id"], "sets/a")
        assert (one["address"], one["excerpt"]) == ("", "")
    page = (tmp_path / "two/sets/again/report/index.html").read_text()
    assert f"2 alike · {known[0]['source_id']}" in page
    assert page.count("in the earlier set sets/a, which could not be read for its text") == 2


def gallery(target: Path, *sets: Path) -> list[dict[str, Any]]:
    """The groups that the page shows, near ones first."""
    invoked("shards", "gallery", *sets, "--out", target)
    return json.loads(parsed(target.read_text(encoding="utf-8")).raw[1][2])["clusters"]


@pytest.mark.parametrize("sets", [("b",), ("a", "b")])
def test_the_gallery_shows_the_survivor_beside_what_went(base, tmp_path, sets):
    alike, same = gallery(tmp_path / "page.html", *(base / "sets" / name for name in sets))
    for one, text in ((alike, REED), (same, MOSS)):
        (kept,) = one["kept"]
        assert kept["text"].startswith(text[:1000])
        assert (kept["earlier"], kept["source"], one["size"], one["more_kept"]) == ("sets/a", "s", 2, 0)
        assert kept["set"] == (0 if len(sets) == 2 else None)
        assert one["lost"][0]["survivor"] == kept["source_id"]
    (lost,) = alike["lost"]
    assert (lost["similarity"] < 1, lost["stays"] != [], lost["went"] != []) == (True, True, True)


def test_without_the_earlier_set_the_gallery_says_its_id_and_place(base, tmp_path):
    shutil.copytree(base / "sets/b", tmp_path / "b")
    groups = gallery(tmp_path / "page.html", tmp_path / "b")
    known = survivors(base / "sets/b/report/report.json")
    assert {one["kept"][0]["source_id"] for one in groups} == {one["source_id"] for one in known}
    for one in groups:
        assert (one["kept"][0]["earlier"], one["kept"][0]["text"]) == ("sets/a", "")
        assert "not at hand" in one["kept"][0]["fault"]
