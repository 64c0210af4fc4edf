"""Tables of the curriculum commands."""

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from trivium.console import note, out

if TYPE_CHECKING:
    from trivium.curriculum import Plan
    from trivium.curriculum.report import Report
    from trivium.curriculum.rows import Row


def print_report(facts: "Report") -> None:
    """Stages, mixture, corpora and warnings for people; four narrow tables, so that 80 columns hold each."""
    out.print(f"[bold]{facts.steps:,} steps, {facts.tokens:,} tokens, {facts.patches:,} patches[/]")
    stages = _table("", "stage", "context", "steps", "tokens", "fill", "documents", "cut", "skipped", "LR", "to")
    for stage in facts.stages:
        stages.add_row(
            stage.name,
            f"{stage.context:,}",
            f"{stage.steps:,}",
            f"{stage.tokens:,}",
            f"{stage.fill:.1%}",
            f"{stage.documents:,}",
            f"{stage.cut:,}",
            f"{sum(stage.skipped.values()):,}",
            f"{stage.lr_first:.2g}",
            f"{stage.lr_last:.2g}",
        )
    out.print(stages)
    mixture = _table("share of tokens, got (wanted)", "stage", *facts.corpora)
    for stage in facts.stages:
        shares = [stage.mixture.get(name) for name in facts.corpora]
        mixture.add_row(stage.name, *(f"{m.got:.1%} ({m.wanted:.0%})" if m else "–" for m in shares))
    out.print(mixture)
    corpora = _table("corpora", "corpus", "records", "train tokens", "used", "epochs", "held out", "tokens")
    for name, corpus in facts.corpora.items():
        corpora.add_row(
            name,
            f"{corpus.records:,}",
            f"{corpus.train_tokens:,}",
            f"{corpus.used_tokens:,}",
            f"{corpus.epochs:.2f}",
            f"{corpus.held_out_records:,}",
            f"{corpus.held_out_tokens:,}",
        )
    out.print(corpora)
    buckets = list(dict.fromkeys(bucket for corpus in facts.corpora.values() for bucket in corpus.buckets))
    lengths = _table("records by length bucket (tokens)", "corpus", *buckets)
    for name, corpus in facts.corpora.items():
        lengths.add_row(name, *(f"{corpus.buckets.get(bucket, 0):,}" for bucket in buckets))
    out.print(lengths)
    for warning in facts.warnings:
        note(f"[yellow]warning:[/] {warning}")


def row_facts(plan: "Plan", found: list[tuple[int, "Row"]]) -> list[dict[str, Any]]:
    """One mapping a row: its step, sums, and its pieces with the documents' ids."""
    return [
        {
            "step": step,
            "tokens": row.tokens,
            "patches": row.patches,
            "pieces": [
                {
                    "corpus": piece.corpus,
                    "record": piece.record,
                    "id": str(plan.catalogues[piece.corpus].id[piece.record]),
                    "start": piece.start,
                    "stop": piece.stop,
                }
                for piece in row.pieces
            ],
        }
        for step, row in found
    ]


def print_rows(stage: str, lines: list[dict[str, Any]]) -> None:
    """The rows of a stage as a table; a piece is `corpus:record id[start:stop]`."""
    table = _table(f"rows of stage {stage}", "", "step", "tokens", "patches", "pieces")
    table.add_column("corpus:record id\\[tokens]")
    for number, line in enumerate(lines, start=1):
        pieces = [f"{p['corpus']}:{p['record']} {p['id'][:8]}\\[{p['start']}:{p['stop']}]" for p in line["pieces"]]
        numbers = [str(line[name]) for name in ("step", "tokens", "patches")]
        table.add_row(str(number), *numbers, str(len(pieces)), ", ".join(pieces))
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
