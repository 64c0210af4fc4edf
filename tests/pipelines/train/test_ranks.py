"""Two processes that train one run over gloo, against one process and against each other's end."""

import shutil
import signal
import socket

import processes
import pytest
import torch

from trivium.errors import UsageError
from trivium.pipelines.train import loop
from trivium.pipelines.train.checkpoint import CheckpointStore, verify
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.ranks import ALONE, joined
from trivium.pipelines.train.runner import train

RANKS = 2


def launch(run, out, mischief=None):
    """Exit codes and what each rank said; `mischief` by rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": RANKS, "LOCAL_WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    started, logs = [], [out.parent / f"{rank}.log" for rank in range(RANKS)]
    for rank, log in enumerate(logs):
        environment = {name: str(value) for name, value in {**shared, "RANK": rank, "LOCAL_RANK": rank}.items()}
        started.append(processes.start(run, out, log, environment=environment, mischief=(mischief or {}).get(rank)))
    return [process.wait() for process in started], [log.read_text() for log in logs]


def lines(out):
    return [{k: v for k, v in line.items() if k != "time"} for line in read_metrics(out / "metrics.jsonl")]


def tensors(out, step):
    return verify(CheckpointStore(out / "checkpoints", keep=2).path(step)).tensors()


def near(one, other):
    """The same numbers but for the rounding of sums, and what hangs on tokens whose expert tips over by it."""
    for mine, theirs in zip(one, other, strict=True):
        assert mine.keys() == theirs.keys()
        for key in mine.keys() - {"loss", "grad_norm", "vision_grad_norm", "max_logit", "experts", "balance"}:
            if mine["kind"] == "step":
                assert mine[key] == theirs[key], key
        for part in ("loss",) if mine["kind"] == "step" else ("text", "image"):
            found, wanted = ({k: v for k, v in one[part].items() if v is not None} for one in (mine, theirs))
            assert found == pytest.approx(wanted, rel=2e-5), (mine["step"], part)


@pytest.fixture(scope="module")
def whole(built, tmp_path_factory):
    """The run folder of two ranks up to step 15, where the second was asked to stop, and what they said."""
    out = tmp_path_factory.mktemp("ranks") / "run"
    codes, said = launch(built / "run.yaml", out, {1: {"stop": 15}})
    assert codes == [0, 0], said
    return out, said


@pytest.fixture
def again(whole, tmp_path):
    """A copy that has lost its last checkpoint, and goes on from step 10."""
    out = tmp_path / "run"
    shutil.copytree(whole[0], out)
    shutil.rmtree(out / "checkpoints" / "step-00000015")
    return out


@pytest.mark.slow
def test_two_ranks_train_as_one_process(whole, trained):
    """Rows of texts and pictures, of two stages, the second with one row a step: one rank has none."""
    out, said = whole
    near(lines(out), [line for line in lines(trained[0]) if line["step"] <= 15])
    assert "saved at step 15 of 22; the same command goes on from there" in said[0]
    assert said[1] == ""


def test_whatever_befalls_a_rank_ends_both_and_leaves_no_trace(built, whole, again):
    run = built / "run.yaml"
    codes, said = launch(run, again, {1: {"kill": 12}})
    assert codes == [1, -signal.SIGKILL]
    assert "rank 0 of 2 can't reach the others" in said[0]
    codes, said = launch(run, again, {0: {"fail": 16}})
    assert codes == [1, 1]
    assert lines(again) == lines(whole[0])
    ours, theirs = tensors(again, 15), tensors(whole[0], 15)
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())
    assert "ZeroDivisionError: planted" in said[0]
    assert said[1] == "error: rank 1 of 2 ends because another rank failed; its message says why\n"


def test_one_process_goes_on_with_what_two_ranks_wrote(built, whole, again, monkeypatch):
    """The weights and states of all pieces: a step from them has the loss that two ranks had."""
    real = loop.train_step

    def training(*given, step, lr):
        if step == 12:
            raise KeyboardInterrupt
        return real(*given, step=step, lr=lr)

    monkeypatch.setattr(loop, "train_step", training)
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        train(built / "run.yaml", again, note=said.append)
    assert any("was written by 2 ranks and the run goes on with 1" in line for line in said)
    near(lines(again), [line for line in lines(whole[0]) if line["step"] <= 11])


def test_half_a_launcher_is_refused():
    with joined({}) as ranks:
        assert ranks is ALONE
    half = {"RANK": "0", "WORLD_SIZE": "2"}
    told = r"WORLD_SIZE is 2 and LOCAL_RANK, .* is not set; start several ranks with torchrun"
    with pytest.raises(UsageError, match=told), joined(half):
        pass
