"""A build that was stopped goes on behind its last finished job, to the same bytes, or says why it begins anew."""

import gzip
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from trivium.cli import app
from trivium.commands.build import shown_command
from trivium.data.config import from_mapping
from trivium.data.records import Document
from trivium.data.shards import ShardSet, read_manifest
from trivium.errors import TriviumError, UsageError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.driver import Built, Extent, run
from trivium.pipelines.corpora.dry import survey
from trivium.pipelines.corpora.marks import Done, Marks
from trivium.pipelines.corpora.recipe import Recipe, load_recipe

RECIPE = """
version: 1
corpus: stopped
domain: test
sources:
  - {kind: html_folder, name: pages, path: pages, license: CC0-1.0}
stages:
  - {kind: extract_html}
  - {kind: exact_dedup}
  - {kind: heuristics, policy: [{score: words, min: 30, reason: word_count}]}
shards: {target_bytes: 4000}
"""
CRAWLS = Path(__file__).parents[3] / "examples/web/pywb"


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A recipe beside twelve made-up pages: two are equal, one is too short."""
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "pages").mkdir()
    words = random.Random(5)
    for number in range(12):
        text = [f"w{words.randrange(900)}" for _ in range(8 if number == 0 else 120)]
        if number in (1, 2):
            text = [f"same{at}" for at in range(120)]
        (folder / f"pages/{number:02d}.html").write_text(f"<html><body><p>{' '.join(text)}</p></body></html>")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder


class StoppedError(Exception):
    """What ends a run in this process."""


def started(base: Path, out: Path, progress=lambda *_: None, *, told: Any = None, overrides=(), **extent) -> Built:
    """One run of the recipe; what it tells of earlier ones goes to `told`."""
    recipe = load_recipe(base / "recipe.yaml", tuple(overrides))
    tell = (told if told is not None else []).append
    return run(recipe, base, out, BeamOptions(), progress=progress, extent=Extent(**extent), tell=tell)


def begun(base: Path, out: Path, **more) -> tuple[str, str]:
    """What a run tells before its first new job, and that job; it is stopped there."""
    told: list[str] = []

    def progress(label: str, *_: object) -> None:
        raise StoppedError(label)

    with pytest.raises(StoppedError) as caught:
        started(base, out, progress, told=told, **more)
    return "".join(told), str(caught.value)


def _killed(base: Path, out: Path, at: str) -> None:
    """A run that gets SIGKILL when the work of the job `at` is done, before its mark."""

    def progress(label: str, done: int, total: int | None, *_: object) -> None:
        if label == at and done and done == total:
            os.kill(os.getpid(), signal.SIGKILL)

    started(base, out, progress)


def sums(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "report")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def documents(folder: Path) -> list[Document]:
    shards = ShardSet.open(folder)
    return [shards.read(number)[0] for number in range(len(shards))]


def report(folder: Path) -> dict[str, object]:
    facts = json.loads((folder / "report/report.json").read_text())
    del facts["run"]
    return facts


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    started(base, out)
    return out


def test_a_build_killed_again_and_again_goes_on_to_the_same_bytes(base, whole, tmp_path):
    """Five runs, four killed with SIGKILL when the files of a job are written and its mark is not."""
    jobs = [job["label"] for job in json.loads((whole / "report/report.json").read_text())["run"]["jobs"]]
    context = multiprocessing.get_context("forkserver")
    out, last = tmp_path / "out", len(jobs) - 1
    for number, job in enumerate(jobs):
        child = context.Process(target=_killed, args=(base, out, job))
        child.start()
        child.join(200)
        assert child.exitcode == -signal.SIGKILL, job
        assert len(list((out / ".build/done").glob("*.json"))) == number
        assert not (out / "manifest.json").exists()
    told: list[str] = []
    built = started(base, out, told=told)
    assert built.facts["run"]["resumed"] == last
    assert told == [f"an earlier run stopped here: goes on behind {jobs[last - 1]!r}, {last} jobs used again"]
    assert sums(out) == sums(whole)
    assert report(out) == report(whole)


@pytest.fixture(scope="module")
def stopped(base, tmp_path_factory) -> Path:
    """A build that was stopped behind its last item stage."""
    out = tmp_path_factory.mktemp("half") / "out"

    def progress(label: str, *_: object) -> None:
        if label == "write":
            raise StoppedError(label)

    with pytest.raises(StoppedError):
        started(base, out, progress)
    return out


@pytest.fixture
def half(stopped, tmp_path) -> Path:
    return Path(shutil.copytree(stopped, tmp_path / "half"))


def test_other_parameters_behind_what_is_done_use_it_again(base, half):
    told, job = begun(base, half, overrides=["stages.2.policy.0.min=31", "error_budget=0.5"])
    assert re.fullmatch(r"an earlier run stopped here: goes on behind 'exact_dedup.*', \d jobs used again", told)
    assert job == "heuristics"
    assert not list((half / ".build").glob("*-heuristics/refs-*"))


def test_a_damaged_intermediate_file_is_made_again_with_all_behind_it(base, half):
    refs = next((half / ".build").glob("01-exact_dedup/refs-*"))
    refs.write_bytes(refs.read_bytes()[:-40])
    told, job = begun(base, half)
    assert told == "an earlier run stopped here: goes on behind 'read → extract_html', 1 job used again"
    assert job == "exact_dedup"


@pytest.fixture
def page(base) -> Iterator[Path]:
    """One of the inputs, put back afterwards with its time of change; a new one beside it is removed."""
    path = base / "pages/05.html"
    body, times = path.read_bytes(), path.stat()
    yield path
    path.write_bytes(body)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    (base / "pages/12.html").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("content", r"source 'pages' has changed since \(12 files, .* → 12 files, .*\): begins anew"),
        ("file", r"source 'pages' has changed since \(12 files, .* → 13 files, .*\): begins anew"),
        ("code", r"the code has changed since \(.* → 0.2.0\+1\): begins anew"),
        ("limit", r"its limit was none, this one's is 6: begins anew"),
        ("fresh", r"$"),
    ],
)
def test_what_was_made_of_something_else_is_not_used(base, half, page, change, expected, monkeypatch):
    if change == "content":
        page.write_bytes(page.read_bytes().replace(b"<p>", b"<P>"))  # of the same length
    elif change == "file":
        page.with_name("12.html").write_bytes(b"new")
    elif change == "code":
        monkeypatch.setattr("trivium.pipelines.corpora.extent.code_version", lambda: "0.2.0+1")
    told, job = begun(base, half, **{"limit": {"limit": 6}, "fresh": {"fresh": True}}.get(change, {}))
    assert job == "read → extract_html"
    assert re.match(rf"(an earlier run stopped here, and )?{expected}", told)


def test_until_leaves_a_page_and_texts_and_the_next_run_goes_on(base, whole, tmp_path):
    out = tmp_path / "out"
    built = started(base, out, until="exact_dedup")
    assert built.manifest is None
    assert sorted(path.name for path in out.iterdir()) == [".build", "report"]
    texts = [json.loads(line) for line in (out / "report/sample.jsonl").read_text().splitlines()]
    assert len(texts) == built.facts["totals"]["records"] == 11
    assert [stage["name"] for stage in built.facts["stages"]] == ["read", "extract_html", "exact_dedup"]
    assert all(text["text"] for text in texts)
    assert "stopped after exact_dedup" in built.page.read_text()
    told: list[str] = []
    started(base, out, told=told)
    assert re.fullmatch(r"an earlier run stopped here: goes on behind 'exact_dedup.*', \d jobs used again", told[0])
    assert sums(out) == sums(whole)
    assert sorted(path.name for path in (out / "report").iterdir()) == ["index.html", "report.json"]


def test_a_part_says_so_and_never_replaces_the_whole(base, whole, tmp_path):
    out = tmp_path / "out"
    built = started(base, out, limit=5, shuffle_seed=2)
    assert built.manifest is not None
    assert {document.meta.address for document in documents(out)} <= {f"{number:02d}.html" for number in range(5)}
    assert built.facts["totals"]["items"] == 5
    assert read_manifest(out)[0].limit == 5
    assert built.facts["complete"] is False
    assert "a part: 5 items of each source" in built.page.read_text()
    before = sums(whole)
    for extent in ({"limit": 5}, {"until": "heuristics"}):
        with pytest.raises(UsageError, match="holds a finished set"):
            started(base, whole, **extent)
    assert sums(whole) == before


def test_a_limit_counts_records_also_where_a_file_is_one_item(tmp_path):
    """A compressed file gives many records when it is read, an archive is split before: both end at the limit."""
    (tmp_path / "lines").mkdir()
    for name in ("a.jsonl.gz", "b.jsonl", "c.jsonl.gz"):
        body = "".join(f'{{"text": "{name} {number}"}}\n' for number in range(5)).encode()
        (tmp_path / "lines" / name).write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    sources = [
        {"kind": "jsonl", "name": "lines", "path": "lines", "license": "CC0-1.0"},
        {"kind": "warc", "name": "crawls", "path": str(CRAWLS), "license": "GPL-3.0-only"},
    ]
    stages = [{"kind": "extract_html"}, {"kind": "exact_dedup"}]
    raw = {"version": 1, "corpus": "part", "domain": "test", "sources": sources, "stages": stages}
    recipe = from_mapping(raw, Recipe, name="recipe")
    built = run(recipe, tmp_path, tmp_path / "out", BeamOptions(), extent=Extent(limit=7))
    texts = {document.text.strip() for document in documents(tmp_path / "out") if document.meta.source == "lines"}
    assert texts == {f"a.jsonl.gz {number}" for number in range(5)} | {"b.jsonl 0", "b.jsonl 1"}
    assert [(source["name"], source["items"]) for source in built.facts["sources"]] == [("lines", 7), ("crawls", 7)]


@pytest.mark.parametrize(
    ("extent", "message"),
    [
        ({"until": "heuristic"}, "no such stage; did you mean 'heuristics'"),
        ({"until": "read"}, "no such stage"),
        ({"limit": 0}, "1 or more"),
    ],
)
def test_an_extent_that_makes_no_sense_is_refused(base, tmp_path, extent, message):
    with pytest.raises(UsageError, match=message):
        started(base, tmp_path / "out", **extent)
    assert not (tmp_path / "out").exists()


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(base, whole, tmp_path):
    before = sums(tmp_path)
    facts = survey(load_recipe(base / "recipe.yaml"), base, tmp_path / "out", Extent(), workers=1)
    assert sums(tmp_path) == before
    assert not (tmp_path / "out").exists()
    assert [job["job"] for job in facts["jobs"]] == ["read → extract_html", "exact_dedup", "heuristics", "write"]
    (source,) = facts["sources"]
    assert (source["files"], source["items"], source["records"]) == (12, 12, 12)
    assert source["bytes"] == sum(path.stat().st_size for path in (base / "pages").iterdir())
    assert facts["shuffles"][0]["elements"] == 12
    assert not facts["at_least"]
    assert facts["funnel"] == [  # what stands behind the shuffle needs the whole corpus
        {"name": name, "in": 12, "kept": 12, "reasons": []} for name in ("read", "extract_html")
    ]
    again = survey(load_recipe(base / "recipe.yaml"), base, whole, Extent(), workers=1)
    assert again["seconds"]["by"].startswith("the report of 12 items in ")
    shown = CliRunner().invoke(app, ["build", str(base / "recipe.yaml"), "--out", str(tmp_path / "out"), "--dry-run"])
    assert (shown.exit_code, "nothing was written; estimates (~) are by 12 items" in shown.output) == (0, True)
    assert sums(tmp_path) == before


def test_a_dry_run_leaves_other_kinds_of_files_to_their_own_stage(base, tmp_path):
    (tmp_path / "notes").mkdir()
    for number in range(3):
        (tmp_path / "notes" / f"{number}.md").write_text(f"# Note {number}\n\nWords of it.\n", encoding="utf-8")
    whole = yaml.safe_load((base / "recipe.yaml").read_text(encoding="utf-8"))
    notes = {"kind": "markdown_folder", "name": "notes", "path": str(tmp_path / "notes"), "license": "MIT"}
    pages = [source | {"path": str(base / source["path"])} for source in whole["sources"]]
    recipe = whole | {"sources": [*pages, notes], "stages": [*whole["stages"][:1], {"kind": "extract_markdown"}]}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    path = tmp_path / "recipe.yaml"
    facts = survey(load_recipe(path), tmp_path, tmp_path / "out", Extent(), workers=1)
    assert [source["records"] for source in facts["sources"]] == [12, 3]


def test_the_report_shows_the_command_without_secrets(monkeypatch):
    given = ["trivium", "build", "a recipe.yaml", "--", "--s3_secret_access_key=hush", "--token", "hush", "--job=1"]
    monkeypatch.setattr("sys.argv", given)
    assert shown_command() == "trivium build 'a recipe.yaml' -- --s3_secret_access_key=… --token … --job=1"


def marked(marks: Marks, key: str, folder: Path) -> Done:
    return marks.write(
        key=key, label=key, folder=folder, counters={"n": 1}, seconds=1, cpu_seconds=1, workers=1, peak_bytes=0
    )


def test_jobs_that_share_a_folder_are_told_apart(tmp_path):
    """The parts of a shuffle: what a finished part wrote stays, what a killed one left goes."""
    folder = tmp_path / "03-pairs"
    first = Marks(tmp_path, lambda _: None)
    assert first.earlier("part 0", folder) is None
    folder.mkdir()
    (folder / "pairs-0").write_text("whole")
    (folder / ".pairs-0").write_text("of a bundle that was not committed")
    marked(first, "part 0", folder)
    (folder / "pairs-1").write_text("hal")
    second = Marks(tmp_path, lambda _: None)
    done = second.earlier("part 0", folder)
    assert done is not None
    assert (done.counters, done.files) == ({"n": 1}, {"pairs-0": 5})
    assert second.earlier("part 1", folder) is None
    second.clean(folder)
    assert [path.name for path in folder.iterdir()] == ["pairs-0"]
    (folder / "pairs-1").write_text("whole too")
    marked(second, "part 1", folder)
    third = Marks(tmp_path, lambda _: None)
    assert third.earlier("part 0 of another key", folder) is None
    assert (third.earlier("part 1", folder), third.used) == (None, 0)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"kind": "quality", "path": "beside.jsonl"}, "no quality model"),
        (
            {"kind": "decontaminate", "sets": [{"name": "s", "path": "beside.jsonl", "fields": ["question", "answr"]}]},
            "no field 'answr'; found answer, question|no field 'answr'; found question, answer",
        ),
    ],
)
def test_what_a_late_stage_reads_is_looked_at_before_any_work(base, tmp_path, stage, message):
    whole = yaml.safe_load((base / "recipe.yaml").read_text(encoding="utf-8"))
    sources = [source | {"path": str(base / source["path"])} for source in whole["sources"]]
    (tmp_path / "beside.jsonl").write_text('{"question": "q", "answer": "a"}\n', encoding="utf-8")
    recipe = whole | {"sources": sources, "stages": [*whole["stages"], stage]}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    for look in (started, lambda at, out: survey(load_recipe(at / "recipe.yaml"), at, out, Extent(), workers=1)):
        with pytest.raises(TriviumError, match=message):
            look(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
