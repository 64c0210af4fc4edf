"""Tables and facts of the curriculum commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from trivium.console import err, note, out

if TYPE_CHECKING:
    from trivium.curriculum import Plan, Schedule, StepRows
    from trivium.curriculum.change import Difference
    from trivium.curriculum.report import Report


def print_report(facts: "Report") -> None:
    """Stages, mixture, corpora, shortfalls, warnings and notes for people, in narrow tables."""
    out.print(f"[bold]{facts.steps:,} steps, {facts.tokens:,} tokens[/]")
    stages = _table("", "stage", "context", "steps", "tokens", "a step", "rows", "fill", "vision", "LR", "to")
    for stage in facts.stages:
        rows = f"{stage.rows:,}" if stage.rows_most == stage.rows else f"{stage.rows:,}–{stage.rows_most:,}"
        batch = f"{short(stage.batch[0])}–{short(stage.batch[1])}"
        if stage.batch[1] - stage.batch[0] <= 1:
            batch = short(stage.batch[1])
        stages.add_row(
            stage.name,
            length(stage.context),
            f"{stage.steps:,}",
            short(stage.tokens),
            batch,
            rows,
            f"{stage.fill:.1%}",
            f"{stage.vision:.1%}",
            f"{stage.lr_first:.2g}",
            f"{stage.lr_last:.2g}",
        )
    out.print(stages)
    mixture = _table("share of tokens, got (wanted)", "stage", *facts.corpora)
    for stage in facts.stages:
        shares = [stage.mixture.get(name) for name in facts.corpora]
        mixture.add_row(stage.name, *(f"{m.got:.1%} ({m.wanted:.1%})" if m else "–" for m in shares))
    out.print(mixture)
    corpora = _table("corpora", "corpus", "records", "train tokens", "used", "epochs", "held out", "tokens")
    for name, corpus in facts.corpora.items():
        corpora.add_row(
            name,
            f"{corpus.records:,}",
            short(corpus.train_tokens),
            short(corpus.used_tokens),
            f"{corpus.epochs:.2f}",
            f"{corpus.held_out_records:,}",
            short(corpus.held_out_tokens),
        )
    out.print(corpora)
    _print_buckets(facts)
    for shortfall in facts.shortfalls:
        note(f"[red]falls short:[/] {shortfall}")
    for warning in facts.warnings:
        note(f"[yellow]warning:[/] {warning}")
    for remark in facts.notes:
        note(f"note: {remark}")


def _print_buckets(facts: "Report") -> None:
    buckets = list(dict.fromkeys(bucket for corpus in facts.corpora.values() for bucket in corpus.buckets))
    table = _table("records by length bucket (how often each document comes)", "corpus", *buckets)
    for name, corpus in facts.corpora.items():
        cells = [corpus.buckets.get(bucket) for bucket in buckets]
        table.add_row(name, *(f"{cell.records:,} ({cell.epochs:.2f})" if cell else "–" for cell in cells))
    out.print(table)


def short(number: int) -> str:
    """A count in few digits: 1,234 or 12.3M."""
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6)):
        if number >= size:
            return f"{number / size:.3g}{unit}" if number < 999.5 * size else f"{number / size:.0f}{unit}"
    return f"{number:,}"


def length(tokens: int) -> str:
    """A context's length as people say it: 8K, 1M, 1,000."""
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if tokens % size == 0:
            return f"{tokens // size}{unit}"
    return f"{tokens:,}"


def stage_facts(schedule: "Schedule") -> list[dict[str, Any]]:
    """What follows from the schedule alone: steps, batches, learning rates."""
    from trivium.curriculum.change import first_steps
    from trivium.curriculum.clock import Clock
    from trivium.curriculum.learning_rate import learning_rate

    firsts = first_steps(schedule)
    facts = []
    for stage, first in zip(schedule.stages, firsts, strict=False):
        clock = Clock.of(stage)
        facts.append(
            {
                "name": stage.name,
                "context": stage.context,
                "first_step": first,
                "steps": clock.steps,
                "tokens": stage.tokens,
                "batch_tokens": [clock.batch_of(0), clock.batch_of(clock.steps - 1)],
                "rows": [clock.rows_of(0), clock.rows_of(clock.steps - 1)],
                "lr": [learning_rate(first + at, firsts[-1], schedule.lr) for at in (0, clock.steps - 1)],
            }
        )
    return facts


