"""Kills a training run and its worker processes again and again; compares what it wrote with an undisturbed run's.

    python scripts/soak_kill.py RUN.yaml --out DIR --kills 50 [--seed 0] [--whole DIR] [--set K=V] [--report FILE]

First the run goes through once, undisturbed; `--whole` gives the folder of one that did. Then it is started again and
again in a second folder and ended by SIGKILL: at random wall-clock times, in the middle of a checkpoint, at a change of
stage, and, without ending the run, one of the processes that decode pictures, in turn. No process of a killed run may
outlive it. When it is through, `metrics.jsonl` and `skipped.jsonl` must equal the first run's line for line apart from
`time`. Exit code 1 when they do not.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

POLL = 0.002  # seconds
ALONE = 10.0  # seconds that a run is taken to last when it was not seen
ORPHANS = 10.0  # seconds that processes of a killed run may take to end
WAYS = ("random", "checkpoint", "stage", "worker")


@dataclass
class Kill:
    """One kill: the way it was aimed, seconds after the start, and the steps that stood in the metrics."""

    way: str
    seconds: float
    step: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", type=Path, help="the folder of the same run, finished and never disturbed")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="handed to trivium train")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    alone, whole = None, given.whole or given.out / "whole"
    if given.whole is None:
        began = time.monotonic()
        through(start(given.run, whole, given.changes))
        alone = time.monotonic() - began
    ways = [WAYS[number % len(WAYS)] for number in range(given.kills)]
    dice = random.Random(given.seed)
    kills = soak(given.run, given.out / "killed", ways, dice, alone or ALONE, given.changes)
    difference = compare_runs(whole, given.out / "killed")
    facts = {
        "equal": difference is None,
        "difference": difference,
        "lines": len((whole / "metrics.jsonl").read_text().splitlines()),
        "undisturbed_seconds": None if alone is None else round(alone, 1),
        "kills": [asdict(kill) for kill in kills],
        "by_way": {way: sum(kill.way == way for kill in kills) for way in WAYS},
    }
    text = json.dumps(facts, indent=1)
    print(text)
    if given.report:
        given.report.write_text(text + "\n")
    return 0 if difference is None else 1


class Process(Protocol):
    """The part of a Popen that is needed here."""

    pid: int

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self) -> int: ...
    def kill(self) -> None: ...


def start(run: Path, out: Path, changes: Sequence[str]) -> Process:
    """The command that a user gives, its output thrown away."""
    command = [sys.executable, "-m", "trivium", "train", str(run), "--out", str(out)]
    command += [word for change in changes for word in ("--set", change)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def soak(
    run: Path,
    out: Path,
    ways: Sequence[str],
    dice: random.Random,
    alone: float,
    changes: Sequence[str],
    start: Callable[[Path, Path, Sequence[str]], Process] = start,
) -> list[Kill]:
    """Starts the run, kills it in each of these ways and lets it come through; one that did before is begun anew."""
    done: list[Kill] = []
    process = start(run, out, changes)
    while len(done) < len(ways):
        way = ways[len(done)]
        delay = dice.uniform(0.1, max(1.0, alone * 0.6))
        began = time.monotonic()
        ready = AIMS[way](out, delay, began)
        while process.poll() is None and not (ready() and (way != "worker" or decoders(process.pid))):
            time.sleep(POLL)
        if process.poll() is not None:
            if process.returncode:
                raise SystemExit(f"the run ended with exit code {process.returncode} after {len(done)} kills")
            forget(out)  # it came through before the aim was met: begin again
            process = start(run, out, changes)
            continue
        if way == "worker":
            victims = decoders(process.pid)
            if not victims:  # ended since
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(dice.choice(victims), signal.SIGKILL)  # the run goes on with a new one
        else:
            workers = below(process.pid)
            process.kill()
            process.wait()
            refuse_orphans(workers)
        done.append(Kill(way, round(time.monotonic() - began, 3), last_step(out / "metrics.jsonl")))
        if way != "worker":
            process = start(run, out, changes)
    through(process)
    return done


def through(process: Process) -> None:
    """Waits for the end of a run that nobody disturbs any more."""
    if code := process.wait():
        raise SystemExit(f"the run ended with exit code {code}; run it by hand to see why")


def below(pid: int) -> list[int]:
    """All processes under `pid`, nearest first."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            near = [int(word) for word in task.read_text().split()]
        except OSError:  # ended meanwhile
            continue
        found += near
        for child in near:
            found += below(child)
    return found


