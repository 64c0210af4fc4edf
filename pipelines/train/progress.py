"""What a person sees while it trains: one live line in a terminal, one plain line now and then elsewhere."""

import time
from typing import Any

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from trivium.console import err, note

PLAIN_SECONDS = 15.0
WAITING = 0.02  # share of a step above which waiting for data is told


class _Left(ProgressColumn):
    """Time left by the tokens still to come, since a step's cost grows with its context."""

    def render(self, task: Task) -> Text:
        left = task.fields.get("left")
        return Text("–:––" if left is None else clock(left), style="progress.remaining")


class TrainProgress:
    """`show` after each step; `note` prints a line that stays. `quiet` says nothing: another rank does."""

    def __init__(self, steps: int, tokens: int, *, done: int = 0, done_tokens: int = 0, quiet: bool = False) -> None:
        self._steps, self._tokens, self._quiet = steps, tokens, quiet
        self._seen = self._at_start = done_tokens
        self._began = self._said = time.monotonic()
        self._bar: Progress | None = None
        if err.is_terminal and not quiet:
            self._bar = Progress(
                TextColumn("[bold]{task.fields[stage]}"),
                BarColumn(bar_width=24),
                TextColumn("{task.completed}/{task.total}"),
                TextColumn("{task.fields[facts]}"),
                TimeElapsedColumn(),
                _Left(),
                console=err,
            )
            self._task = self._bar.add_task("train", total=steps, completed=done, stage="", facts="", left=None)

    def __enter__(self) -> "TrainProgress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, line: dict[str, Any], stage: str) -> None:
        """One step's metrics line."""
        self._seen += sum(line["tokens"].values())
        facts = _facts(line)
        left = self._left()
        if self._bar is not None:
            self._bar.update(self._task, completed=line["step"], stage=stage, facts=facts, left=left)
        elif not self._quiet and time.monotonic() - self._said > PLAIN_SECONDS:
            self._said = time.monotonic()
            ends = "" if left is None else f", {clock(left)} left"
            note(f"stage {stage}, step {line['step']}/{self._steps}: {facts}{ends}")

    def note(self, message: str) -> None:
        if not self._quiet:
            note(message)

    def _left(self) -> float | None:
        done = self._seen - self._at_start
        passed = time.monotonic() - self._began
        return (self._tokens - self._seen) * passed / done if done > 0 and passed > 2 else None


def clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _facts(line: dict[str, Any]) -> str:
    parts = []
    for kind in ("text", "image"):
        if line["loss"][kind] is not None:
            parts.append(f"{kind} {line['loss'][kind]:.3f}")
    rate = sum(line["tokens"].values()) / max(1e-9, line["time"]["step"])
    waits = line["time"]["data"] / max(1e-9, line["time"]["step"])
    used = f" · MFU {line['time']['mfu']:.1%}" if line["time"].get("mfu") else ""
    late = f" · waits for data {waits:.0%} of the step" if waits > WAITING else ""
    return f"loss {', '.join(parts)} · {rate / 1000:.1f}K tok/s · lr {line['lr']:.2e}{used}{late}"
