"""Tables and facts of the curriculum commands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from trivium.console import counted, err, out

if TYPE_CHECKING:
    from trivium.curriculum import Plan, Schedule, StepRows
    from trivium.curriculum.change import Difference
    from trivium.curriculum.report import MixtureFacts, Report

STAGES_ACROSS = 4  # of a table: more would be cut at 80 columns


def print_report(facts: "Report") -> None:
    """Stages, mixture, corpora, shortfalls, warnings and notes for people, in tables of at most 80 columns."""
    out.print(f"[bold]{counted(facts.steps, 'step')}, {counted(facts.tokens, 'token')}[/]")
    _print_stages_of(facts)
    _print_mixture(facts)
    corpora = _table("corpora", "corpus", "records", "train tokens", "used", "epochs", "held out", "tokens")
    for name, corpus in facts.corpora.items():
        held, tokens = corpus.held_out_records, corpus.held_out_tokens
        corpora.add_row(
            name,
            short(corpus.records),
            short(corpus.train_tokens),
            short(corpus.used_tokens),
            f"{corpus.epochs:.2f}",
            "on paper" if held is None else f"{held:,}",
            "–" if tokens is None else short(tokens),
        )
    out.print(corpora)
    _print_buckets(facts)
    for shortfall in facts.shortfalls:
        _remark(f"[red]falls short:[/] {escape(shortfall)}")
    for warning in facts.warnings:
        _remark(f"[yellow]warning:[/] {escape(warning)}")
    for remark in facts.notes:
        _remark(f"note: {escape(remark)}")


def _remark(text: str) -> None:
    """A fact in words, beside the tables: on standard output like them."""
    out.print(text, highlight=False)


def _print_stages_of(facts: "Report") -> None:
    stages = _table("", "stage", "context", "steps", "tokens", "a step", "rows")
    measured = _table("", "stage", "fill", "pictures", "8 ranks", "documents", "cut", "LR", "to")
    for stage in facts.stages:
        rows = f"{stage.rows:,}" if stage.rows_most == stage.rows else f"{stage.rows:,}–{stage.rows_most:,}"
        batch = f"{short(stage.batch[0])}–{short(stage.batch[1])}"
        if stage.batch[1] - stage.batch[0] <= 1:
            batch = short(stage.batch[1])
        stages.add_row(stage.name, length(stage.context), f"{stage.steps:,}", short(stage.tokens), batch, rows)
        measured.add_row(
            stage.name,
            f"{stage.fill:.1%}",
            f"{stage.vision:.1%}",
            "–" if stage.imbalance is None else f"{stage.imbalance:.3f}",
            short(stage.documents),
            short(stage.cut),
            f"{stage.lr_first:.2g}",
            f"{stage.lr_last:.2g}",
        )
    out.print(stages)
    out.print(measured)
    out.print(
        "[dim]fill: of rows with tokens; pictures: of tokens; 8 ranks: the costliest over the mean; documents: as many "
        "as the tokens make, and how many of them are longer than a row[/]",
        highlight=False,
    )


def _print_mixture(facts: "Report") -> None:
    """By corpus and stage; few stages a table, so that none is cut."""
    moved = any(" → " in _share(one) for stage in facts.stages for one in stage.mixture.values())
    title = "share of tokens: as written → as vision moves it" if moved else "share of tokens"
    for at in range(0, len(facts.stages), STAGES_ACROSS):
        stages = facts.stages[at : at + STAGES_ACROSS]
        table = _table(title, "corpus", *(stage.name for stage in stages))
        for name in facts.corpora:
            table.add_row(name, *(_share(stage.mixture.get(name)) for stage in stages))
        out.print(table)


def _share(facts: "MixtureFacts | None") -> str:
    """What is wanted, what was written where it differs, and what was measured where that shows."""
    if facts is None:
        return "–"
    text = f"{facts.wanted:.1%}"
    if facts.written is not None and abs(facts.written - facts.wanted) >= 0.0005:
        text = f"{facts.written:.1%} → {text}"
    return text if abs(facts.got - facts.wanted) < 0.005 else f"{text}, got {facts.got:.1%}"


def _print_buckets(facts: "Report") -> None:
    buckets = list(dict.fromkeys(bucket for corpus in facts.corpora.values() for bucket in corpus.buckets))
    for at in range(0, len(buckets), STAGES_ACROSS):
        some = buckets[at : at + STAGES_ACROSS]
        table = _table("records by length bucket (how often each document comes)", "corpus", *some)
        for name, corpus in facts.corpora.items():
            cells = [corpus.buckets.get(bucket) for bucket in some]
            table.add_row(name, *(f"{short(cell.records)} ({cell.epochs:.2f})" if cell else "–" for cell in cells))
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
    """Steps as tables, rows and then ranks; a piece is `corpus:record id[start:stop]`."""
    for step in facts:
        title = f"step {step['step']:,} of stage {step['stage']}: {counted(step['tokens'], 'token')}"
        table = _table(f"{title}, digest {step['digest']}", "row", "rank", "digest", "tokens", "patches", "pieces")
        table.add_column("corpus:record id\\[tokens]")
        for row in step["rows"]:
            pieces = [f"{p['corpus']}:{p['record']} {p['id'][:8]}\\[{p['start']}:{p['stop']}]" for p in row["pieces"]]
            numbers = [str(row[name]) for name in ("row", "rank", "digest", "tokens", "patches")]
            table.add_row(*numbers, str(len(pieces)), ", ".join(pieces))
        out.print(table)
        _print_ranks(step)


def _print_ranks(step: dict[str, Any]) -> None:
    """What each rank computes and at what cost; ranks without a row are named."""
    costs = [rank["cost"] for rank in step["ranks"]]
    mean = sum(costs) / len(costs)
    table = _table("cost by rank, in tokens' linear layers", "rank", "rows", "tokens", "cost", "of the mean")
    tokens = {row["row"]: row["tokens"] for row in step["rows"]}
    for rank in step["ranks"]:
        if rank["rows"]:
            mine = sum(tokens[row] for row in rank["rows"])
            share = f"{rank['cost'] / mean:.3f}"
            table.add_row(str(rank["rank"]), str(len(rank["rows"])), f"{mine:,}", f"{rank['cost']:,.0f}", share)
    out.print(table)
    idle = [str(rank["rank"]) for rank in step["ranks"] if not rank["rows"]]
    if idle:
        rows = counted(len(step["rows"]), "row")
        out.print(f"idle: {counted(len(idle), 'rank')} ({', '.join(idle)}); the step has {rows}")


def print_differences(found: Sequence["Difference"], title: str) -> None:
    """What differs, by the step from which it does."""
    from trivium.curriculum.change import text_of

    if not found:
        out.print(f"{title}: the same schedule")
        return
    table = _table(title, "key")
    for name in ("decides", "from step", "was", "is"):
        table.add_column(name, justify="right" if name == "from step" else "left", overflow="fold")
    for difference in found:
        values = (escape(text_of(value)) for value in (difference.was, difference.now))
        table.add_row(escape(difference.key), difference.decides, f"{difference.step:,}", *values)
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