def decoders(pid: int) -> list[int]:
    """Those of them that decode pictures."""
    found = []
    for child in below(pid):
        with contextlib.suppress(OSError):
            if b"trivium.data.guard" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def refuse_orphans(pids: list[int]) -> None:
    """Waits until all of a killed run's processes have ended, for a while."""
    until = time.monotonic() + ORPHANS
    while alive := [pid for pid in pids if running(pid)]:
        if time.monotonic() > until:
            raise SystemExit(f"processes {alive} outlive the run that was killed")
        time.sleep(0.02)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def at_random(out: Path, delay: float, began: float) -> Callable[[], bool]:
    return lambda: time.monotonic() - began > delay


def in_checkpoint(out: Path, delay: float, began: float) -> Callable[[], bool]:
    """While a half-written checkpoint lies there, a few milliseconds after it appeared; leftovers don't count."""
    left = {path.stat().st_ino for path in out.glob("checkpoints/.new-*")}
    seen: list[float] = []

    def ready() -> bool:
        if not seen and any(inode(path) not in left for path in out.glob("checkpoints/.new-*")):
            seen.append(time.monotonic())
        return bool(seen) and time.monotonic() - seen[0] > delay % 0.05

    return ready


def inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def at_stage_change(out: Path, delay: float, began: float) -> Callable[[], bool]:
    """Once the last line's stage differs from the first one seen, or at `delay` after twice the time."""
    first: list[int] = []

    def ready() -> bool:
        stage = last_stage(out / "metrics.jsonl")
        if stage is not None and not first:
            first.append(stage)
        changed = bool(first) and stage is not None and stage > first[0]
        return changed or time.monotonic() - began > 4 * delay + 20

    return ready


AIMS = {"random": at_random, "checkpoint": in_checkpoint, "stage": at_stage_change, "worker": at_random}


def forget(out: Path) -> None:
    """Removes checkpoints and metrics, so that the next start is a fresh run."""
    for path in sorted(out.glob("checkpoints/**/*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (out / "metrics.jsonl").unlink(missing_ok=True)


def compare_runs(whole: Path, broken: Path) -> str | None:
    """None when the lines of both run folders are equal, else the first difference."""
    differences = (compare(whole / name, broken / name) for name in ("metrics.jsonl", "skipped.jsonl"))
    return next(filter(None, differences), None)


def compare(one: Path, other: Path) -> str | None:
    """None when equal apart from `time`, else the first line that differs."""
    a, b = (without_time(path) for path in (one, other))
    for number, (left, right) in enumerate(zip(a, b, strict=False), 1):
        if left != right:
            keys = [key for key in {**left, **right} if left.get(key) != right.get(key)]
            values = [(left.get(key), right.get(key)) for key in keys]
            return f"line {number} differs in {', '.join(keys)}: {values}"
    return None if len(a) == len(b) else f"{len(a)} lines and {len(b)} lines"


def without_time(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "time"} for line in lines]


def last_step(path: Path) -> int:
    line = last_line(path)
    return int(line["step"]) if line else 0


def last_stage(path: Path) -> int | None:
    line = last_line(path)
    return line.get("stage") if line else None


def last_line(path: Path) -> dict | None:
    """The last whole line; None when there is none."""
    if not path.is_file():
        return None
    whole = path.read_bytes().rpartition(b"\n")[0]
    return json.loads(whole.rpartition(b"\n")[2]) if whole else None


if __name__ == "__main__":
    sys.exit(main())
