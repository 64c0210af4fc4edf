"""Tells when other programs take this run's cores, by the time that its threads waited for one (Linux counts it).

Odd: a step of two threads ends with the later one, so a machine with one busy neighbour a core trains at half speed and
nothing in the run's own figures says why.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

SECONDS = 10.0  # between two looks
SHARE = 0.25  # of the time: waiting for a core, above which it is told

Delays = Mapping[str, int]  # by thread: nanoseconds that it could have run and had no core


def delays(folder: Path = Path("/proc/self/task")) -> Delays:
    """Of every thread of this process; {} where the system does not count it."""
    found = {}
    try:
        for thread in os.listdir(folder):
            found[thread] = int((folder / thread / "schedstat").read_text().split()[1])
    except (OSError, IndexError, ValueError):  # a thread that ends meanwhile: the next look tells
        return {}
    return found


class Crowded:
    """`look` after each step; says one sentence, once, when a thread waited for a core too much of the time."""

    def __init__(
        self, read: Callable[[], Delays] = delays, clock: Callable[[], float] = time.monotonic, threads: int = 1
    ) -> None:
        self._read, self._clock, self._threads = read, clock, threads
        self._at, self._before = clock(), read()
        self._told = False

    def look(self) -> str | None:
        passed = self._clock() - self._at
        if self._told or passed < SECONDS:
            return None
        now = self._read()
        worst = max((now[thread] - self._before[thread] for thread in now.keys() & self._before.keys()), default=0)
        self._at, self._before = self._clock(), now
        share = worst / 1e9 / passed
        if share <= SHARE:
            return None
        self._told = True
        return (
            f"other programs take this run's cores: in the last {passed:.0f} s its {self._threads} threads waited "
            f"up to {share:.0%} of the time for one, so steps are that much slower; nothing else about the run changes"
        )
