"""Apache Beam as Trivium runs it: the embedded runner by name, silent logs, and a watchdog over worker processes.

Odd: the embedded runner is built here, not by Beam's `DirectRunner`, which looks for a download first and falls back
silently; and `multi_processing` workers run our own small entry (`trivium.pipelines.worker`), so that they die with
their driver and their stderr goes to a log file. A worker killed by a signal makes Beam 2.77 wait for ever; here it
ends the job within a second.
"""

import contextlib
import difflib
import importlib
import io
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trivium
from trivium.errors import BuildError, MissingDependencyError, TriviumError, UsageError
from trivium.needs import cure

if TYPE_CHECKING:
    import apache_beam as beam

EMBEDDED = "FnApiRunner"
NAMESPACE = "trivium"  # of our Beam counters
_REFUSED = {
    "directrunner": "it looks for a download first and falls back to another engine silently",
    "switchingdirectrunner": "it looks for a download first and falls back to another engine silently",
    "bundlebaseddirectrunner": "it fails on GroupIntoBatches larger than the input",
    "daskrunner": "Beam 2.77's Dask runner merges tagged outputs and has no metrics",
}
_MODES = ("in_memory", "multi_threading", "multi_processing")
_WHILE = re.compile(r" ?\[while running '[^']*'\]")  # Beam's addition to what a worker raised
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_POLL_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class BeamOptions:
    """Checked Beam options: `flags` go to Beam as they are, the rest is what the embedded runner needs."""

    flags: tuple[str, ...] = ()
    runner: str = EMBEDDED
    workers: int = 1
    mode: str = "in_memory"
    verbose: bool = False

    @property
    def embedded(self) -> bool:
        return self.runner == EMBEDDED

    def in_process(self) -> "BeamOptions":
        """The same options for a job too small to pay for worker processes (about 3 s each); others unchanged."""
        return replace(self, workers=1, mode="in_memory") if self.embedded else self


@contextlib.contextmanager
def quiet(verbose: bool = False) -> Iterator[None]:
    """Keeps the log lines of Beam and gRPC away while it is open, unless `verbose`."""
    if verbose:
        yield
        return
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def parse_options(flags: Sequence[str], *, verbose: bool = False) -> BeamOptions:
    """Checks Beam flags such as `--direct_num_workers=2`.

    Raises UsageError for an unknown option, a wrong value or a refused runner, MissingDependencyError without Beam.
    """
    with quiet(verbose):
        known, extra = _parse(flags)
    if extra:
        name = extra[0]
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; did you mean --{close[0]}?" if close else ""
        raise UsageError(f"Beam has no option --{name}{hint} (options after `--` go to Beam as they are)")
    runner = str(known.get("runner") or EMBEDDED)
    short = runner.rsplit(".", maxsplit=1)[-1]
    if short.lower() in _REFUSED:
        raise UsageError(
            f"--runner={runner} is refused: {_REFUSED[short.lower()]}; leave --runner out for {EMBEDDED}, or name "
            "PortableRunner, FlinkRunner, SparkRunner or DataflowRunner"
        )
    embedded = short.lower() in ("fnapirunner", "fnapi")
    if not embedded:
        _check_runner(runner)
    workers = int(known.get("direct_num_workers") or 0)
    if workers < 0:
        raise UsageError(f"--direct_num_workers={workers}: give 1 or more, or 0 for all cores")
    mode = str(known.get("direct_running_mode") or "in_memory")
    if mode not in _MODES:
        raise UsageError(f"--direct_running_mode={mode}: expected one of {', '.join(_MODES)}")
    return BeamOptions(
        flags=tuple(flags),
        runner=EMBEDDED if embedded else runner,
        workers=workers or os.cpu_count() or 1,
        mode=mode,
        verbose=verbose,
    )


