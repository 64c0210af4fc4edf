"""What `trivium build` tells whoever made a mistake or looks at numbers: causes with cures, and what is counted."""

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from trivium.cli import app
from trivium.console import out
from trivium.errors import TriviumError

RECIPE = """
version: 1
corpus: told
domain: test
sources:
  - {kind: KIND, name: rows, path: in, license: CC0-1.0}
stages:
  - {kind: unicode}
  - {kind: exact_dedup}
"""
ROWS = [f"row {number} of reeds and moss" for number in range(12)]
COLUMN = "--set sources.rows.columns.text=COLUMN"


def given(folder: Path, kind: str, name: str, body: bytes) -> list[str]:
    """The command that builds a recipe of one source with one file."""
    (folder / "in").mkdir()
    (folder / "in" / name).write_bytes(body)
    recipe = RECIPE.replace("KIND", kind)
    if kind == "text_folder":
        recipe = recipe.replace("stages:", "stages:\n  - {kind: extract_text}")
    (folder / "recipe.yaml").write_text(recipe)
    return ["build", str(folder / "recipe.yaml"), "--out", str(folder / "out")]


def jsonl(column: str) -> bytes:
    return "\n".join(json.dumps({"page": number, column: text}) for number, text in enumerate(ROWS)).encode()


def table() -> bytes:
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({"page": list(range(12)), "body": ROWS}), sink)
    return sink.getvalue().to_pybytes()


def refused(command: list[str]) -> str:
    run = CliRunner().invoke(app, command)
    assert isinstance(run.exception, TriviumError)
    assert run.exception.exit_code == 1
    return str(run.exception)


def test_a_wrong_column_is_told_with_the_columns_there_are_and_the_key_to_set(tmp_path):
    command = given(tmp_path, "jsonl", "a.jsonl", jsonl("body"))
    said = refused(command)
    assert "12 of 12 items failed" in said
    assert "read: no_column 12, such as a.jsonl@0: no column 'text'; there are: page, body" in said
    assert said.endswith(f"{COLUMN}, or `columns: {{text: COLUMN}}` of that source in the recipe")
    assert "error_budget=" not in said, "no budget leaves anything of inputs that all fail"
    dry = CliRunner().invoke(app, [*command, "--dry-run", "--json"])
    assert COLUMN in json.loads(dry.stdout)["nothing_left"]
    cured = CliRunner().invoke(app, [*command, "--set", "sources.rows.columns.text=body", "--json"])
    assert json.loads(cured.stdout)["records"] == 12


def test_a_wrong_column_of_parquet_is_told_with_all_columns_though_others_are_mapped(tmp_path):
    command = given(tmp_path, "parquet", "a.parquet", table())
    for more in ((), ("--set", "sources.rows.columns={id: page}")):
        said = refused([*command, *more])
        assert said.startswith("no record is left of 1 read. Why: read: no_column 1, such as a.parquet@0+: no column")
        assert "'text'; there are: page, body. What to do: " in said
        assert COLUMN in said
    cured = CliRunner().invoke(app, [*command, "--set", "sources.rows.columns.text=body", "--json"])
    assert json.loads(cured.stdout)["records"] == 12


@pytest.mark.parametrize(("kind", "name"), [("text_folder", "a.txt.gz"), ("jsonl", "a.jsonl.gz")])
def test_a_single_broken_file_is_told_by_name_with_what_to_do(tmp_path, kind, name):
    said = refused(given(tmp_path, kind, name, gzip.compress(jsonl("text"))[:30]))
    assert f"read: damaged 1, such as {name}" in said
    assert "bring it again, or leave it out" in said


def test_what_a_stage_took_is_told_with_its_key(tmp_path):
    command = given(tmp_path, "jsonl", "a.jsonl", jsonl("text"))
    policy = "stages=[{kind: heuristics, policy: [{score: words, min: 90, reason: few}]}]"
    said = refused([*command, "--set", policy])
    assert "Why: heuristics: few 12, such as a.jsonl@" in said
    assert "What to do: look at heuristics.jsonl among the rejects, then change stages.heuristics" in said
    run = CliRunner().invoke(app, [*command, "--set", policy, "--until", "heuristics"])
    assert (run.exit_code, "no record is left of 12 read. Why: heuristics: few 12" in run.output) == (0, True)


