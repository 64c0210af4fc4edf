import math
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from trivium.pipelines.train.metrics import MetricsLog, read_metrics


def write(path, lines):
    log = MetricsLog(path)
    for line in lines:
        log.write(line)
    return log


LINES = [{"step": step, "loss": step / 3, "time": {"step_s": 0.1}} for step in (1, 2, 2, 3, 4)]


def test_lines_come_back_exactly(tmp_path):
    write(tmp_path / "m.jsonl", LINES).close()
    assert read_metrics(tmp_path / "m.jsonl") == LINES


@given(step=st.integers(0, 6))
def test_cut_keeps_what_the_checkpoint_knows(tmp_path_factory, step):
    path = tmp_path_factory.mktemp("m") / "m.jsonl"
    log = write(path, LINES)
    kept = [line for line in LINES if line["step"] <= step]
    assert log.cut(step) == (kept[-1]["step"] if kept else 0)
    log.write({"step": 9})
    assert read_metrics(path) == [*kept, {"step": 9}]


def test_a_torn_last_line_goes(tmp_path):
    path = tmp_path / "m.jsonl"
    write(path, LINES).close()
    whole = path.read_bytes()
    for cut in (1, 5, 20):
        path.write_bytes(whole[:-cut])
        log = MetricsLog(path)
        assert log.cut(4) == 3
        log.write(LINES[-1])
        assert path.read_bytes() == whole


def test_non_finite_numbers_are_null(tmp_path):
    write(tmp_path / "m.jsonl", [{"step": 1, "a": math.nan, "b": [math.inf, 1.5], "c": {"d": -math.inf}}]).close()
    assert read_metrics(tmp_path / "m.jsonl") == [{"step": 1, "a": None, "b": [None, 1.5], "c": {"d": None}}]


FULL = """
import resource, sys
from pathlib import Path
from trivium.errors import TrainError
from trivium.pipelines.train.metrics import MetricsLog
log = MetricsLog(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    for step in range(1, 20):
        log.write({"step": step, "loss": 1.25})
except TrainError as error:
    print(error)
"""


def test_a_full_disk_leaves_whole_lines_only(tmp_path):
    path = tmp_path / "m.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True, timeout=60)
    assert "free some space and give the same command again" in done.stdout
    assert path.read_bytes().endswith(b"}\n")
    assert read_metrics(path) == [{"step": step, "loss": 1.25} for step in (1, 2, 3, 4)]
