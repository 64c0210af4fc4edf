"""Peak memory and CPU time of this process and of the Beam workers that it started."""

import resource
import sys
import time
from pathlib import Path

from trivium.pipelines.beam import worker_processes

_EVERY_S = 1.0


class Memory:
    """`workers`: bytes of the largest worker process seen so far; 0 without worker processes, or off Linux."""

    def __init__(self) -> None:
        self.workers = 0
        self._next = 0.0

    def look(self) -> None:
        """Looks at the workers, at most once a second."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY_S
        for pid in worker_processes():
            self.workers = max(self.workers, _peak(pid))


def own_peak() -> int:
    """Bytes that this process held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def cpu_seconds() -> float:
    """CPU time of this process and of the workers that have ended."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in found)


def _peak(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    kilobytes = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
    return int(kilobytes) * 1024