def test_empty_files_and_a_place_for_no_folder_are_told_without_a_traceback(tmp_path):
    command = given(tmp_path, "jsonl", "a.jsonl", b"\n\n")
    assert "there is no record to read in the files of 'rows'; look at what `path` leads to" in refused(command)
    assert json.loads((tmp_path / "out/report/report.json").read_bytes())["totals"]["records"] == 0
    run = CliRunner().invoke(app, [*command, "--until", "unicode"])
    assert (run.exit_code, "there is no record to read" in run.output) == (0, True)
    run = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "recipe.yaml/deep/out")])
    assert "can't be made there" in str(run.exception)


def test_a_folder_without_such_files_is_told_with_what_it_holds(tmp_path):
    command = given(tmp_path, "text_folder", "a.jsonl", jsonl("text"))
    (tmp_path / "in/b.JSONL").touch()
    (tmp_path / "in/README").touch()
    run = CliRunner().invoke(app, command)
    assert "; there are .jsonl (2), others (1): mend `path`" in str(run.exception)
    (tmp_path / "none").mkdir()
    run = CliRunner().invoke(app, [*command, "--set", f"sources.rows.path={tmp_path / 'none'}"])
    assert "; there is no file at all: mend `path`" in str(run.exception)


def test_a_build_that_stops_behind_a_stage_counts_what_each_source_has_left(tmp_path):
    command = given(tmp_path, "jsonl", "a.jsonl", jsonl("text") + b'\n{"text": "  "}')
    facts = json.loads(CliRunner().invoke(app, [*command, "--until", "unicode", "--json"]).stdout)
    (source,) = facts["sources"]
    characters = sum(len(text) + 1 for text in ROWS)
    assert (source["items"], source["rejects"], source["records"], source["characters"]) == (13, 1, 12, characters)
    assert (facts["totals"]["characters"], facts["totals"]["bytes"]) == (characters, characters)
    whole = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert whole["sources"] == facts["sources"]


def test_progress_names_what_it_counts(tmp_path):
    command = given(tmp_path, "jsonl", "a.jsonl", jsonl("text") + b'\n{"text": "  "}')
    shown = CliRunner().invoke(app, command).output
    for line in ("read → unicode: 1 of 1 file part, 1 record refused, ", "exact_dedup: 12 of 12 records, "):
        assert line in shown
    assert "told: records by stage" in shown


def test_a_dry_run_counts_the_start_of_jobs_and_reads_how_many_lines_there_are(tmp_path):
    rows = [json.dumps({"text": f"{number:04d} of reeds and moss"}) for number in range(2000)]
    command = given(tmp_path, "jsonl", "a.jsonl", "\n".join(rows).encode())
    facts = json.loads(CliRunner().invoke(app, [*command, "--dry-run", "--json"]).stdout)
    (source,) = facts["sources"]
    assert (source["sampled"], source["at_least"]) == (96, False)
    assert abs(source["items"] - 2000) < 20
    assert facts["beam_jobs"] == 4
    assert facts["seconds"]["estimate"] > facts["seconds"]["start"] > 1
    two = ("--", "--direct_num_workers=2", "--direct_running_mode=multi_processing")
    more = json.loads(CliRunner().invoke(app, [*command, "--dry-run", "--json", *two]).stdout)
    assert more["seconds"]["start"] > facts["seconds"]["start"] + 2, "workers take seconds to start"
    shown = " ".join(CliRunner().invoke(app, [*command, "--dry-run"]).output.split())
    assert "s of it to start 4 jobs; by the sample's stages and 0.1 ms for a record in each job" in shown


def test_names_that_set_takes_are_whole_in_narrow_tables(tmp_path, monkeypatch):
    """In eighty columns they go over several lines, and no character of them is lost."""
    monkeypatch.setattr(out, "width", 80)
    command = given(tmp_path, "jsonl", "a.jsonl", jsonl("text"))
    name, reason = "crawl-of-the-year-2026-segment-0017-english-pages", "fewer_words_than_any_page_of_this_corpus_holds"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("name: rows", f"name: {name}"))
    policy = f"stages=[{{kind: heuristics, policy: [{{score: words, max: 3, reason: {reason}}}]}}]"
    dry = CliRunner().invoke(app, [*command, "--set", policy, "--dry-run"]).output
    table = dry[dry.index("inputs") : dry.index("what the sample")].splitlines()
    place = next(line.index("files") for line in table if "files" in line)
    assert f"{name} (jsonl)".replace(" ", "") in "".join(line[:place].replace(" ", "") for line in table)
    built = CliRunner().invoke(app, [*command, "--set", policy, "--until", "heuristics"]).output
    for shown in (dry, built):
        assert f"{reason}12" in "".join(shown.split())
