"""SIGKILL of real processes: the metrics of a run that was killed equal those of one that was not."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trivium.pipelines.train.metrics import read_metrics

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "soak_kill.py"


def soak(run: Path, out: Path, kills: int, seed: int, *more: object) -> dict:
    done = subprocess.run(
        [sys.executable, SCRIPT, run, "--out", out, "--kills", str(kills), "--seed", str(seed), *map(str, more)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_leave_no_trace_in_the_metrics(built, trained, tmp_path):
    """One at a random time, one in a checkpoint, one at a change of stage, one of a decoder; fifty in `make soak`.

    The undisturbed run decoded its pictures itself, the killed one leaves that to a worker process.
    """
    facts = soak(built / "run.yaml", tmp_path, 4, 4, "--whole", trained[0], "--set", "data.workers=1")
    assert facts["equal"], facts["difference"]
    assert facts["by_way"] == {"random": 1, "checkpoint": 1, "stage": 1, "worker": 1}
    assert facts["lines"] == len(read_metrics(trained[0] / "metrics.jsonl")) > 20


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_fifty_kills(place, prepared, damage, tmp_path):
    """Over corpora with damaged records, so that what is left out has to be the same as well."""
    step, _ = next(prepared.plan.rows())
    piece = step.rows[0].pieces[0]
    damage.flip(place / "corpora" / piece.corpus, piece.record, "tokens")
    facts = soak(place / "run.yaml", tmp_path, 50, 0, "--set", "data.workers=2")
    assert facts["equal"], facts["difference"]
    assert len(facts["kills"]) == 50


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sigterm_of_a_process_saves_and_exits_0(built, tmp_path):
    command = [sys.executable, "-m", "trivium", "train", str(built / "run.yaml"), "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    metrics = tmp_path / "run" / "metrics.jsonl"
    while process.poll() is None and not (metrics.is_file() and '"kind":"step"' in metrics.read_text()):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert "SIGTERM: leaving the step under way" in said
    assert "the same command goes on from there" in said
    last = json.loads(metrics.read_text().splitlines()[-1])["step"]
    assert (tmp_path / "run" / "checkpoints" / f"step-{last:08d}" / "manifest.json").is_file()
    assert json.loads((tmp_path / "run" / "report.json").read_text())["step"] == last
