"""`trivium train` and `trivium sample`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from trivium.pipelines.train.sample import Sampling, Writer

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
    app.command("sample")(sample)


def train(run: RunFile, out: Out, changes: Set = None, as_json: AsJson = False) -> None:
    """Trains through all stages in one run; a killed or stopped run goes on bit for bit with the same command."""
    _settle_environment()
    from trivium.console import emit_json
    from trivium.pipelines.train.runner import train as run_it

    facts = run_it(run, out, changes or ())
    if as_json:
        emit_json(facts)
    else:
        _print(facts, out)


def sample(
    source: Annotated[Path, typer.Argument(help="A run folder or one checkpoint folder.", metavar="RUN_OR_CHECKPOINT")],
    prompt: Annotated[str | None, typer.Option(help="Text to go on from.")] = None,
    image: Annotated[Path | None, typer.Option(help="A picture (png, jpg, …) to write code for.")] = None,
    held_out: Annotated[
        str | None, typer.Option("--held-out", metavar="CORPUS", help="Show it held-out pictures of this corpus.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Held-out pictures.")] = 4,
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Write pictures, code and drawings there.")] = None,
    tokens: Annotated[int, typer.Option(help="At most so many tokens.")] = 200,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.")] = 0.8,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest tokens of this mass.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    tokenizer: Annotated[Path | None, typer.Option(help="Where the run folder holds none.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send control characters to a terminal as they are.")] = False,
    as_json: AsJson = False,
) -> None:
    """Writes text after a prompt, or code after a picture, from a trained checkpoint."""
    _settle_environment()
    from trivium.console import counted, emit_json, note, say
    from trivium.errors import InputError, UsageError
    from trivium.pipelines.train.sample import Sampling, facts, load_writer

    if held_out is not None and (prompt is not None or image is not None):
        raise UsageError("--held-out brings its own pictures; leave --prompt and --image out")
    picture = None
    if image is not None:
        try:
            picture = image.read_bytes()
        except OSError as error:
            raise InputError(f"--image {image}: can't be read ({error.strerror})") from None
    sampling = Sampling(tokens=tokens, temperature=temperature, top_p=top_p, seed=seed)
    writer = load_writer(source, tokenizer=tokenizer)
    writer.settle_threads()
    if held_out is not None:
        _sample_held_out(source, writer, held_out, count, save, sampling, as_json, raw)
        return
    if prompt is None and picture is None:
        note('no --prompt and no --image: the model begins a document of its own (--prompt "" says the same)')
    try:
        drawn = writer.write(prompt or "", picture, sampling)
    except InputError as error:
        raise InputError(f"--image {image}: {error}") from None
    if as_json:
        emit_json(facts(drawn, writer.step))
        return
    say((prompt or "") + drawn.text, raw=raw)
    how = "the document ended" if drawn.ended else "stopped at --tokens"
    rate = f"{drawn.tokens_per_second:.0f} tok/s"
    note(f"step {writer.step}: {counted(drawn.tokens, 'token')}, {rate}, temperature {temperature:g}, {how}")


def _sample_held_out(
    source: Path,
    writer: "Writer",
    corpus: str,
    count: int,
    save: Path | None,
    sampling: "Sampling",
    as_json: bool,
    raw: bool,
) -> None:
    """Held-out pictures with the code that drew them beside what the model writes."""
    from tempfile import TemporaryDirectory

    from rich.markup import escape
    from rich.table import Table

    from trivium.console import emit_json, note, out, printable
    from trivium.pipelines.train.pairs import held_out_pairs, save_pairs

    with TemporaryDirectory() as beside:
        facts = save_pairs(held_out_pairs(source, writer, corpus, count, sampling), save or Path(beside))
    if as_json:
        emit_json(facts)
        return
    table = Table("held-out code", "written after its picture", title=f"{corpus}, step {writer.step}", show_lines=True)
    for fact in facts:
        cells = (fact[key] if raw else printable(fact[key]) for key in ("truth", "written"))
        table.add_row(*map(escape, cells))
    out.print(table)
    if save is not None:
        note(f"pictures and drawings: {save}")


def _settle_environment() -> None:
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
