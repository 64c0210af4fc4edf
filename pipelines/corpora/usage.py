"""Peak memory and CPU time of this process, of the Beam workers that it started, and of all that those started.

Odd: a worker is ended with its guarded children, and nobody waits for them: what they used is then in no sum of the
kernel's. So the tree of processes is looked at while the job runs, and at most its last second is missing.
"""

import os
import resource
import sys
import time
from pathlib import Path

from trivium.data.guard.tree import spent
from trivium.pipelines.beam import worker_processes

_EVERY_S = 1.0


class Usage:
    """Of one job, from here on. `workers`: bytes of the largest worker process seen so far; 0 without worker processes,
    or off Linux."""

    def __init__(self) -> None:
        self.workers = 0
        self._next = 0.0
        self._before, self._waited = _own(), _waited()
        self._below = self._seen = spent(os.getpid())

    def look(self) -> None:
        """Looks at the processes, at most once a second."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_S
        self._seen = max(self._seen, spent(os.getpid()))
        for pid in worker_processes():
            self.workers = max(self.workers, _peak(pid))

    def cpu_seconds(self) -> float:
        """Of this process and of all below it, guarded children too."""
        return _own() - self._before + max(_waited() - self._waited, self._seen - self._below)


def own_peak() -> int:
    """Bytes that this process held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _own() -> float:
    return _time(resource.RUSAGE_SELF)


def _waited() -> float:
    return _time(resource.RUSAGE_CHILDREN)


def _time(who: int) -> float:
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime


def _peak(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    kilobytes = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
    return int(kilobytes) * 1024
