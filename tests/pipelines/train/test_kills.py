"""SIGKILL of real processes: the metrics of a run that was killed equal those of one that was not."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest

from trivium.pipelines.train.metrics import read_metrics

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "soak_kill.py"


@pytest.fixture(scope="module")
def killer():
    """scripts/soak_kill.py, imported by its place."""
    spec = importlib.util.spec_from_file_location("soak_kill", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak_kill"] = module  # where dataclasses look for the names of its annotations
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_leave_no_trace_in_the_metrics(killer, built, trained, tmp_path):
    """One of a decoder, one in a checkpoint, one at a change of stage; fifty in `make soak`.

    The undisturbed run decoded its pictures itself, the killed one leaves that to a worker process.
    """

    def start(run, out, changes):
        return processes.start(run, out, tmp_path / "said.log", changes)

    ways = ["worker", "checkpoint", "stage"]
    out = tmp_path / "killed"
    kills = killer.soak(built / "run.yaml", out, ways, random.Random(4), 1.0, ["data.workers=1"], start)
    assert [kill.way for kill in kills] == ways
    assert kills[1].step >= 5  # no checkpoint comes before
    assert killer.compare_runs(trained[0], out) is None
    assert len(read_metrics(out / "metrics.jsonl")) > 20


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_fifty_kills(place, prepared, damage, tmp_path):
    """Over corpora with damaged records, so that what is left out has to be the same as well."""
    step, _ = next(prepared.plan.rows())
    piece = step.rows[0].pieces[0]
    damage.flip(place / "corpora" / piece.corpus, piece.record, "tokens")
    command = [sys.executable, SCRIPT, place / "run.yaml", "--out", tmp_path, "--kills=50", "--set", "data.workers=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout)
    assert facts["equal"], facts["difference"]
    assert len(facts["kills"]) == 50


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sigterm_of_a_process_saves_and_exits_0(built, tmp_path):
    log, metrics = tmp_path / "said.log", tmp_path / "run" / "metrics.jsonl"
    process = processes.start(built / "run.yaml", tmp_path / "run", log)
    while process.poll() is None and not (metrics.is_file() and '"kind":"step"' in metrics.read_text()):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    code, said = process.wait(), log.read_text()
    assert code == 0, said
    assert "SIGTERM: leaving the step under way" in said
    assert "the same command goes on from there" in said
    last = json.loads(metrics.read_text().splitlines()[-1])["step"]
    assert (tmp_path / "run" / "checkpoints" / f"step-{last:08d}" / "manifest.json").is_file()
    assert json.loads((tmp_path / "run" / "report.json").read_text())["step"] == last
