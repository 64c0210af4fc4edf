"""How a loader is measured: processor time of all that took part, and memory; what comes of it."""

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REPEATS = 2


@dataclass(frozen=True)
class Figures:
    """One loader's row; None where it does not do such a thing, which `note` then explains.

    Rates are a second of one core; `fill` is of the rows that it packs and `cut` the documents that fit a row and were
    cut all the same; `state` in bytes; `same` and `other` say whether what follows a resume, by the same and by another
    number of ranks, is what would have followed; `memory` in MiB above the imports; `prepared` in seconds.
    """

    name: str
    version: str
    documents: float | None = None
    tokens: float | None = None
    pictures: float | None = None
    fill: float | None = None
    cut: int | None = None
    state: int | None = None
    same: bool | None = None
    other: bool | None = None
    memory: float | None = None
    prepared: float | None = None
    note: str = ""


def processor(work: Callable[[], Any], times: int = REPEATS) -> tuple[float, Any]:
    """Seconds of processor time, of this process and of those that it waited for meanwhile; the least of some runs."""
    best, result = float("inf"), None
    for _ in range(times):
        before = _used()
        result = work()
        best = min(best, _used() - before)
    return best, result


def _used() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Memory:
    """MiB by which this process has grown since, at most."""

    def __init__(self) -> None:
        with open("/proc/self/statm") as file:
            self._start = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def grown(self) -> float:
        return max(0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - self._start)


class WrongError(Exception):
    """A pass that did not bring what it should: then no speed is printed."""


def check(found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise WrongError(f"{what}: {found} came, {wanted} are there")
