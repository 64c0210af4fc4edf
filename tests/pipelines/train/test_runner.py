"""Whole runs in this process: what they leave, how they go on, what they refuse; `test_kills` kills real processes."""

import json
import os
import shutil
import signal
import time

import msgspec
import pytest
import torch
import yaml

from trivium.errors import CheckpointError, InputError, TrainError
from trivium.pipelines.train import board, loop, runner
from trivium.pipelines.train.checkpoint import CheckpointStore, verify
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.runner import train
from trivium.pipelines.train.sample import load_writer


def without_time(path):
    return [
        {key: value for key, value in line.items() if key != "time"} for line in read_metrics(path / "metrics.jsonl")
    ]


@pytest.fixture
def copy(trained, tmp_path):
    """A finished run that a test may damage."""
    shutil.copytree(trained[0], tmp_path / "run")
    return tmp_path / "run"


class _StopAt:
    """Sends this process SIGTERM when a metrics line of a step is written."""

    def __init__(self, monkeypatch, step):
        write = loop._Writer.write

        def writing(writer, line):
            write(writer, line)
            if line["kind"] == "step" and line["step"] == step:
                os.kill(os.getpid(), signal.SIGTERM)

        monkeypatch.setattr(loop._Writer, "write", writing)


def stop_inside(monkeypatch, step, backwards):
    """Sends this process SIGTERM behind the second layer of a step, on the way there or back."""
    real = loop.train_step

    def ask(*_):
        os.kill(os.getpid(), signal.SIGTERM)

    def training(model, optimizer, prepared, batch, *, step: int, lr: float, wanted=step):
        hook = None
        if step == wanted:
            on_the_way_back = lambda module, inputs, output: output[0].register_hook(ask) and None  # noqa: E731
            hook = model.backbone.layers[1].register_forward_hook(on_the_way_back if backwards else ask)
        try:
            measured = real(model, optimizer, prepared, batch, step=step, lr=lr)
        finally:
            if hook is not None:
                hook.remove()
        assert step != wanted, "the step was not left"
        return measured

    monkeypatch.setattr(loop, "train_step", training)


def test_one_run_goes_through_all_stages(trained):
    out, facts, said = trained
    lines = read_metrics(out / "metrics.jsonl")
    steps = [line for line in lines if line["kind"] == "step"]
    assert [line["step"] for line in steps] == list(range(1, facts["steps"] + 1))
    assert sorted({line["stage"] for line in steps}) == [0, 1]
    assert {line["context"] for line in steps} == {192, 512}
    held = [line["step"] for line in lines if line["kind"] == "held_out"]
    assert held == sorted({0, *range(6, facts["steps"], 6), facts["steps"]})
    assert facts["complete"]
    assert said[-1].endswith(f"complete, {facts['steps']} steps")


def test_it_learns(trained):
    _, facts, _ = trained
    for split in ("text", "image"):
        ends = facts["held_out"][split]
        assert ends["last"] < ends["first"] - 0.3, split
        assert ends["targets"] > 100


def test_the_folder_holds_config_code_tokenizer_and_events(trained, built):
    out, _, _ = trained
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert config["resolved"]["model"]["backbone"]["vocab"] == 400
    assert config["checkpoint"] == {"every_steps": 5, "every_seconds": None, "keep": 2}
    assert (out / "tokenizer.json").read_bytes() == (built / "tokenizer" / "tokenizer.json").read_bytes()
    start = json.loads((out / "starts.jsonl").read_text().splitlines()[0])
    assert start["code"]["trivium"]
    assert start["machine"]["torch"] == str(torch.__version__)
    assert list((out / "tensorboard").glob("events.*"))
    assert (
        CheckpointStore(out / "checkpoints", keep=2).steps()[-1]
        == json.loads((out / "report.json").read_text())["step"]
    )


def test_a_finished_run_is_not_trained_again(copy, built):
    before = (copy / "metrics.jsonl").read_bytes()
    said: list[str] = []
    facts = train(built / "run.yaml", copy, note=said.append)
    assert (copy / "metrics.jsonl").read_bytes() == before
    assert facts["complete"]
    assert "complete" in said[-1]


def test_sigterm_saves_and_the_same_command_goes_on(trained, built, tmp_path, monkeypatch):
    """At a border and in the middle of a step, which is left there and trained again, to the same bits."""
    out = tmp_path / "run"
    said: list[str] = []
    with monkeypatch.context() as patch:
        stop_inside(patch, 1, False)
        assert train(built / "run.yaml", out, note=said.append)["step"] == 0
    assert said[-1].endswith("stopped before its first step was whole; the same command begins anew")
    # left on the way there, before the first checkpoint; left on the way back; the last step of the first stage
    for step, inside in ((3, False), (9, True), (13, None)):
        with monkeypatch.context() as patch:
            if inside is None:
                _StopAt(patch, step)
            else:
                stop_inside(patch, step + 1, inside)
            facts = train(built / "run.yaml", out, note=said.append)
        assert not facts["complete"]
        assert facts["step"] == step
        assert said[-1].endswith(f"saved at step {step} of {facts['steps']}; the same command goes on from there")
        assert CheckpointStore(out / "checkpoints", keep=2).steps()[-1] == step
        assert "stopped at step" in (out / "report.html").read_text()
    train(built / "run.yaml", out, note=said.append)
    assert without_time(out) == without_time(trained[0])


