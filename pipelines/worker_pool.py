"""Worker pool for Beam's EXTERNAL environment: `python -m trivium.pipelines.worker_pool --port 50000`.

Odd: workers are forked from one process that has imported everything already, so each of a build's many jobs gets its
workers in a tenth of a second; Beam's own pool starts Python anew for every worker of every job. And with
`--job-endpoint` a worker that dies ends its job: Beam 2.77's job service would wait for its answer for ever. Other
runners (Flink, Spark) notice by themselves and start the bundle again, so they get no `--job-endpoint`.
"""

import argparse
import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc, beam_job_api_pb2, beam_job_api_pb2_grpc
from apache_beam.utils import thread_pool_executor

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_POLL_S = 0.2
_CANCEL_S = 5.0
PRELOADED = (
    "apache_beam.runners.worker.sdk_worker",
    "trivium.pipelines.corpora.items",
    "trivium.pipelines.corpora.recipe",
    "trivium.pipelines.corpora.shuffles",
    "trivium.pipelines.corpora.writing",
)


def work(control: str, worker: str, parent: int) -> None:
    """One worker process: serves the runner at `control` until it has no more work."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
    from apache_beam.runners.worker.sdk_worker import SdkHarness

    import trivium
    from trivium.pipelines.corpora import items

    code = Path(items.__file__).parent
    say(f"{worker} runs in process {os.getpid()}: trivium {trivium.__version__}, {code}")
    SdkHarness(control, worker_id=worker).run()


def say(line: str) -> None:
    """One line of the pool's log, on standard error."""
    print(line, file=sys.stderr, flush=True)


class WorkerPool(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Starts and stops workers as a runner asks; `look` finds those that died."""

    def __init__(self, job_endpoint: str = "") -> None:
        self._job_endpoint = job_endpoint
        self._context: Any = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(PRELOADED))
        self._lock = threading.Lock()
        self._workers: dict[tuple[str, str], BaseProcess] = {}  # by (the job's control address, worker id)
        self._server = self._context.Process(target=os.getppid)  # starts the process that forks, before anyone asks
        self._server.start()

    def StartWorker(self, request: Any, context: Any) -> Any:  # noqa: N802 (Beam's name)
        control = request.control_endpoint.url
        try:
            with self._lock:
                process = self._context.Process(target=work, args=(control, request.worker_id, fork_server()))
                process.start()
                self._workers[control, request.worker_id] = process
        except Exception as error:
            return beam_fn_api_pb2.StartWorkerResponse(error=f"no worker could be started: {error!r}")
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(self, request: Any, context: Any) -> Any:  # noqa: N802
        with self._lock:
            found = [key for key in self._workers if key[1] == request.worker_id]
            for key in found:
                self._workers.pop(key).terminate()
        return beam_fn_api_pb2.StopWorkerResponse()

    def look(self, seconds: float) -> None:
        """Waits so long for workers to end; one that died takes the others of its job along, and the job."""
        with self._lock:
            alive = dict(self._workers)
        wait([process.sentinel for process in alive.values()], timeout=seconds) if alive else time.sleep(seconds)
        lost = False
        with self._lock:
            for key, process in alive.items():
                if process.exitcode is None or self._workers.pop(key, None) is None or process.exitcode == 0:
                    continue
                say(f"{key[1]} died with exit code {process.exitcode}; its job's other workers are stopped")
                lost = True
                for other in [other for other in self._workers if other[0] == key[0]]:
                    self._workers.pop(other).kill()
        if lost and self._job_endpoint:
            self._cancel_jobs()

    def _cancel_jobs(self) -> None:
        """Cancels what runs on the job service: one pool serves one such service, and that runs one build's job."""
        with contextlib.suppress(grpc.RpcError), grpc.insecure_channel(self._job_endpoint) as channel:
            jobs = beam_job_api_pb2_grpc.JobServiceStub(channel)
            for job in jobs.GetJobs(beam_job_api_pb2.GetJobsRequest(), timeout=_CANCEL_S).job_info:
                if job.state == beam_job_api_pb2.JobState.RUNNING:
                    say(f"cancelled {job.job_id} at {self._job_endpoint}")
                    jobs.Cancel(beam_job_api_pb2.CancelJobRequest(job_id=job.job_id), timeout=_CANCEL_S)


def fork_server() -> int:
    """Process id of the process that forks the workers."""
    from multiprocessing import forkserver

    pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    if pid is None:
        raise RuntimeError("the process that forks workers is gone; start the pool again")
    return int(pid)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m trivium.pipelines.worker_pool", description=__doc__)
    parser.add_argument("--port", type=int, default=50000, help="where runners ask for workers; 0 takes a free one")
    parser.add_argument("--host", default="localhost", help="whoever reaches it can run code here: a private address")
    parser.add_argument("--port-file", type=Path, help="a file to write the port to when the pool is ready")
    parser.add_argument("--job-endpoint", default="", help="Beam's own job service; a worker's death cancels its job")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the log of Beam's workers")
    arguments = parser.parse_args(argv)
    if not arguments.verbose:
        logging.disable(logging.WARNING)
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    pool = WorkerPool(arguments.job_endpoint)
    server = grpc.server(thread_pool_executor.shared_unbounded_instance())
    port = server.add_insecure_port(f"{arguments.host}:{arguments.port}")
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    server.start()
    say(f"workers at {arguments.host}:{port}")
    if arguments.port_file:
        arguments.port_file.with_suffix(".tmp").write_text(str(port))
        os.replace(arguments.port_file.with_suffix(".tmp"), arguments.port_file)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            pool.look(_POLL_S)


if __name__ == "__main__":
    main()
