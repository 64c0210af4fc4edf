"""What a process and all below it use, seen from outside: for limits that the kernel keeps for single processes only.

Odd: the proportional set size, which counts a shared page once, is costly to ask for (the kernel walks every page), so
the sum of resident sets, never smaller, decides first. Linux, Documentation/filesystems/proc.
"""

import os
from pathlib import Path

import msgspec

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """`processes` below the root, bytes in memory (shared pages once only where that matters), seconds of processor."""

    processes: int
    memory_bytes: int
    cpu_seconds: float


def look(root: int, enough: int) -> Seen:
    """The tree below process `root`, which is not counted itself.

    `enough`: bytes up to which the sum of resident sets will do; above, shared pages are counted once.
    """
    members = _below(root)
    resident = sum(_resident(pid) for pid in members)
    if resident > enough:
        resident = sum(_proportional(pid) for pid in members)
    return Seen(processes=len(members), memory_bytes=resident, cpu_seconds=_seconds(root, members))


def spent(root: int) -> float:
    """Seconds of processor of all below process `root`, those that ended among them as far as they were waited for."""
    return _seconds(root, _below(root))


def _seconds(root: int, members: list[int]) -> float:
    return (sum(_ticks(pid) for pid in members) + _ticks(root, own=False)) / _TICKS


def _below(root: int) -> list[int]:
    found: list[int] = []
    todo = [root]
    while todo:
        base = f"/proc/{todo.pop()}/task"
        try:
            threads = os.listdir(base)
        except OSError:
            continue
        for thread in threads:
            try:
                children = Path(base, thread, "children").read_text()
            except OSError:
                continue
            fresh = [int(pid) for pid in children.split()]
            found += fresh
            todo += fresh
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return _resident(pid)  # not ours to see, or gone
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))


def _ticks(pid: int, *, own: bool = True) -> int:
    """Processor time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(field) for field in fields[11 if own else 13 : 15])