def _check_runner(runner: str) -> None:
    """Raises UsageError for a name that Beam does not know, or `package.module.Class` that can't be imported."""
    from apache_beam.options.pipeline_options import StandardOptions

    paths = {path.rpartition(".")[2]: path for path in StandardOptions.ALL_KNOWN_RUNNERS}
    known = ", ".join(sorted(name for name in paths if name.lower() not in _REFUSED and "Test" not in name))
    by_word = {name.lower().removesuffix("runner"): path for name, path in paths.items()}
    path = runner if "." in runner else by_word.get(runner.lower().removesuffix("runner"))
    if path is None:
        raise UsageError(f"Beam has no runner {runner!r}; known: {known}, or package.module.Class")
    module, _, name = path.rpartition(".")
    try:
        getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"--runner={runner} can't be used here ({error}); known: {known}; some need more of Beam, such as "
            "apache-beam[gcp]"
        ) from None


def _parse(flags: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """All options with their values, and the names that Beam does not know."""
    try:
        from apache_beam.options.pipeline_options import PipelineOptions
    except ImportError as error:
        raise MissingDependencyError(f"Apache Beam can't be imported ({error}); run: {cure('build')}") from None
    words = [flag for i, flag in enumerate(flags) if not flag.startswith("-") and (i == 0 or "=" in flags[i - 1])]
    if words:
        raise UsageError(f"{words[0]!r} is not a Beam option; write options as --name=value after `--`")
    caught = io.StringIO()
    try:
        with contextlib.redirect_stderr(caught):
            options = PipelineOptions(list(flags))
            known = options.get_all_options()
            every = options.get_all_options(retain_unknown_options=True)
    except SystemExit:
        last = caught.getvalue().strip().splitlines()[-1:] or ["not understood"]
        raise UsageError(f"Beam options: {last[0].partition('error: ')[2] or last[0]}") from None
    return known, sorted(set(every) - set(known))


def run_job(
    name: str,
    wire: Callable[["beam.Pipeline"], None],
    options: BeamOptions,
    *,
    logs: Path,
    tick: Callable[[], None] | None = None,
) -> dict[str, int]:
    """Runs one Beam job to its end and returns our counters (`metric name` → committed value).

    `wire` builds the graph. `logs` is a folder for worker logs; `tick` is called about ten times a second in the
    calling thread. Raises BuildError when the job fails, a worker process dies or the disk is full.
    """
    with quiet(options.verbose), _worker_environment(options, logs / "tmp"):
        job = _Job(name, wire, options, logs)
        return job.run(tick)


class _Job:
    """One job in a daemon thread, watched from the calling thread."""

    def __init__(self, name: str, wire: Callable[["beam.Pipeline"], None], options: BeamOptions, logs: Path) -> None:
        self.name, self.wire, self.options = name, wire, options
        self.log = logs / "workers.log"
        self.counters: dict[str, int] = {}
        self.failure: BaseException | None = None
        self.dead: str | None = None

    def run(self, tick: Callable[[], None] | None) -> dict[str, int]:
        hook = threading.excepthook
        threading.excepthook = self._on_thread_error
        thread = threading.Thread(target=self._execute, name=f"beam:{self.name}", daemon=True)
        try:
            thread.start()
            while thread.is_alive() and self.dead is None:
                thread.join(_POLL_S)
                if tick is not None:
                    tick()
            if self.failure is not None and self.dead is None and self.options.mode == "multi_processing":
                time.sleep(3 * _POLL_S)  # Beam may notice the closed channel before the watcher sees the exit code
        finally:
            if thread.is_alive() or self.failure is not None:
                _kill_workers()
                thread.join(2.0)
            threading.excepthook = hook
        if self.dead is not None:
            raise BuildError(
                f"job {self.name!r}: a Beam worker process died ({self.dead}); the usual causes are too little memory "
                f"or a kill from outside: run again with fewer workers (see {self.log})"
            )
        if self.failure is not None:
            raise _as_build_error(self.name, self.failure) from self.failure
        return self.counters

    def _execute(self) -> None:
        try:
            self._run_pipeline()
        except BaseException as error:
            self.failure = error

    def _run_pipeline(self) -> None:
        import apache_beam as beam
        from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions

        beam_options = PipelineOptions(list(self.options.flags), save_main_session=False)
        runner: Any = self.options.runner
        if self.options.embedded:
            runner = _embedded_runner(self.options, self.log)
            direct = beam_options.view_as(DirectOptions)
            direct.direct_num_workers = self.options.workers
            direct.direct_running_mode = "in_memory"  # the environment given to the runner says where workers live
        pipeline = beam.Pipeline(runner=runner, options=beam_options)
        self.wire(pipeline)
        result = pipeline.run()
        state = result.wait_until_finish()
        if str(state) not in ("DONE", "UPDATED"):
            raise BuildError(f"job {self.name!r}: the runner ended in state {state}")
        for counter in result.metrics().query()["counters"]:
            if counter.key.metric.namespace == NAMESPACE:
                found = self.counters.get(counter.key.metric.name, 0)
                self.counters[counter.key.metric.name] = found + int(counter.committed or 0)

    def _on_thread_error(self, failed: Any) -> None:
        """Beam's own watcher thread raises when its worker exits with an error, and nobody there listens."""
        thread = failed.thread.name if failed.thread else ""
        if thread.startswith("run_worker") and self.dead is None:
            code = str(failed.exc_value).rsplit(" ", maxsplit=1)[-1]
            self.dead = _exit_code(code)


def _embedded_runner(options: BeamOptions, log: Path) -> Any:
    from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
    from apache_beam.transforms import environments

    if options.mode == "in_memory":
        return FnApiRunner()
    if options.mode == "multi_threading":
        return FnApiRunner(default_environment=environments.EmbeddedPythonGrpcEnvironment.default())
    # `exec`, so that the process that Beam waits for is the worker itself and not a shell.
    command = f"exec {shlex.quote(sys.executable)} -m trivium.pipelines.worker"
    if not options.verbose:
        command += f" 2>>{shlex.quote(str(log))}"
    return FnApiRunner(default_environment=environments.SubprocessSDKEnvironment.from_command_string(command))


@contextlib.contextmanager
def _worker_environment(options: BeamOptions, scratch: Path) -> Iterator[None]:
    """What this process and its workers see while a job runs.

    They import trivium from a bare checkout as well (PYTHONPATH), and temporary files go to `scratch`: Beam makes a
    folder for each pipeline that a killed process leaves behind, and the next build cleans its own folder only.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    root = str(Path(trivium.__file__).resolve().parent.parent)
    paths = os.environ.get("PYTHONPATH")
    wanted = {
        "PYTHONPATH": root if not paths else f"{root}{os.pathsep}{paths}",
        "TRIVIUM_VERBOSE": "1" if options.verbose else "",
        "TRIVIUM_DRIVER": str(os.getpid()),
        "TMPDIR": str(scratch.absolute()),
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    folder, tempfile.tempdir = tempfile.tempdir, None  # asked anew
    try:
        yield
    finally:
        tempfile.tempdir = folder
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(scratch, ignore_errors=True)


def worker_processes() -> list[int]:
    """Process ids of this process's own Beam workers (Linux only; empty elsewhere)."""
    found = []
    for listed in Path("/proc/self/task").glob("*/children"):  # a thread's own
        with contextlib.suppress(OSError):  # it has ended
            found += [int(pid) for pid in listed.read_text().split()]
    return sorted(pid for pid in found if b"trivium.pipelines.worker\0" in _command(pid))  # and no pool of workers


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill_workers() -> None:
    for pid in worker_processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _exit_code(code: str) -> str:
    try:
        number = int(code)
    except ValueError:
        return code
    number = number - 128 if number > 128 else -number
    if number > 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(number).name}"
    return f"exit code {code}"


def _as_build_error(name: str, failure: BaseException) -> TriviumError:
    """What a user reads of an exception that came through Beam."""
    text = _WHILE.sub("", str(failure))
    if isinstance(failure, TriviumError):
        failure.args = (text, *failure.args[1:])
        return failure
    for full in _FULL:
        if full in text:
            return BuildError(
                f"job {name!r}: no room left to write ({full}); free some space or give another --out, then run the "
                "same command again"
            )
    if "failed in state CANCELLED" in text:
        return BuildError(
            f"job {name!r} was cancelled: its worker pool lost a worker (the pool's log says which; the usual causes "
            "are too little memory or a kill from outside), or someone cancelled it; the same command again goes on"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line.partition(":")[0]] or lines or [type(failure).__name__]
    return BuildError(f"job {name!r} failed: {errors[-1]}; run again with -v for Beam's own log")
