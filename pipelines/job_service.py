"""Beam's own job service, for one machine: `python -m trivium.pipelines.job_service --port 8099`.

Odd: Beam 2.77's `local_job_service_main` gives each job a single worker whatever it asks for; here a job gets as many
as its `--direct_num_workers`. What runs the job is the embedded runner, so this is no cluster: it is the path that
clusters take (job server, worker pool, a wheel in the workers), on one machine.
"""

import argparse
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apache_beam.options.pipeline_options import DirectOptions
from apache_beam.portability.api import beam_job_api_pb2
from apache_beam.runners.portability import local_job_service
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner


class Job(local_job_service.BeamJob):
    """A job with as many workers as it asks for."""

    def _invoke_runner(self) -> Any:
        self.set_state(beam_job_api_pb2.JobState.RUNNING)
        options = self.pipeline_options()
        runner = FnApiRunner(provision_info=self._provision_info)
        runner._num_workers = int(options.view_as(DirectOptions).direct_num_workers) or os.cpu_count() or 1
        return runner.run_via_runner_api(self._pipeline_proto, options)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m trivium.pipelines.job_service", description=__doc__)
    parser.add_argument("--port", type=int, default=8099, help="where jobs are submitted; 0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="a file to write the port to when the service is ready")
    parser.add_argument("-v", "--verbose", action="store_true", help="show Beam's log")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO if arguments.verbose else logging.ERROR)
    service = local_job_service.LocalJobServicer(beam_job_type=Job)
    port = service.start_grpc_server(arguments.port)
    print(f"jobs at localhost:{port}", file=sys.stderr, flush=True)
    if arguments.port_file:
        arguments.port_file.with_suffix(".tmp").write_text(str(port))
        os.replace(arguments.port_file.with_suffix(".tmp"), arguments.port_file)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    finally:
        service.stop()


if __name__ == "__main__":
    main()
