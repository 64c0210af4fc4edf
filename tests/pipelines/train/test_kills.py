"""SIGKILL of real processes: the metrics of a run that was killed equal those of one that was not."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    """One at a random time, one in a checkpoint, one at a change of stage; fifty in `make soak`."""
    facts = soak(built / "run.yaml", tmp_path, 3, 4, "--whole", trained[0])
    assert facts["equal"]
    assert facts["by_way"] == {"random": 1, "checkpoint": 1, "stage": 1}
    assert facts["lines"] == 29  # 24 steps; held out before the first and at 6, 12, 18, 24


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_fifty_kills(built, tmp_path):
    facts = soak(built / "run.yaml", tmp_path, kills=50, seed=0)
    assert facts["equal"]
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
    assert "SIGTERM: saving at the end of this step" in said
    assert "the same command goes on from there" in said
    last = json.loads(metrics.read_text().splitlines()[-1])["step"]
    assert (tmp_path / "run" / "checkpoints" / f"step-{last:08d}" / "manifest.json").is_file()
    assert json.loads((tmp_path / "run" / "report.json").read_text())["step"] == last
