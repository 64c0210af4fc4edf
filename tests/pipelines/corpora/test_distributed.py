"""The same recipe on Beam's job service with a pool of worker processes that have the wheel and no checkout."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apache_beam as beam
import pytest

from trivium.errors import BuildError
from trivium.pipelines.beam import parse_options, run_job

ROOT = Path(__file__).resolve().parents[3]
WORKER = re.compile(r"runs in process (\d+): trivium \S+, (.*)")


@dataclass(frozen=True)
class Cluster:
    """A job service, a pool, and where the code of its workers lies."""

    flags: tuple[str, ...]
    log: Path
    site: Path

    def workers(self) -> list[tuple[int, Path]]:
        """(process id, folder of the code that it runs) of all workers so far."""
        return [(int(pid), Path(code)) for pid, code in WORKER.findall(self.log.read_text())]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment: the built wheel, and the libraries of this one by a path file."""
    folder = tmp_path_factory.mktemp("worker")
    copy = "import sys; from pathlib import Path; import tree; tree.copy(Path(sys.argv[1]))"
    run(sys.executable, "-c", copy, folder / "checkout", cwd=ROOT / "scripts")
    make = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"  # as pip calls it
    run(sys.executable, "-c", make, folder / "wheel", cwd=folder / "checkout")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    (wheel,) = (folder / "wheel").glob("*.whl")
    (site,) = (folder / "venv/lib").glob("python3*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)  # all that installing it does but for the command
    # Its own path files are not read from there, so an editable install of the checkout stays out of sight.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return site


def sums(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "report"  # which tells of times
    }


def report(folder: Path) -> dict[str, object]:
    """The report's facts, Beam's counters among them, but those of one run: times, memory, machine."""
    facts = json.loads((folder / "report/report.json").read_text())
    del facts["run"]
    return facts


def run(*command: object, cwd: Path | None = None) -> None:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def cluster(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    python = environment.parents[2] / "bin/python"
    alone = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TRIVIUM"))}
    log = folder / "pool.log"
    with contextlib.ExitStack() as stack:

        def start(name: str, *command: object) -> str:
            with (folder / f"{name}.log").open("wb") as out:
                words = [str(word) for word in command]
                process = subprocess.Popen(words, cwd=folder, env=alone, stdout=out, stderr=out)
            stack.callback(process.wait)
            stack.callback(process.kill)
            port = folder / f"{name}.port"
            wait_for(lambda: port.exists() or process.poll() is not None)
            assert port.exists(), (folder / f"{name}.log").read_text()
            return f"localhost:{port.read_text()}"

        service = ("-m", "trivium.pipelines.job_service", "--port=0", "--port-file", folder / "jobs.port")
        jobs = start("jobs", python, *service)
        pool = ("-m", "trivium.pipelines.worker_pool", "--port=0", "--port-file", folder / "pool.port")
        workers = start("pool", python, *pool, f"--job-endpoint={jobs}")
        where = (f"--job_endpoint={jobs}", "--environment_type=EXTERNAL", f"--environment_config={workers}")
        yield Cluster(("--runner=PortableRunner", *where, "--direct_num_workers=2"), log, environment / "trivium")
        # Beam's reader of a cancelled job's messages ends with the service, by an exception in its thread.
        readers = [thread for thread in threading.enumerate() if thread.name == "wait_until_finish_read"]
        hook, threading.excepthook = threading.excepthook, lambda _: None
        try:
            stack.close()
            for reader in readers:
                reader.join(10)
        finally:
            threading.excepthook = hook


def wait_for(condition, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_worker_ends_the_job_and_not_the_pool(cluster, tmp_path):
    """Beam's job service alone would wait for ever. The build below runs on the same pool afterwards."""
    killed: list[float] = []

    def kill_one() -> None:
        wait_for(lambda: len(cluster.workers()) == 2)
        time.sleep(0.5)
        os.kill(cluster.workers()[0][0], signal.SIGKILL)
        killed.append(time.monotonic())

    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(BuildError, match=r"'waits' was cancelled: its worker pool lost a worker"):
        run_job("waits", _waits, parse_options(cluster.flags), logs=tmp_path)
    killer.join()
    assert time.monotonic() - killed[0] < 60  # a second or two; tenfold and more for a busy machine
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid, _ in cluster.workers()))


def _waits(pipeline: beam.Pipeline) -> None:
    _ = pipeline | beam.Create([600.0] * 4) | beam.Reshuffle() | beam.Map(time.sleep)


LESS = "stages=[{kind: extract_html}, {kind: exact_dedup}]"


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [(LESS,), pytest.param((), marks=pytest.mark.soak)], ids=["exact", "near too"])
def test_the_wheel_in_two_other_processes_gives_the_same_bytes(cluster, build_small, tmp_path, monkeypatch, overrides):
    """Shards, rejects, manifest, and what Beam's counters say in the report."""
    build_small(tmp_path / "a", *overrides)
    jobs: list[str] = []

    def counted(name: str, *rest, **more) -> dict[str, int]:
        jobs.append(name)
        return run_job(name, *rest, **more)

    monkeypatch.setattr("trivium.pipelines.corpora.work.run_job", counted)
    before = len(cluster.workers())
    build_small(tmp_path / "b", *overrides, options=parse_options(cluster.flags))
    assert sums(tmp_path / "b") == sums(tmp_path / "a")
    assert report(tmp_path / "b") == report(tmp_path / "a")
    workers = cluster.workers()[before:]
    assert len(workers) > 1.5 * len(jobs)  # two a job; one that ends at once may not have said its line
    assert {code for _, code in workers} == {cluster.site / "pipelines/corpora"}
