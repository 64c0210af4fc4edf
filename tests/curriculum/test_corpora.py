"""Real shard sets: refusals by name, the commands, and the drawing."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from trivium.cli import app
from trivium.commands.curriculum_tables import print_report
from trivium.curriculum import Plan, Schedule, catalogues_of, open_corpora
from trivium.curriculum.assumed import assumed_corpora
from trivium.curriculum.mixture import vision_share
from trivium.curriculum.report import report
from trivium.data.config import dump_yaml, from_mapping, load_yaml
from trivium.data.records import Document, Meta, Text, finish
from trivium.data.shards import Bucket, Manifest, write_set
from trivium.errors import ConfigError, DigestError, InputError, UsageError

BUCKETS = (Bucket(name="256", tokens=256), Bucket(name="1k", tokens=1024), Bucket(name="8k", tokens=8192))
ROOT = Path(__file__).parents[2]


def _write(folder: Path, corpus: str, lengths: list[int], **changes: Any) -> None:
    """A tokenised set whose documents are texts of the given lengths, a token a byte."""
    items = []
    for number, length in enumerate(lengths):
        text = (f"{corpus} {number}: the quick brown fox. " * (length // 20 + 1))[:length]
        meta = Meta(
            source_id=f"{corpus}{number}",
            corpus=corpus,
            domain="test",
            source="t",
            address=str(number),
            license="CC0-1.0",
        )
        tokens = np.frombuffer(text.encode(), np.uint8).astype("<u4").tobytes()
        items.append((finish(Document(segments=(Text(text=text),), meta=meta), {}), {"tokens": tokens}))
    manifest = Manifest(
        corpus=corpus,
        domain="test",
        recipe="r",
        **({"tokenizer": "tok1", "pictures": "pic1", "buckets": BUCKETS} | changes),
    )
    write_set(folder / corpus, items, manifest)


def _schedule(*corpora: str, **paths: str) -> Schedule:
    stage = {"name": "a", "context": 512, "rows": 2, "tokens": 20_000, "mixture": dict.fromkeys(corpora, 1)}
    raw = {
        "version": 1,
        "seed": 3,
        "held_out": {"fraction": 0.1},
        "corpora": {name: {"path": paths.get(name, name)} for name in corpora},
        "lr": {"peak": 0.01},
        "stages": [stage, stage | {"name": "b", "context": 1024}],
    }
    return from_mapping(raw, Schedule, name="s.yaml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("corpora")
    rng = np.random.default_rng(1)
    _write(made, "web", [int(n) for n in rng.integers(20, 3000, 60)])
    _write(made, "svg", [int(n) for n in rng.integers(30, 500, 80)])
    _write(made, "small", [900] * 60, limit=60)
    _write(made, "other", [100, 200], tokenizer="tok2")
    _write(made, "pixels", [100, 200], pictures="pic2")
    _write(made, "plain", [100, 200], tokenizer=None, pictures=None, buckets=(Bucket(name="all"),))
    (made / "link").symlink_to(made / "web")
    (made / "s.yaml").write_text(dump_yaml(_schedule("web", "svg")))
    return made


def test_a_part_of_a_corpus_is_no_whole_one(folder: Path) -> None:
    warned = report(
        Plan.open(_schedule("small"), catalogues_of(open_corpora(folder, _schedule("small"))), limits=False)
    )
    assert any("small (60 items of each source): a part of its corpus" in line for line in warned.warnings)
    whole = report(Plan.open(_schedule("web"), catalogues_of(open_corpora(folder, _schedule("web"))), limits=False))
    assert not any("a part of its corpus" in line for line in whole.warnings)


def test_rows_point_at_the_records_of_the_sets(folder: Path) -> None:
    schedule = _schedule("web", "svg")
    sets = open_corpora(folder, schedule)
    plan = Plan.open(schedule, catalogues_of(sets))
    for step, _ in plan.rows():
        for row in step.rows:
            for piece in row.pieces:
                tokens = sets[piece.corpus].read_tokens(piece.record)
                assert 0 <= piece.start < piece.stop <= len(tokens)
                assert piece.corpus == "web" or piece.tokens == len(tokens)
    assert {catalogue.buckets for catalogue in plan.catalogues.values()} == {("256", "1k", "8k")}


@pytest.mark.parametrize(
    ("names", "paths", "error", "message"),
    [
        (("web", "other"), {}, DigestError, "'web' and 'other' were made with different tokenizer: tok1 .* tok2 in"),
        (("web", "pixels"), {}, DigestError, "different picture rules: pic1 .* pic2"),
        (
            ("web", "books"),
            {},
            InputError,
            r"corpora.books: no folder .* \(there: .*svg, web\); its path 'books' is relative",
        ),
        (("web", "books"), {"books": "a/../b"}, InputError, r"no folder [^ ]*corpora\d*/b \(there"),
        (("web", "plain"), {}, InputError, "plain is not tokenised; run `trivium shards tokenize"),
        (("web", "again"), {"again": "link"}, ConfigError, "'web' and 'again' are one dataset by two paths"),
        (("web", "again"), {"again": "svg/../web"}, ConfigError, "one dataset by two paths"),
    ],
)
def test_sets_that_may_not_be_mixed_are_refused(folder, names, paths, error, message) -> None:
    with pytest.raises(error, match=message):
        open_corpora(folder, _schedule(*names, **paths))


def _run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["curriculum", *map(str, arguments)], catch_exceptions=True)


def test_check_prints_facts_that_add_up(folder: Path) -> None:
    result = _run("check", folder / "s.yaml", "--corpora", folder, "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert facts["steps"] == sum(stage["steps"] for stage in facts["stages"])
    used = sum(corpus["used_tokens"] for corpus in facts["corpora"].values())
    assert facts["tokens"] - 20 <= used <= facts["tokens"]  # shares are rounded down
    first, second = facts["stages"]
    assert second["first_step"] == first["steps"]
    assert first["lr_first"] == 0.01
    assert second["lr_last"] == pytest.approx(0.001)
    for corpus in facts["corpora"].values():
        assert corpus["records"] == sum(bucket["records"] for bucket in corpus["buckets"].values())
        assert corpus["records"] == corpus["train_records"] + corpus["held_out_records"] + corpus["twins_left_out"]
        assert corpus["held_out_records"] > 0
    table = _run("check", folder / "s.yaml", "--corpora", folder)
    assert table.exit_code == 0
    assert "steps" in table.stdout


def test_check_takes_overrides_and_refuses_what_can_not_run(folder: Path) -> None:
    result = _run("check", folder / "s.yaml", "--corpora", folder, "--set", "corpora.web.path=nowhere")
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == 2
    result = _run("check", folder / "s.yaml", "--corpora", folder, "--set", "stages.0.context=4096")
    assert isinstance(result.exception, ConfigError)
    result = _run("check", folder / "s.yaml", "--corpora", folder, "--set", "corpora.svg.max_epochs=0.5")
    shown = " ".join(result.stdout.split())
    assert result.exit_code == 1  # what was to be found out, not wrong usage
    assert "falls short: corpora.svg: the stages (a, b) read its documents of bucket 256" in shown
    assert "fill: of rows with tokens" in shown  # the tables' legend goes where the tables go
    alone = _run("check", folder / "s.yaml").exception
    assert isinstance(alone, UsageError)
    assert f"`trivium curriculum show {folder / 's.yaml'}` checks the schedule alone" in str(alone)


def test_show_prints_a_schedule_that_reads_back(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "again.yaml").write_text(_run("show", folder / "s.yaml").stdout)
    again = load_yaml(tmp_path / "again.yaml", Schedule)
    assert again.resolved() == load_yaml(folder / "s.yaml", Schedule).resolved()
    assert json.loads(_run("show", folder / "s.yaml", "--json").stdout)["stages"][0]["patches"] == 2048


def test_rows_are_the_same_for_any_number_of_ranks(folder: Path) -> None:
    arguments = ("rows", folder / "s.yaml", "--corpora", folder, "--from", 15, "--count", 8)
    whole = json.loads(_run(*arguments, "--json").stdout)
    assert [step["step"] for step in whole["steps"]] == list(range(15, 23))
    assert {step["stage"] for step in whole["steps"]} == {"a", "b"}
    for step in whole["steps"]:
        for row in step["rows"]:
            assert row["tokens"] == sum(piece["stop"] - piece["start"] for piece in row["pieces"]) <= step["context"]
            assert all(len(piece["id"]) == 26 for piece in row["pieces"])
    for ranks in (2, 3, 8):
        shared = json.loads(_run(*arguments, "--ranks", ranks, "--json").stdout)
        for step, other in zip(whole["steps"], shared["steps"], strict=True):
            assert step["digest"] == other["digest"]
            assert [row["digest"] for row in step["rows"]] == [row["digest"] for row in other["rows"]]
            assert sorted(number for rank in other["ranks"] for number in rank["rows"]) == list(
                range(len(step["rows"]))
            )
            assert all(row["row"] in other["ranks"][row["rank"]]["rows"] for row in other["rows"])


def test_rows_prints_tables_and_refuses_steps_that_are_not_there(folder: Path) -> None:
    shown = _run("rows", folder / "s.yaml", "--corpora", folder, "--stage", "b", "--ranks", 5)
    assert "of stage b" in shown.stdout
    assert "cost by rank" in shown.stdout
    assert re.search(r"idle: 3 ranks \(\d, \d, \d\); the step has 2 rows", shown.stdout)
    for wrong in (("--stage", "c"), ("--from", 1, "--stage", "b")):
        assert isinstance(_run("rows", folder / "s.yaml", "--corpora", folder, *wrong).exception, UsageError)
    for wrong in (("--step", 10_000), ("--from", -1)):
        error = _run("rows", folder / "s.yaml", "--corpora", folder, *wrong).exception
        assert re.search(r"the run has \d+ steps, 0 to \d+ \(stages: a 0 to \d+, b \d+ to \d+\)", str(error))
    assert isinstance(_run("rows", folder / "s.yaml").exception, UsageError)


def test_plots_are_written_and_whole(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, begins in (("p.svg", b"<?xml"), ("deep/p.html", b"<!doctype html>")):
        result = _run("plot", folder / "s.yaml", "--corpora", folder, "--out", tmp_path / name)
        assert result.exit_code == 0, result.exception
        assert (tmp_path / name).read_bytes().startswith(begins)
    page = (tmp_path / "deep/p.html").read_text()
    assert "data:image/png;base64," in page
    assert re.search(r"<h1>s: \d+ steps, [\d.]+k? tokens</h1><div><img ", page)
    assert "div{overflow-x:auto}" in page
    assert "http" not in page.replace("http-equiv", "")
    alone = _run("plot", folder / "s.yaml", "--out", tmp_path / "new" / "alone.png")  # the schedule is enough
    assert (tmp_path / "new/alone.png").read_bytes().startswith(b"\x89PNG")
    assert f"made the folder {tmp_path / 'new'}" in alone.stderr.replace("\n", "")
    result = _run("plot", folder / "s.yaml", "--corpora", folder, "--out", tmp_path / "no" / "p.gif")
    assert isinstance(result.exception, UsageError)
    assert not (tmp_path / "no").exists()


def test_the_recipes_are_valid_and_grow_fourfold() -> None:
    demo, k3 = (load_yaml(ROOT / "recipes/curricula" / name, Schedule) for name in ("demo.yaml", "k3.yaml"))
    assert [stage.context for stage in demo.stages] == [256, 1024, 4096, 8192]
    assert [stage.context for stage in k3.stages] == [8 << 10, 64 << 10, 256 << 10, 1 << 20]
    assert 200_000 <= sum(stage.tokens for stage in demo.stages) <= 600_000  # what two cores train in minutes


def test_k3_is_fed_by_its_assumed_corpora() -> None:
    k3 = ROOT / "recipes/curricula/k3.yaml"
    paper = k3.with_name("k3.assumed.yaml")
    schedule = load_yaml(k3, Schedule)
    plan = Plan.open(schedule, assumed_corpora(paper, schedule))
    assert sum(len(pool) for pool in plan.pools.values()) > 10**10
    assert sum(stage.tokens for stage in plan.stages) == 15_400_000_000_000
    for stage in plan.stages:
        assert vision_share(stage.lines) == pytest.approx(0.1, abs=1e-6)
    starved = load_yaml(k3, Schedule, overrides=["corpora.knowledge.max_epochs=2"])
    with pytest.raises(ConfigError, match=r"corpora.knowledge: the stages .* 2 is allowed"):
        Plan.open(starved, assumed_corpora(paper, starved))


def test_check_says_on_eighty_columns_what_vision_does(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("trivium.console.out._width", 80)
    k3 = load_yaml(ROOT / "recipes/curricula/k3.yaml", Schedule, overrides=["window=256"])
    plan = Plan.open(k3, assumed_corpora(ROOT / "recipes/curricula/k3.assumed.yaml", k3))
    print_report(report(plan, pieces=1000))
    shown, warned = capsys.readouterr()
    assert warned == ""
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "45.0% → 40.0%" in shown
    assert "on paper" in shown
    said = " ".join(shown.split())
    assert "vision: 0.1 of the tokens shall be picture tokens, so shares move: captions, interleaved" in said
    assert "nothing is held out of them" in said


def test_show_says_what_follows_from_the_schedule_alone_and_from_corpora(folder: Path) -> None:
    k3 = ROOT / "recipes/curricula/k3.yaml"
    alone = json.loads(_run("show", k3, "--json").stdout)["resolved"]["stages"]
    assert [stage["first_step"] for stage in alone] == [0, 212_171, 227_133, 231_622]
    assert alone[0]["batch_tokens"][0] < alone[0]["batch_tokens"][1] <= 8192 * 8159
    facts = json.loads(_run("show", folder / "s.yaml", "--corpora", folder, "--json").stdout)
    for stage in facts["resolved"]["mixture"]:
        assert sum(stage["shares"].values()) == pytest.approx(1)


def test_diff_names_the_step_from_which_it_holds(folder: Path, tmp_path: Path) -> None:
    text = (folder / "s.yaml").read_text()
    (tmp_path / "b.yaml").write_text(text.replace("seed: 3", "seed: 4"))
    done = _run("diff", folder / "s.yaml", tmp_path / "b.yaml", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)["differences"]
    assert found == [{"key": "seed", "step": 0, "was": 3, "now": 4, "decides": "rows"}]
    assert "seed" in _run("diff", folder / "s.yaml", tmp_path / "b.yaml").stdout
    same = _run("diff", folder / "s.yaml", folder / "s.yaml")
    assert same.exit_code == 0
    assert "the same" in same.stdout
    (tmp_path / "lr.yaml").write_text(text.replace("peak: 0.01", "peak: 0.02"))
    assert _run("diff", folder / "s.yaml", tmp_path / "lr.yaml").exit_code == 1
    assert _run("diff", folder / "s.yaml", tmp_path / "lr.yaml", "--step", 3).exit_code == 0  # the run may go on
    late = _run("diff", folder / "s.yaml", tmp_path / "b.yaml", "--step", 3)
    assert isinstance(late.exception, ConfigError)
