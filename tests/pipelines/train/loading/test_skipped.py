"""Runs over damaged shards: what they leave out is named, counted, bounded, and the same however often they stop."""

import json
import os
import signal

import pytest

from trivium.commands import train as commands
from trivium.curriculum.rows import Cursor, State
from trivium.data.config import to_mapping
from trivium.errors import InputError, StorageError, TrainError
from trivium.pipelines.train import loop
from trivium.pipelines.train.checkpoint import CheckpointStore, verify
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.faults import Skip
from trivium.pipelines.train.loading.replay import keys_of, replay
from trivium.pipelines.train.loading.skipped import Skipped, read_skipped
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.prepare import prepare
from trivium.pipelines.train.runner import train

STATE_BYTES = 10_000  # targets.md, T4


def without_time(path):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(path)]


@pytest.fixture
def harmed(place, prepared, damage):
    """A copy of the corpora with one bad record of each kind, both read early; their keys."""
    bad = {}
    for step, _ in prepared.plan.rows():
        for row in step.rows:
            for piece in row.pieces:
                bad.setdefault(piece.corpus, piece.record)
    damage.flip(place / "corpora" / "help", bad["help"], "tokens")
    damage.flip(place / "corpora" / "icons", bad["icons"], "i0.png", at=40)
    return place, {f"{corpus}/{prepared.sets[corpus].entries.id[record]}" for corpus, record in bad.items()}


def stop_at(patch, steps):
    """SIGTERM or SIGINT to this process when the metrics line of such a step is written."""
    write = loop._Writer.write

    def writing(writer, line):
        write(writer, line)
        if line["kind"] == "step" and line["step"] in steps:
            os.kill(os.getpid(), steps[line["step"]])

    patch.setattr(loop._Writer, "write", writing)


@pytest.mark.slow
def test_a_stopped_run_over_bad_records_equals_one_that_was_not(harmed, tmp_path, monkeypatch):
    place, keys = harmed
    train(place / "run.yaml", tmp_path / "whole", note=lambda _: None)
    skipped = read_skipped(tmp_path / "whole" / "skipped.jsonl")
    assert {line["key"] for line in skipped} == keys
    assert {line["reason"] for line in skipped} == {"bytes"}
    lines = read_metrics(tmp_path / "whole" / "metrics.jsonl")
    told = {line["step"]: line["skipped"] for line in lines if "skipped" in line}
    assert sorted(told) == sorted({line["step"] for line in skipped})
    assert sum(one["documents"] for one in told.values()) == len(skipped)
    assert {key for one in told.values() for key in one["keys"]} == keys
    for stop in ({3: signal.SIGTERM}, {13: signal.SIGINT}):  # Ctrl-C too
        with monkeypatch.context() as patch:
            stop_at(patch, stop)
            assert not train(place / "run.yaml", tmp_path / "stopped", note=lambda _: None)["complete"]
    train(place / "run.yaml", tmp_path / "stopped", note=lambda _: None)
    for name in ("metrics.jsonl", "skipped.jsonl"):
        assert without_time(tmp_path / "stopped" / name) == without_time(tmp_path / "whole" / name)
    newest = CheckpointStore(tmp_path / "stopped" / "checkpoints", keep=2)
    found = verify(newest.path(newest.steps()[-1]))
    assert found.state["loader"]["skipped"] == len(skipped)
    assert len(json.dumps(found.state)) <= STATE_BYTES


def test_the_state_of_many_corpora_is_small():
    cursors = {f"corpus-number-{i}/1m": Cursor(9, 10**10, 10**6, 10**13) for i in range(128)}
    state = State(stage=3, step=10**6, window=10**6, row=10**3, cursors=cursors)
    assert len(json.dumps(to_mapping(state))) <= STATE_BYTES


def test_above_the_budget_the_run_stops_and_names_what_to_do(harmed, tmp_path):
    place, keys = harmed
    with pytest.raises(TrainError, match=r"2 of \d+ documents.*more than data.max_bad_fraction \(0\)") as caught:
        train(place / "run.yaml", tmp_path / "run", ["data.max_bad_fraction=0"], note=lambda _: None)
    lines = read_skipped(tmp_path / "run" / "skipped.jsonl")
    assert {line["key"] for line in lines} == keys
    config, named = tmp_path / "run" / "config.yaml", tmp_path / "run" / "skipped.jsonl"
    assert f"trivium replay {config} --from {named}" in str(caught.value)
    assert not any(fact["usable"] for fact in replay(config, keys_of(named)))  # it reads what the run read


