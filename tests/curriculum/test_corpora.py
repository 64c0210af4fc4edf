"""Real shard sets: refusals by name, the commands, and the drawing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from trivium.cli import app
from trivium.curriculum import Plan, Schedule, catalogues_of, open_corpora
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
    _write(made, "other", [100, 200], tokenizer="tok2")
    _write(made, "pixels", [100, 200], pictures="pic2")
    _write(made, "plain", [100, 200], tokenizer=None, pictures=None, buckets=(Bucket(name="all"),))
    (made / "link").symlink_to(made / "web")
    (made / "s.yaml").write_text(dump_yaml(_schedule("web", "svg")))
    return made


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
        (("web", "books"), {}, InputError, r"corpora.books: no folder .* \(there: .*svg, web\); build it with"),
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
    assert facts["tokens"] == sum(corpus["used_tokens"] for corpus in facts["corpora"].values())
    first, second = facts["stages"]
    assert second["first_step"] == first["steps"]
    assert first["lr_first"] == 0.01
    assert second["lr_last"] == pytest.approx(0.001)
    for corpus in facts["corpora"].values():
        assert corpus["tokens"] == corpus["train_tokens"] + corpus["held_out_tokens"]
        assert corpus["records"] == sum(corpus["buckets"].values())
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


def test_show_prints_a_schedule_that_reads_back(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "again.yaml").write_text(_run("show", folder / "s.yaml").stdout)
    again = load_yaml(tmp_path / "again.yaml", Schedule)
    assert again.resolved() == load_yaml(folder / "s.yaml", Schedule).resolved()
    assert json.loads(_run("show", folder / "s.yaml", "--json").stdout)["stages"][0]["patches"] == 2048


def test_rows_lists_the_rows_of_a_stage(folder: Path) -> None:
    arguments = ("rows", folder / "s.yaml", "--corpora", folder, "--stage", "b", "--limit", 3)
    lines = json.loads(_run(*arguments, "--json").stdout)
    assert len(lines) == 3
    for line in lines:
        assert line["tokens"] == sum(piece["stop"] - piece["start"] for piece in line["pieces"]) <= 1024
        assert all(len(piece["id"]) == 26 for piece in line["pieces"])
    assert "rows of stage b" in _run(*arguments).stdout
    result = _run("rows", folder / "s.yaml", "--corpora", folder, "--stage", "c")
    assert isinstance(result.exception, UsageError)


def test_plots_are_written_and_whole(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, begins in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("deep/p.html", b"<!doctype html>")):
        result = _run("plot", folder / "s.yaml", "--corpora", folder, "--out", tmp_path / name)
        assert result.exit_code == 0, result.exception
        assert (tmp_path / name).read_bytes().startswith(begins)
    page = (tmp_path / "deep/p.html").read_text()
    assert "data:image/png;base64," in page
    assert "http" not in page.replace("http-equiv", "")
    result = _run("plot", folder / "s.yaml", "--corpora", folder, "--out", tmp_path / "p.gif")
    assert isinstance(result.exception, UsageError)


def test_the_recipes_are_valid_and_grow_fourfold() -> None:
    demo, k3 = (load_yaml(ROOT / "recipes/curricula" / name, Schedule) for name in ("demo.yaml", "k3.yaml"))
    assert [stage.context for stage in demo.stages] == [256, 1024, 4096, 8192]
    assert [stage.context for stage in k3.stages] == [8 << 10, 64 << 10, 256 << 10, 1 << 20]
    assert 200_000 <= sum(stage.tokens for stage in demo.stages) <= 600_000  # what two cores train in minutes
