"""How far a build is: bars on a terminal, lines for a log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trivium.console import counted, err, note

if TYPE_CHECKING:
    from trivium.pipelines.corpora.work import Progress

RECORD = "record"  # as a job's progress names them
EVERY = 30.0  # seconds between two lines of one job in a log


@contextmanager
def shown(show: bool) -> Iterator["Progress"]:
    """On standard error, for each job: its stages, how many files (of the first) or records are done, how fast, and how
    many records are refused."""
    if show and not err.is_terminal:
        lines = Lines()
        yield lines
        lines.end()
        return
    with _bars(show) as progress:
        yield progress


class Lines:
    """For a log, which shows no bars: a line when a job is first heard of, every EVERY seconds, and when it ends."""

    def __init__(self, clock: Any = time.monotonic) -> None:
        self._clock = clock
        self._stage, self._state = "", ""
        self._began = self._said = 0.0

    def __call__(self, stage: str, done: int, total: int | None, dropped: int, thing: str) -> None:
        now = self._clock()
        if stage != self._stage:
            self.end()
            self._stage, self._began, self._said = stage, now, now
            note(f"{stage} …")
        took = f"{now - self._began:,.0f} s"
        self._state = (
            f"{stage}: {', '.join(filter(None, (_amount(done, total, thing), _refused(dropped, thing), took)))}"
        )
        if now - self._said >= EVERY:
            self._said = now
            note(self._state)

    def end(self) -> None:
        """The last line of the job that ran."""
        if self._stage:
            note(f"{self._state}, done")
            self._stage = ""


def _amount(done: int, total: int | None, thing: str) -> str:
    """`39 of 40 files`."""
    return counted(done, thing) if total is None else f"{done:,} of {counted(total, thing)}"


def _refused(dropped: int, thing: str) -> str:
    """How many were refused, which are records whatever is counted."""
    if not dropped:
        return ""
    return f"{dropped:,} refused" if thing == RECORD else f"{counted(dropped, 'record')} refused"


@contextmanager
def _bars(show: bool) -> Iterator["Progress"]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", table_column=Column(ratio=1, overflow="fold")),
        BarColumn(10),
        TextColumn("{task.fields[amount]}", justify="right"),
        TextColumn("{task.fields[rate]}", justify="right"),
        TextColumn("{task.fields[refused]}", justify="right"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, disable=not show, expand=True) as display:
        tasks: dict[str, Any] = {}

        def progress(stage: str, done: int, total: int | None, dropped: int, thing: str) -> None:
            if stage not in tasks:
                tasks[stage] = display.add_task(stage, total=total, amount="", rate="", refused="")
            task = display.tasks[display.task_ids.index(tasks[stage])]
            rate = f"{done / task.elapsed:,.0f}/s" if task.elapsed and done else ""
            amount, refused = _amount(done, total, thing), _refused(dropped, thing)
            display.update(tasks[stage], completed=done, total=total, amount=amount, rate=rate, refused=refused)

        yield progress
        for task in tasks.values():
            display.stop_task(task)
