"""One run by one process and by several ranks of torchrun: the same losses, how much faster, and how it ends.

    python bench/ranks.py --corpora FOLDER_OR_ARCHIVE --work FOLDER [--ranks 2] [--preset tiny] [--steps 20]

`equal` trains the same steps alone and with all ranks and compares each step's loss; `stop` sends torchrun SIGTERM in
the middle, goes on with one process and compares again; `lost` kills one rank and sees how the others end. Ranks have
a GPU each where there are enough, else they share the CPU. Exit code 1 when a promise is not kept.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import _family_jobs
import _family_pool
import yaml

from trivium.console import out
from trivium.pipelines.train.metrics import read_metrics

PARTS = ("equal", "stop", "lost")
ROUNDING = {"bf16": 0.02, "fp32": 2e-3}  # nats in 20 steps: the order of sums, and routing that tips over by it
PATIENCE = 300.0  # seconds, for anything
GONE = 60.0  # seconds in which all must have ended when one has died


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.kept = options, True
        options.work.mkdir(parents=True, exist_ok=True)
        corpora = _family_pool.unpack(options.corpora, options.work)
        job = _family_jobs.Job(name="ranks", kind="run", preset=options.preset, steps=options.steps, evaluate=10**6)
        schedule = options.work / "schedule.yaml"
        schedule.write_text(yaml.safe_dump(job.schedule(), sort_keys=False), encoding="utf-8")
        self.changes = [
            *job.overrides(schedule.resolve(), corpora.resolve()), f"precision={options.precision}", "eval.rows=4",
            "data.workers=0", *(options.set or ()),
        ]  # fmt: skip

    def start(self, folder: Path, ranks: int) -> subprocess.Popen[bytes]:
        launch = ["-m", "trivium"]
        if ranks > 1:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            each = ["--nproc-per-node", str(ranks), "--master-port", str(port)]
            launch = ["-m", "torch.distributed.run", *each, *launch]
        command = [sys.executable, *launch, "train", str(_family_jobs.RUN), "--out", str(folder)]
        for change in self.changes:
            command += ["--set", change]
        with folder.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=_family_jobs.ROOT, env=_family_pool.surroundings(), stdout=log, stderr=log
            )

    def train(self, name: str, ranks: int) -> tuple[list[dict[str, Any]], int]:
        """Step lines, and the exit code."""
        folder = self.options.work / name
        code = self.start(folder, ranks).wait(PATIENCE)
        return self.lines(folder), code

    def lines(self, folder: Path) -> list[dict[str, Any]]:
        return [line for line in read_metrics(folder / "metrics.jsonl") if line["kind"] == "step"]

    def until(self, what: Callable[[], bool]) -> float:
        """Seconds until it is so; raises SystemExit after PATIENCE."""
        began = time.monotonic()
        while not what():
            if time.monotonic() - began > PATIENCE:
                raise SystemExit(f"nothing happened for {PATIENCE:.0f} s; the logs are in {self.options.work}")
            time.sleep(0.05)
        return time.monotonic() - began

    def tell(self, what: str, found: str, kept: bool) -> None:
        self.kept = self.kept and kept
        out.print(f"{'pass' if kept else 'FAIL'}  {what}: {found}", highlight=False, markup=False, soft_wrap=True)

    def compare(self, what: str, one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> None:
        gaps = [abs(a["loss"]["total"] - b["loss"]["total"]) for a, b in zip(one, other, strict=False)]
        whole = len(one) == len(other) == self.options.steps
        same = all(
            a["tokens"] == b["tokens"] and a["targets"] == b["targets"] for a, b in zip(one, other, strict=False)
        )
        most = max(gaps, default=float("inf"))
        told = f"first step {gaps[0]:.2e} nats, all {most:.2e}" if gaps else "no step"
        self.tell(what, f"{told}, {len(one)} and {len(other)} steps", whole and same and most < self.bound)

    @property
    def bound(self) -> float:
        return ROUNDING[self.options.precision]

    def equal(self) -> list[dict[str, Any]]:
        ranks = self.options.ranks
        alone, code = self.train("alone", 1)
        shared, other = self.train("shared", ranks)
        self.tell("exit codes", f"{code} and {other}", code == other == 0)
        self.compare(f"one process and {ranks} ranks", alone, shared)
        for name, lines in (("alone", alone), (f"{ranks} ranks", shared)):
            half = lines[len(lines) // 2 :]
            seconds = statistics.median(line["time"]["step"] for line in half)
            tokens = statistics.fmean(sum(line["tokens"].values()) for line in half)
            mfu = half[-1]["time"]["mfu"]
            told = (
                f"{seconds:.4f} s a step, {tokens / seconds:,.0f} tokens/s, MFU {'–' if mfu is None else f'{mfu:.2%}'}"
            )
            self.tell(name, told, True)
        return alone

    def stop(self, alone: Sequence[dict[str, Any]]) -> None:
        folder = self.options.work / "stopped"
        process = self.start(folder, self.options.ranks)
        self.until(lambda: len(self.lines(folder)) >= self.options.steps // 3 or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        seconds = self.until(lambda: process.poll() is not None)
        steps = len(self.lines(folder))
        saved = sorted(path.name for path in (folder / "checkpoints").glob("step-*"))
        kept = saved[-1:] == [f"step-{steps:08d}"] and 0 < steps < self.options.steps
        self.tell("SIGTERM of torchrun", f"all ended in {seconds:.1f} s, {saved} at step {steps}", kept)
        lines, code = self.train("stopped", 1)
        self.tell("going on with one process", f"exit code {code}", code == 0)
        self.compare("stopped, and gone on with one process", alone, lines)

    def lost(self) -> None:
        folder = self.options.work / "lost"
        process = self.start(folder, self.options.ranks)
        self.until(lambda: len(self.lines(folder)) >= 3 or process.poll() is not None)
        ranks = _children(process.pid)
        os.kill(ranks[-1], signal.SIGKILL)
        seconds = self.until(lambda: process.poll() is not None)
        left = [pid for pid in ranks if Path(f"/proc/{pid}").exists()]
        self.tell(
            f"SIGKILL of one rank of {len(ranks)}",
            f"all ended in {seconds:.1f} s, exit code {process.returncode}, {len(left)} left",
            seconds < GONE and process.returncode != 0 and not left,
        )


def _children(pid: int) -> list[int]:
    """The ranks: torchrun's children that train."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(one) for one in found if b"trivium" in Path(f"/proc/{one}/cmdline").read_bytes()]


def main(arguments: Sequence[str]) -> int:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--corpora", type=Path, required=True, help="folder with corpora/ and tokenizer.json, or archive"
    )
    parser.add_argument("--work", type=Path, required=True, help="an empty folder for the runs")
    parser.add_argument("--ranks", type=int, default=max(2, torch.cuda.device_count()))
    parser.add_argument("--preset", default="tiny" if torch.cuda.is_available() else "nano")
    parser.add_argument(
        "--precision", choices=("bf16", "fp32"), default="bf16" if torch.cuda.is_available() else "fp32"
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; `stop` needs `equal`")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    parts = options.part or PARTS
    bench = Bench(options)
    alone = bench.equal() if "equal" in parts or "stop" in parts else []
    if "stop" in parts:
        bench.stop(alone)
    if "lost" in parts:
        bench.lost()
    out.print(json.dumps({"device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"}))
    return 0 if bench.kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
