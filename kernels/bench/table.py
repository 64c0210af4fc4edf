"""The same facts on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trivium.console import out
from trivium.kernels.bench.check import Verdict
from trivium.kernels.bench.page import COLUMNS, COUNTS, STEP, cells, counts, errors, step_lines, step_rows
from trivium.kernels.bench.report import Accuracy, Cold, Row, Run, Step

__all__ = ["show_accuracy", "show_cold", "show_rows", "show_step", "show_verdicts"]

WIDTH = 160  # of a log; a terminal has its own
_STYLE = {"pass": "green", "FAIL": "bold red"}
_REST = (("FAIL", "missed"), ("missing", "not measured"))


def _print(table: Table) -> None:
    console = out if out.is_terminal else Console(width=WIDTH)
    console.print(table)


def show_rows(rows: Sequence[Row], run: Run) -> None:
    lines = [cells(row, rows, run) for row in rows]
    for columns, found in ((COLUMNS, lines), (COUNTS, counts(rows))):
        if not found:
            continue
        table = Table(title=rows[0].op, title_justify="left")
        for place, column in enumerate(columns):
            table.add_column(column, justify="left" if place < 2 else "right", overflow="fold")
        for line in found:
            table.add_row(*(escape(cell) for cell in line))
        _print(table)


def show_accuracy(entries: Sequence[Accuracy]) -> None:
    table = Table("case", "contestant", "error", "worst gradient", "causal", "repeats", "problem")
    for entry in entries:
        flags = [{None: "", True: "yes", False: "no"}[flag] for flag in (entry.causal, entry.repeats)]
        table.add_row(entry.case, entry.contestant, *errors(entry), *flags, escape(entry.problem))
    _print(table)


def show_cold(entries: Sequence[Cold]) -> None:
    table = Table("operator", "first shape", "seconds", "kernels", "compiled anew", "problem")
    for entry in entries:
        anew = sum(entry.again.values())
        table.add_row(
            entry.op, entry.layout, f"{entry.seconds:.2f}", str(entry.compiled), str(anew), escape(entry.problem)
        )
    _print(table)


def show_step(step: Step) -> None:
    table = Table(
        title=f"training step of {step.preset}{', torch.compile' if step.compiled else ''}", title_justify="left"
    )
    for place, column in enumerate(STEP):
        table.add_column(column, justify="right" if place else "left")
    for line in step_rows(step):
        table.add_row(*(escape(cell) for cell in line))
    if step.families:
        _print(table)
    for line in step_lines(step):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def show_verdicts(found: Sequence[Verdict]) -> None:
    """What was measured, each missing must in a line, and the sum."""
    table = Table("target", "what", "level", "needed", "found", "")
    for verdict in found:
        if verdict.state != "missing":
            state = f"[{_STYLE[verdict.state]}]{verdict.state}[/]"
            texts = [escape(text) for text in (verdict.what, verdict.level, verdict.needed, verdict.found)]
            table.add_row(verdict.target, *texts, state)
    if table.rows:
        _print(table)
    for verdict in found:
        if verdict.state == "missing" and verdict.level == "must":
            out.print(f"missing: {verdict.target}, {verdict.what}: {verdict.found}", markup=False, soft_wrap=True)
    sums = []
    for level in ("must", "goal"):
        states = [verdict.state for verdict in found if verdict.level == level]
        counts = [f"{states.count('pass')} of {len(states)} hold"]
        counts += [f"{states.count(state)} {word}" for state, word in _REST if state in states]
        sums.append(f"{level}: {', '.join(counts)}")
    out.print("; ".join(sums), markup=False, highlight=False, soft_wrap=True)