def test_what_is_left_out_is_said_on_both_sides(harmed, prepared, damage, tmp_path, capsys):
    """skipped.jsonl, the console, report.json and the page name it; the fill is that of the rows as trained."""
    place, keys = harmed
    (place / "schedule.yaml").write_text(LONG.replace("tokens: 11520", "tokens: 3840"))
    kept = prepared.plan.held_out("icons", context=192, patches=192)[0].pieces[0].record
    damage.flip(place / "corpora" / "icons", kept, "i0.png", at=40)
    missed = f"icons/{prepared.sets['icons'].entries.id[kept]}"
    said: list[str] = []
    facts = train(place / "run.yaml", tmp_path / "run", note=said.append)
    lines = read_skipped(tmp_path / "run" / "skipped.jsonl")
    assert [(line["step"], line["key"]) for line in lines if line["side"] == "held_out"] == [(0, missed)]
    train_side = [line for line in lines if line["side"] == "train"]
    assert {line["key"] for line in train_side} <= keys
    left = facts["left_out"]
    assert left["documents"] == left["reasons"]["bytes"]["documents"] == len(train_side) > 0
    assert left["tokens"] == sum(line["stop"] - line["start"] for line in train_side)
    assert left["of"] > 10 * left["documents"]
    assert (left["held_out"]["documents"], left["held_out"]["reasons"]) == (1, {"bytes": 1})
    assert sum(f"1 of {left['held_out']['of']} held-out documents left out (bytes" in line for line in said) == 1
    plan = prepare(load_run(place / "run.yaml"), name="run.yaml", cache=None).plan
    rows = {step.step + 1: len(step.rows) for step, _ in plan.rows()}
    for line in read_metrics(tmp_path / "run" / "metrics.jsonl"):
        if line["kind"] == "step":
            held = sum(line["tokens"].values())
            assert line["fill"] == pytest.approx((held if held > 1 else 0) / (192 * rows[line["step"]]))  # 1: padding
    page = (tmp_path / "run" / "report.html").read_text()
    assert "complete, documents left out" in page
    assert f"of {left['of']} documents read" in page
    again = train(place / "run.yaml", tmp_path / "run", note=said.append)  # complete: the report is written again
    assert again["left_out"] == left
    commands._print(facts, tmp_path / "run")
    shown = capsys.readouterr().out
    assert f"left out: {left['documents']} of {left['of']} documents read (bytes {left['documents']})" in shown
    assert f"left out: 1 of {left['held_out']['of']} held-out documents (bytes 1)" in shown


def test_a_held_out_record_that_is_noted_is_not_noted_again(tmp_path):
    log = Skipped(tmp_path / "skipped.jsonl", 0.01)
    log.begin(-1)
    assert log.miss(0, [skip("a/1")]) == 1
    log.close()
    log.begin(5)
    assert log.miss(5, [skip("a/1"), skip("a/2")]) == 1
    assert [(line["step"], line["key"]) for line in read_skipped(log.path)] == [(0, "a/1"), (5, "a/2")]
    assert (log.documents, log.skipped) == (0, 0)
    log.close()


def skip(key="a/1"):
    return Skip(key=key, reason="bytes", detail="", start=0, stop=10)


def test_a_budget_of_one_percent_bears_ten_early_bad_documents(tmp_path):
    log = Skipped(tmp_path / "skipped.jsonl", 0.01)
    log.begin(-1)
    assert log.take(1, 20, []) is None
    assert log.take(2, 20, [skip(f"a/{i}") for i in range(10)])["documents"] == 10
    with pytest.raises(TrainError, match="11 of 60 documents"):
        log.take(3, 20, [skip()])
    later = Skipped(tmp_path / "skipped.jsonl", 0.01)
    later.resume({"documents": 100_000, "skipped": 990})
    later.begin(2)
    assert len(read_skipped(tmp_path / "skipped.jsonl")) == 10  # the line of step 3 is cut
    assert later.take(3, 100, [skip() for _ in range(11)])["tokens"] == 110
    with pytest.raises(TrainError, match="1002 of 100101 documents"):
        later.take(4, 1, [skip()])
    log.close()
    later.close()