def test_a_damaged_newest_checkpoint_costs_steps_and_nothing_else(copy, trained, built):
    store = CheckpointStore(copy / "checkpoints", keep=2)
    path = store.path(store.steps()[-1]) / "__0_0.distcp"
    raw = bytearray(path.read_bytes())
    raw[1000] ^= 1
    path.write_bytes(raw)
    said: list[str] = []
    train(built / "run.yaml", copy, note=said.append)
    assert any("is damaged: the sha256 of __0_0.distcp differs" in line for line in said)
    assert any("going on from the checkpoint of step 20" in line for line in said)
    assert without_time(copy) == without_time(trained[0])


def test_another_configuration_is_refused_and_nothing_is_touched(copy, built):
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file() and path.name != ".lock"}
    with pytest.raises(CheckpointError, match=r"optimizer.momentum was 0.95, is 0.5; seed was 1, is 4.*another --out"):
        train(built / "run.yaml", copy, ["seed=4", "optimizer.momentum=0.5"], note=lambda _: None)
    assert {path: path.read_bytes() for path in before} == before


def test_a_loss_that_is_not_finite_keeps_what_was_saved(built, tmp_path, monkeypatch):
    real = loop.train_step

    def poisoned(model, optimizer, prepared, batch, *, step, lr):
        if step == 8:
            with torch.no_grad():
                model.backbone.norm.weight.fill_(float("nan"))
        return real(model, optimizer, prepared, batch, step=step, lr=lr)

    monkeypatch.setattr(loop, "train_step", poisoned)
    with pytest.raises(TrainError, match="the loss is nan at step 8"):
        train(built / "run.yaml", tmp_path / "run", note=lambda _: None)
    assert CheckpointStore(tmp_path / "run" / "checkpoints", keep=2).steps() == [5]
    assert read_metrics(tmp_path / "run" / "metrics.jsonl")[-1]["step"] == 7


def test_a_failed_checkpoint_stops_the_run(built, tmp_path, monkeypatch):
    def full(self, *given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CheckpointStore, "_write", full)
    with pytest.raises(TrainError, match=r"No space left on device.*there is none before it: free some space"):
        train(built / "run.yaml", tmp_path / "run", note=lambda _: None)


def test_other_threads_are_warned_of(copy, built):
    for path in (copy / "checkpoints").glob("step-*/manifest.json"):
        manifest = verify(path.parent).manifest
        changed = msgspec.structs.replace(manifest, state={**manifest.state, "threads": 7}).sealed()
        path.write_bytes(msgspec.json.encode(changed))
    said: list[str] = []
    train(built / "run.yaml", copy, note=said.append)
    assert any("written with 7 threads and this process has 1" in line for line in said)


def test_a_folder_of_something_else_is_refused(built, tmp_path):
    (tmp_path / "metrics.jsonl").write_text("precious\n")
    with pytest.raises(InputError, match=r"metrics\.jsonl, which no training run wrote"):
        train(built / "run.yaml", tmp_path, note=lambda _: None)
    assert (tmp_path / "metrics.jsonl").read_text() == "precious\n"
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_tokenizer_of_any_name_is_kept_under_one(place, copy, tmp_path, monkeypatch):
    """A kill before the first recorded start leaves a folder that the same command takes up again."""
    (place / "tokenizer" / "tokenizer.json").rename(place / "mine.bpe")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "record_start", killed)
    with pytest.raises(KeyboardInterrupt):
        train(place / "run.yaml", tmp_path / "out", [f"tokenizer={place / 'mine.bpe'}"], note=lambda _: None)
    (tmp_path / "out" / ".config.yaml.123").write_text("cut sh")  # of a kill while config.yaml was written
    with RunFolder(tmp_path / "out") as folder:
        (copy / "tokenizer.json").unlink()
        shutil.copytree(folder.root, copy, dirs_exist_ok=True)
    assert load_writer(copy).step > 0


def test_without_tensorboard_it_says_so_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(board.importlib.util, "find_spec", lambda name: None)
    said: list[str] = []
    assert board.open_board(tmp_path, purge=1, note=said.append) is None
    assert said == ["TensorBoard events are left out: tensorboard is not installed (pip install tensorboard)"]


def test_tensorboard_forgets_what_a_killed_run_wrote(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for first, last in ((1, 8), (5, 9)):  # the second process goes on after step 4
        time.sleep(1.1 - time.time() % 1)  # files are read in the order of their seconds
        events = board.open_board(tmp_path, purge=first, note=lambda _: None)
        for step in range(first, last + 1):
            events.write({"kind": "step", "step": step, "loss": {"text": 10.0 * first + step}, "lr": 0.1})
        events.close()
    read = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in read.Scalars("loss/text")] == [
        *((step, 10.0 + step) for step in range(1, 5)),
        *((step, 50.0 + step) for step in range(5, 10)),
    ]
