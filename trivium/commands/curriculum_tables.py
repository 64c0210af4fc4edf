"""Tables of the curriculum commands."""

from typing import TYPE_CHECKING, Any

from rich.table import Table

from trivium.console import note, out

if TYPE_CHECKING:
    from trivium.curriculum import Plan
    from trivium.curriculum.report import Report
    from trivium.curriculum.rows import Row


def print_report(facts: "Report") -> None:
    """Stages, corpora and warnings for people."""
    stages = _table(f"{facts.steps} steps, {facts.tokens:,} tokens, {facts.patches:,} patches")
    for name in ("stage", "context", "steps", "rows", "tokens", "fill", "half empty", "documents", "cut", "skipped"):
        stages.add_column(name, justify="left" if name == "stage" else "right")
    stages.add_column("learning rate", justify="right")
    stages.add_column("mixture got (wanted)")
    for stage in facts.stages:
        mixture = ", ".join(f"{name} {m.got:.1%} ({m.wanted:.1%})" for name, m in stage.mixture.items())
        stages.add_row(
            stage.name,
            f"{stage.context:,}",
            f"{stage.steps:,}",
            f"{stage.rows:,}",
            f"{stage.tokens:,}",
            f"{stage.fill:.1%}",
            f"{stage.half_empty_rows:,}",
            f"{stage.documents:,}",
            f"{stage.cut:,}",
            f"{sum(stage.skipped.values()):,}",
            f"{stage.lr_first:.2e} → {stage.lr_last:.2e}",
            mixture,
        )
    out.print(stages)
    corpora = _table("corpora")
    for name in ("corpus", "records", "train tokens", "used tokens", "epochs", "held-out records", "held-out tokens"):
        corpora.add_column(name, justify="left" if name == "corpus" else "right")
    corpora.add_column("records by bucket")
    for name, corpus in facts.corpora.items():
        corpora.add_row(
            name,
            f"{corpus.records:,}",
            f"{corpus.train_tokens:,}",
            f"{corpus.used_tokens:,}",
            f"{corpus.epochs:.2f}",
            f"{corpus.held_out_records:,}",
            f"{corpus.held_out_tokens:,}",
            ", ".join(f"{bucket} {count:,}" for bucket, count in corpus.buckets.items()),
        )
    out.print(corpora)
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
    table = _table(f"rows of stage {stage}")
    for name in ("step", "tokens", "patches", "pieces"):
        table.add_column(name, justify="right")
    table.add_column("corpus:record id\\[tokens]")
    for line in lines:
        pieces = [f"{p['corpus']}:{p['record']} {p['id'][:8]}\\[{p['start']}:{p['stop']}]" for p in line["pieces"]]
        numbers = [str(line[name]) for name in ("step", "tokens", "patches")]
        table.add_row(*numbers, str(len(pieces)), ", ".join(pieces))
    out.print(table)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold")
