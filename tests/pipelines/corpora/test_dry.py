"""A dry run's figures where the whole can't be known from a sample."""

import gzip
import json
import time

from typer.testing import CliRunner

from trivium.cli import app
from trivium.pipelines.corpora import dry, items

PACKED = """
version: 1
corpus: packed
domain: test
sources:
  - {kind: jsonl, name: lines, path: lines.jsonl.gz, license: CC0-1.0}
stages:
  - {kind: heuristics, policy: [{score: words, min: 30, reason: word_count}]}
"""


def test_a_dry_run_shows_what_the_sample_lost_and_least_figures_where_files_are_packed(tmp_path):
    """How much of a packed file a sample of its lines is can't be told, so the whole is at least what was seen."""
    lines = [json.dumps({"text": "few" if number % 4 == 0 else "many words " * 40}) for number in range(120)]
    (tmp_path / "lines.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "recipe.yaml").write_text(PACKED)
    given = ["build", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "out"), "--dry-run"]
    facts = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    read, kept = facts["funnel"]
    assert read == {"name": "read", "in": 96, "kept": 96, "reasons": []}
    assert kept == {"name": "heuristics", "in": 96, "kept": 72, "reasons": [{"reason": "word_count", "count": 24}]}
    (source,) = facts["sources"]
    assert (facts["at_least"], source["at_least"], source["items"]) == (True, True, 96)
    shown = " ".join(CliRunner().invoke(app, given).output.split())
    for part in (
        "≥ 96",
        "heuristics 96 72 75% word_count 24",
        "≥: items are packed in files",
        "at least 2 s, 2 s of it to start 2 jobs; by the sample's",
    ):
        assert part in shown
    limited = json.loads(CliRunner().invoke(app, [*given, "--json", "--limit", "50"]).stdout)
    assert (limited["at_least"], limited["items"]) == (False, 50)


def test_time_is_that_on_the_clock_and_what_the_sample_does_not_reach_is_named(tmp_path, monkeypatch):
    """A stage that waits for a guarded child costs no processor time here; one behind a shuffle is not run."""
    rows = [json.dumps({"text": f"many words {number} " * 40}) for number in range(100)]
    (tmp_path / "lines.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    behind = "  - {kind: exact_dedup}\n  - {kind: heuristics, policy: [{score: words, min: 20, reason: word_count}]}\n"
    (tmp_path / "recipe.yaml").write_text(PACKED + behind)
    given = ["build", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "out"), "--dry-run", "--limit", "1000"]
    quick = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    run = items.run_stage

    def waiting(*arguments):
        time.sleep(0.01)
        return run(*arguments)

    monkeypatch.setattr(items, "run_stage", waiting)
    slow = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    waits = 0.01 * slow["items"]
    assert waits >= 0.9
    assert slow["seconds"]["estimate"] > quick["seconds"]["estimate"] + 0.7 * waits
    assert slow["untimed"] == ["heuristics-2"]
    shown = " ".join(CliRunner().invoke(app, given).output.split())
    assert "not in this time: heuristics-2, which stand behind the first shuffle" in shown


def test_a_sample_holds_no_more_than_the_limit_and_ends_where_items_take_long(tmp_path, monkeypatch):
    rows = [json.dumps({"text": f"many words {number} " * 40}) for number in range(100)]
    for name in ("lines", "more"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    recipe = PACKED.replace("lines.jsonl.gz", "lines.jsonl")
    recipe = recipe.replace("stages:", "  - {kind: jsonl, name: more, path: more.jsonl, license: CC0-1.0}\nstages:")
    (tmp_path / "recipe.yaml").write_text(recipe)
    given = ["build", str(tmp_path / "recipe.yaml"), "--out", str(tmp_path / "out"), "--dry-run", "--json"]
    few = json.loads(CliRunner().invoke(app, [*given, "--limit", "12"]).stdout)
    assert [(source["sampled"], source["items"]) for source in few["sources"]] == [(12, 12)] * 2
    monkeypatch.setattr(dry, "LONGEST_S", 0.0)
    one = json.loads(CliRunner().invoke(app, given).stdout)
    assert [source["sampled"] for source in one["sources"]] == [1, 1]
    assert one["at_least"], "of a file that was not read further nobody knows how many lines it has"
