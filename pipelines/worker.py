"""Entry of an embedded Beam worker process: it dies with its driver and stays silent unless asked.

Run by `pipelines/beam.py` as `python -m trivium.pipelines.worker`; everything else is Beam's own worker.
"""

import ctypes
import logging
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
DRIVER = "TRIVIUM_DRIVER"  # process id of the driver, in the worker's environment


def main() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # The signal comes only for deaths after this call; a driver that died while Python started is seen here, else
        # the worker would try for two minutes to reach it.
        if os.getppid() != int(os.environ.get(DRIVER, os.getppid())):
            sys.exit("the driver is gone")
    if not os.environ.get("TRIVIUM_VERBOSE"):
        logging.disable(logging.WARNING)
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
