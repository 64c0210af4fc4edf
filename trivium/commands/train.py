"""`trivium train`."""

from pathlib import Path
from typing import Annotated, Any

import typer

RunFile = Annotated[Path, typer.Argument(help="The run's YAML file.", metavar="RUN.yaml")]
Out = Annotated[Path, typer.Option("--out", help="The run folder; the same one again goes on where it stopped.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A change, such as optimizer.momentum=0.9; repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands to the command line."""
    app.command("train")(train)


def train(run: RunFile, out: Out, changes: Set = None, as_json: AsJson = False) -> None:
    """Trains through all stages in one run; a killed or stopped run goes on bit for bit with the same command."""
    settle_environment()
    from trivium.console import emit_json
    from trivium.pipelines.train.runner import train as run_it

    facts = run_it(run, out, changes or ())
    if facts is None:  # one of several ranks, and not the first
        return
    if as_json:
        emit_json(facts)
    else:
        _print(facts, out)


def settle_environment() -> None:
    """Before torch is imported: cuBLAS is deterministic only with a fixed workspace; idle OpenMP threads sleep.

    By default they spin for milliseconds at every join, on the very cores that the threads they wait for need when
    another program runs beside: nano on two cores with a load of five took eight times as long (docs/loader.md).
    """
    import os

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _print(facts: dict[str, object], out: Path) -> None:
    from rich.table import Table

    from trivium.console import out as console

    known: dict[str, Any] = facts
    gap = known["held_out"]["picture_gap"]
    judged = any(ends is not gap and ends["last"] is not None for ends in known["held_out"].values())
    head = "held-out loss, nats" if judged else "nats (not evaluated on held-out records)"
    table = Table(head, "first", "last", title=f"step {known['step']} of {known['steps']}")
    for split, ends in known["held_out"].items():
        if ends is not gap and ends["last"] is not None:
            later = f"{ends['last']:.3f}" if ends["evaluations"] > 1 else "evaluated once"
            table.add_row(split.replace("_", " "), f"{ends['first']:.3f}", later)
    if gap["low"] is not None:
        table.add_row("the exchange costs (95 %)", "", f"{gap['mean']:.3f} ({gap['low']:.3f} to {gap['high']:.3f})")
    if known["bigram_entropy"] is not None:
        table.add_row("bigram entropy of the training text", "", f"{known['bigram_entropy']:.3f}")
    if known["bigram_pictures"]["entropy"] is not None:
        table.add_row("bigram entropy beside pictures", "", f"{known['bigram_pictures']['entropy']:.3f}")
    console.print(table)
    tokens, rate = known["tokens"], known["throughput"]["tokens_per_second"]
    console.print(
        f"{tokens['text']:,} text and {tokens['vision']:,} vision tokens in {known['seconds']:.0f} s"
        + (f", {rate:,.0f} tokens a second" if rate else "")
    )
    _print_left_out(known["left_out"], out)
    page = out / "report.html"
    console.print(f"report: {page if page.is_file() else out / 'report.json'}", soft_wrap=True, highlight=False)


def _print_left_out(left: dict[str, Any], out: Path) -> None:
    """One line for the training side and one for the held-out side, where something was left out."""
    from trivium.console import counted
    from trivium.console import out as console

    held = left["held_out"]
    reasons = ", ".join(f"{reason} {one['documents']}" for reason, one in left["reasons"].items())
    if left["documents"]:
        console.print(
            f"left out: {left['documents']} of {counted(left['of'], 'document')} read ({reasons})",
            soft_wrap=True,
            markup=False,
        )
    if held["documents"]:
        reasons = ", ".join(f"{reason} {count}" for reason, count in held["reasons"].items())
        console.print(
            f"left out: {held['documents']} of {counted(held['of'], 'held-out document')} ({reasons})",
            soft_wrap=True,
            markup=False,
        )
    if left["documents"] or held["documents"]:
        again = f"trivium replay {out / 'config.yaml'} --from {out / 'skipped.jsonl'}"
        console.print(
            f"each is named in {out / 'skipped.jsonl'}; {again} tries them again",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