def test_a_skipped_record_replays_alone_by_its_key(harmed, prepared, tmp_path):
    place, keys = harmed
    good = next(f"icons/{i}" for i in prepared.sets["icons"].entries.id if f"icons/{i}" not in keys)
    facts = {fact["key"]: fact for fact in replay(place / "run.yaml", [*sorted(keys), good])}
    assert {key for key, fact in facts.items() if not fact["usable"]} == keys
    assert all(fact["reason"] == "bytes" for key, fact in facts.items() if key in keys)
    assert facts[good]["patches"] == 16
    again = replay(place / "run.yaml", [good[:14]])
    assert again[0]["digest"] == facts[good]["digest"]
    with pytest.raises(InputError, match="no such file"):
        keys_of(tmp_path / "skipped.jsonl")


def test_the_replay_command_names_all_and_ends_with_1(harmed, monkeypatch):
    from typer.testing import CliRunner

    from trivium import console
    from trivium.cli import app

    place, keys = harmed
    wanted = ["nothing/abc", "icons/zz", *sorted(keys)]  # what is unknown does not hide the others
    done = CliRunner().invoke(app, ["replay", str(place / "run.yaml"), *wanted, "--json"])
    assert done.exit_code == 1
    facts = json.loads(done.stdout)
    assert [fact["key"] for fact in facts] == wanted
    assert [fact["reason"] for fact in facts[:3]] == ["key", "key", "bytes"]
    assert "the schedule's corpora are help, icons" in facts[0]["detail"]
    assert "zz" in facts[1]["detail"]
    monkeypatch.setattr(console, "out", console.Console(width=80))
    shown = CliRunner().invoke(app, ["replay", str(place / "run.yaml"), *wanted])
    assert shown.exit_code == 1
    lines = shown.stdout.splitlines()  # one each, not cut at 80 columns
    assert [line.partition("  ")[0] for line in lines] == wanted
    assert all(fact["detail"] in line for fact, line in zip(facts, lines, strict=True))


def test_storage_that_fails_in_a_run_costs_no_step(place, prepared, tmp_path, monkeypatch):
    """A tar that goes away: the run ends by name with all that it trained saved, and goes on when the tar is back."""
    (place / "schedule.yaml").write_text(LONG.replace("tokens: 11520", "tokens: 3840"))
    changes = ["eval.every=0", "data.read_attempts=1", "data.ahead=1", "checkpoint.every_steps=100"]
    tars = list(place.glob("corpora/*/shards/*.tar"))
    assemble = Assembler.assemble

    def losing(assembler, rows):
        losing.left -= 1
        if not losing.left:
            for path in tars:
                path.rename(path.with_suffix(".away"))
            assembler._tokens._renew()  # a lost mount takes the open handles with it
        return assemble(assembler, rows)

    losing.left = 9
    with monkeypatch.context() as patch:
        patch.setattr(Assembler, "assemble", losing)
        with pytest.raises(StorageError, match="is gone since this set was opened"):
            train(place / "run.yaml", tmp_path / "run", changes, note=lambda _: None)
    assert CheckpointStore(tmp_path / "run" / "checkpoints", keep=2).steps() == [8]
    for path in tars:
        path.with_suffix(".away").rename(path)
    train(place / "run.yaml", tmp_path / "run", changes, note=lambda _: None)
    train(place / "run.yaml", tmp_path / "whole", changes, note=lambda _: None)
    resumed, whole = (without_time(tmp_path / name / "metrics.jsonl") for name in ("run", "whole"))
    assert resumed == whole


LONG = """
version: 1
seed: 3
window: 64
held_out: {fraction: 0.15}
corpora:
  help: {path: help}
  icons: {path: icons}
lr: {peak: 0.004, warmup_ratio: 0.1}
stages:
  - {name: long, context: 192, rows: 1, tokens: 11520, mixture: {help: 2, icons: 1}, patches: 192}
"""


@pytest.mark.soak  # in short: test_runner's run that goes on after SIGTERM
def test_fifty_steps_after_a_resume_are_bit_equal(place, tmp_path, monkeypatch):
    """targets.md, T4: losses, gradient norms and all else of a line, to the last bit."""
    (place / "schedule.yaml").write_text(LONG)
    changes = ["eval.every=0", "eval.rows=1", "checkpoint.every_steps=100"]
    train(place / "run.yaml", tmp_path / "whole", changes, note=lambda _: None)
    with monkeypatch.context() as patch:
        stop_at(patch, {7: signal.SIGTERM})
        train(place / "run.yaml", tmp_path / "resumed", changes, note=lambda _: None)
    train(place / "run.yaml", tmp_path / "resumed", changes, note=lambda _: None)
    whole, resumed = (without_time(tmp_path / name / "metrics.jsonl") for name in ("whole", "resumed"))
    assert len([line for line in whole if line["kind"] == "step" and line["step"] > 7]) >= 50
    assert resumed == whole
