"""Kills a training run again and again and compares what it wrote with a run that nobody touched.

    python scripts/soak_kill.py RUN.yaml --out DIR --kills 50 [--seed 0] [--whole DIR] [--report FILE]

First the run goes through once, undisturbed; `--whole` gives the folder of one that did. Then it is started again and
again in a second folder and ended by SIGKILL: at random wall-clock times, in the middle of a checkpoint, and at a
change of stage, in turn. When it is through, its `metrics.jsonl` must equal the first one's line for line apart from
`time`. Exit code 1 when it does not.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

POLL = 0.002  # seconds
ALONE = 10.0  # seconds that a run is taken to last when it was not seen
WAYS = ("random", "checkpoint", "stage")


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
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    whole, broken = given.whole or given.out / "whole", given.out / "killed"
    began = time.monotonic()
    if given.whole is None:
        finish(given.run, whole)
    alone = time.monotonic() - began if given.whole is None else ALONE
    kills = soak(given.run, broken, given.kills, random.Random(given.seed), alone)
    finish(given.run, broken)
    difference = compare(whole / "metrics.jsonl", broken / "metrics.jsonl")
    facts = {
        "equal": difference is None,
        "difference": difference,
        "lines": len((whole / "metrics.jsonl").read_text().splitlines()),
        "undisturbed_seconds": round(alone, 1) if given.whole is None else None,
        "kills": [asdict(kill) for kill in kills],
        "by_way": {way: sum(kill.way == way for kill in kills) for way in WAYS},
    }
    text = json.dumps(facts, indent=1)
    print(text)
    if given.report:
        given.report.write_text(text + "\n")
    return 0 if difference is None else 1


def soak(run: Path, out: Path, kills: int, dice: random.Random, alone: float) -> list[Kill]:
    """Starts and kills until `kills` kills hit a living process; a run that came through is begun anew."""
    done: list[Kill] = []
    while len(done) < kills:
        way = WAYS[len(done) % len(WAYS)]
        delay = dice.uniform(0.1, max(1.0, alone * 0.6))
        process = start(run, out)
        began = time.monotonic()
        ready = AIMS[way](out, delay, began)
        while process.poll() is None and not ready():
            time.sleep(POLL)
        if process.poll() is not None:
            if process.returncode:
                raise SystemExit(f"the run ended with exit code {process.returncode} after {len(done)} kills")
            forget(out)  # it came through before the aim was met: begin again
            continue
        process.kill()
        process.wait()
        done.append(Kill(way, round(time.monotonic() - began, 3), last_step(out / "metrics.jsonl")))
    return done


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


AIMS = {"random": at_random, "checkpoint": in_checkpoint, "stage": at_stage_change}


def start(run: Path, out: Path) -> subprocess.Popen[bytes]:
    """The command that a user gives, its output thrown away."""
    command = [sys.executable, "-m", "trivium", "train", str(run), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(run: Path, out: Path) -> None:
    code = start(run, out).wait()
    if code:
        raise SystemExit(f"the run into {out} ended with exit code {code}; run it by hand to see why")


def forget(out: Path) -> None:
    """Removes checkpoints and metrics, so that the next start is a fresh run."""
    for path in sorted(out.glob("checkpoints/**/*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (out / "metrics.jsonl").unlink(missing_ok=True)


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