def weight_facts(plan: "Plan") -> list[dict[str, Any]]:
    """By stage: the share of tokens of each pool, and of picture tokens in all."""
    from trivium.curriculum.line import WHOLE
    from trivium.curriculum.mixture import vision_share

    return [
        {
            "stage": stage.rules.name,
            "vision": vision_share(stage.lines),
            "shares": {line.pool.name: line.weight / WHOLE for line in stage.lines},
        }
        for stage in plan.stages
    ]


def print_stages(lines: Sequence[dict[str, Any]], weights: Sequence[dict[str, Any]] | None) -> None:
    """The stages on stderr, and their mixtures where corpora are known."""
    table = _table("", "stage", "context", "from step", "steps", "tokens", "a step", "rows", "LR", "to")
    for line in lines:
        table.add_row(
            line["name"],
            length(line["context"]),
            f"{line['first_step']:,}",
            f"{line['steps']:,}",
            short(line["tokens"]),
            "–".join(dict.fromkeys(map(short, line["batch_tokens"]))),
            f"{line['rows'][1]:,}",
            *(f"{rate:.2g}" for rate in line["lr"]),
        )
    err.print(table)
    if weights is not None:
        pools = list(dict.fromkeys(pool for stage in weights for pool in stage["shares"]))
        shares = _table("share of tokens by corpus and length bucket", "", *(stage["stage"] for stage in weights))
        for pool in pools:
            cells = [stage["shares"].get(pool) for stage in weights]
            shares.add_row(pool, *("–" if cell is None else f"{cell:.2%}" for cell in cells))
        shares.add_row("picture tokens", *(f"{stage['vision']:.2%}" for stage in weights))
        err.print(shares)


def step_facts(plan: "Plan", step: "StepRows", ranks: int) -> dict[str, Any]:
    """One step: its digest, its rows in their order with the rank that computes each, and every rank's cost."""
    from trivium.curriculum.ranks import Cost, assign

    cost = Cost()
    shares = assign(step.rows, ranks, cost)
    rank_of = {number: rank for rank, numbers in enumerate(shares) for number in numbers}
    costs = [sum(cost.of(step.rows[number]) for number in numbers) for numbers in shares]
    rows = [
        {
            "row": number,
            "rank": rank_of[number],
            "digest": row.digest,
            "tokens": row.tokens,
            "patches": row.patches,
            "pieces": [
                {
                    "corpus": piece.corpus,
                    "record": piece.record,
                    "id": plan.catalogues[piece.corpus].document(piece.record),
                    "start": piece.start,
                    "stop": piece.stop,
                }
                for piece in row.pieces
            ],
        }
        for number, row in enumerate(step.rows)
    ]
    return {
        "step": step.step,
        "stage": plan.schedule.stages[step.stage].name,
        "context": step.context,
        "lr": step.lr,
        "digest": step.digest,
        "tokens": step.tokens,
        "ranks": [{"rank": rank, "rows": list(numbers), "cost": costs[rank]} for rank, numbers in enumerate(shares)],
        "rows": rows,
    }


def print_steps(facts: Sequence[dict[str, Any]]) -> None:
    """Steps as tables; a piece is `corpus:record id[start:stop]`."""
    for step in facts:
        title = f"step {step['step']} of stage {step['stage']}: {step['tokens']:,} tokens, digest {step['digest']}"
        table = _table(title, "row", "rank", "digest", "tokens", "patches", "pieces")
        table.add_column("corpus:record id\\[tokens]")
        for row in step["rows"]:
            pieces = [f"{p['corpus']}:{p['record']} {p['id'][:8]}\\[{p['start']}:{p['stop']}]" for p in row["pieces"]]
            numbers = [str(row[name]) for name in ("row", "rank", "digest", "tokens", "patches")]
            table.add_row(*numbers, str(len(pieces)), ", ".join(pieces))
        out.print(table)


def print_differences(found: Sequence["Difference"], title: str) -> None:
    """What differs, by the step from which it does."""
    if not found:
        out.print(f"{title}: the same steps, rows and learning rate")
        return
    table = _table(title, "key")
    for name in ("from step", "was", "is"):
        table.add_column(name, justify="right" if name == "from step" else "left", overflow="fold")
    for difference in found:
        table.add_row(difference.key, f"{difference.step:,}", difference.was, difference.now)
    out.print(table)


def _table(title: str, first: str, *columns: str) -> Table:
    """A table whose first column names its rows and whose other columns hold figures."""
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table
