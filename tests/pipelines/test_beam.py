"""Beam options, one job, and the watchdog over worker processes (by really killing one)."""

import errno
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.metrics import Metrics

from trivium.errors import BuildError, UsageError
from trivium.pipelines.beam import NAMESPACE, BeamOptions, parse_options, run_job, worker_processes

TWO = ("--direct_num_workers=2", "--direct_running_mode=multi_processing")


class Work(beam.DoFn):
    """Counts and passes on; one element waits, raises or fills the disk, as its value says."""

    def setup(self):
        self.counter = Metrics.counter(NAMESPACE, "work/in")

    def process(self, value):
        self.counter.inc()
        if value == "log":
            logging.getLogger("apache_beam").error("a worker speaks")
        if value == "wait":
            time.sleep(600)
        if value == "raise":
            raise ValueError("a broken element")
        if value == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield value


class Graph:
    def __init__(self, *values):
        self.values = values

    def __call__(self, pipeline):
        _ = pipeline | beam.Create(self.values) | beam.Reshuffle() | "work" >> beam.ParDo(Work())


def test_the_default_is_the_embedded_runner_by_name():
    options = parse_options([])
    assert (options.runner, options.embedded, options.workers, options.mode) == ("FnApiRunner", True, 1, "in_memory")
    assert parse_options(["--runner", "FnApiRunner"]).embedded
    assert not parse_options(["--runner=PortableRunner", "--job_endpoint=embed"]).embedded


def test_workers_and_mode_pass_through():
    options = parse_options(TWO)
    assert (options.workers, options.mode) == (2, "multi_processing")
    assert (options.in_process().workers, options.in_process().mode) == (1, "in_memory")
    assert parse_options(["--direct_num_workers=0"]).workers == os.cpu_count()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--direct_num_worker=2"], "did you mean --direct_num_workers"),
        (["--quux=1"], "no option --quux"),
        (["--direct_num_workers=two"], "invalid int value"),
        (["--direct_running_mode=threads"], "direct_running_mode"),
        (["two"], "'two' is not a Beam option"),
        (["--runner=DirectRunner"], "looks for a download"),
        (["--runner=apache_beam.runners.dask.dask_runner.DaskRunner"], "merges tagged outputs"),
    ],
)
def test_wrong_options_are_refused_before_any_work(flags, message):
    with pytest.raises(UsageError, match=message) as caught:
        parse_options(flags)
    assert caught.value.exit_code == 2


def test_a_job_returns_its_counters(tmp_path):
    ticks = []
    counters = run_job("count", Graph("a", "b", "c"), BeamOptions(), logs=tmp_path, tick=lambda: ticks.append(1))
    assert counters == {"work/in": 3}


def test_beam_is_silent_unless_asked(tmp_path, capfd, caplog):
    run_job("count", Graph("log"), BeamOptions(), logs=tmp_path)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    run_job("count", Graph("log"), BeamOptions(verbose=True), logs=tmp_path)
    assert any("a worker speaks" in record.getMessage() for record in caplog.records)


def test_an_exception_becomes_one_line(tmp_path):
    with pytest.raises(BuildError, match=r"job 'sad' failed: .*a broken element") as caught:
        run_job("sad", Graph("raise"), BeamOptions(), logs=tmp_path)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(BuildError, match="no room left to write"):
        run_job("full", Graph("full"), BeamOptions(), logs=tmp_path)


@pytest.mark.slow
def test_two_processes_count_the_same_and_stay_silent(tmp_path, capfd):
    values = [str(i) for i in range(20)]
    assert run_job("count", Graph(*values), parse_options(TWO), logs=tmp_path) == {"work/in": 20}
    assert capfd.readouterr() == ("", "")
    assert worker_processes() == []


@pytest.mark.slow
def test_a_killed_worker_fails_the_job_within_seconds(tmp_path):
    """Beam 2.77 by itself waits for ever here."""
    killed = []

    def kill_one():
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = worker_processes()
            if len(found) == 2 and all(_loaded(pid) for pid in found):
                time.sleep(1)
                killed.append(time.monotonic())
                os.kill(found[0], signal.SIGKILL)
                return
            time.sleep(0.2)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(BuildError, match=r"worker process died .*SIGKILL"):
        run_job("killed", Graph("wait", "wait", "wait", "wait"), parse_options(TWO), logs=tmp_path)
    killer.join()
    assert time.monotonic() - killed[0] < 30
    assert worker_processes() == []


def _loaded(pid: int) -> bool:
    """Whether the worker has got as far as Beam's own code: it has opened sockets."""
    try:
        return any("socket" in os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


DRIVER = """
import sys
from pathlib import Path
from test_beam import TWO, Graph, parse_options, run_job
run_job("wait", Graph("wait", "wait"), parse_options(TWO), logs=Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["at spawn", "at work"])
def test_workers_die_with_their_driver(tmp_path, moment):
    """Also when the driver dies while its workers' Python still starts, before they can ask for the signal."""
    here = str(Path(__file__).parent)
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, tmp_path], env={**os.environ, "PYTHONPATH": here})
    try:
        children = _wait(lambda: _workers(driver.pid))
        if moment == "at work":
            _wait(lambda: len(_workers(driver.pid)) == 2 and all(map(_loaded, _workers(driver.pid))))
            time.sleep(1)
            children = _workers(driver.pid)
            assert len(children) == 2
        assert driver.poll() is None
    finally:
        driver.kill()
        driver.wait()
    _wait(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in children), seconds=30)


def test_a_worker_whose_driver_is_gone_ends_at_once():
    """Without the race that the test above may win or lose: this worker's parent is not the driver it is told of."""
    environment = {**os.environ, "TRIVIUM_DRIVER": "1"}
    command = [sys.executable, "-m", "trivium.pipelines.worker"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr.strip()) == (1, "the driver is gone")


def _workers(driver: int) -> list[int]:
    return [pid for pid in _children(driver) if b"trivium.pipelines.worker" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def _wait(condition, seconds: float = 120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError("waited in vain")


def test_what_a_killed_job_leaves_lies_in_the_folder_of_its_logs(tmp_path, monkeypatch):
    """Beam makes a folder for each pipeline; the next build cleans its own folder and no other."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    seen = []

    def wire(pipeline):
        seen.append((Path(pipeline.local_tempdir).parent, Path(os.environ["TMPDIR"])))
        Graph(1)(pipeline)

    run_job("job", wire, BeamOptions(), logs=tmp_path / "logs")
    assert seen == [(tmp_path / "logs/tmp", tmp_path / "logs/tmp")]
    assert not (tmp_path / "logs/tmp").exists()
    assert (tempfile.gettempdir(), os.environ["TMPDIR"]) == (str(tmp_path / "elsewhere"),) * 2
