"""`trivium sample`: text after a prompt, code after a picture, from a checkpoint or imported weights."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trivium.commands.train import settle_environment

if TYPE_CHECKING:
    from trivium.model.sampling import Sampling
    from trivium.pipelines.train.sample import Drawn, Opening, Writer

TOGETHER = 8  # samples written in the same steps
LARGE = 4096  # patches; from here on the wait before the first token is worth a word


class Device(StrEnum):
    cpu = "cpu"
    cuda = "cuda"


def register(app: typer.Typer) -> None:
    """Adds `trivium sample` to the command line."""
    app.command("sample")(sample)


def sample(
    source: Annotated[
        Path,
        typer.Argument(
            help="A run folder, one checkpoint, or a folder of `trivium model import`.", metavar="RUN_OR_WEIGHTS"
        ),
    ],
    prompt: Annotated[str | None, typer.Option(help="Text to go on from.")] = None,
    prompt_file: Annotated[
        Path | None, typer.Option("--prompt-file", metavar="F", help="A file with that text; - is standard input.")
    ] = None,
    image: Annotated[
        list[Path] | None, typer.Option(metavar="PICTURE", help="A picture (png, jpg, …) before the text; repeatable.")
    ] = None,
    held_out: Annotated[
        str | None, typer.Option("--held-out", metavar="CORPUS", help="Show it held-out pictures of this corpus.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Samples, of seeds one apart (1); with --held-out, pictures (4).")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --held-out: write pictures, code and drawings there.")
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", help="At most so many tokens.")] = 200,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token.")] = 0.8,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest tokens of this mass.")] = 0.95,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many of the likeliest tokens.")] = None,
    stop: Annotated[list[str] | None, typer.Option(help="Text to stop at, not written itself; repeatable.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    device: Annotated[Device, typer.Option(help="Where the model runs.")] = Device.cpu,
    tokenizer: Annotated[Path | None, typer.Option(help="Where the run folder holds none.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Send control characters to a terminal as they are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Writes text after a prompt, or code after pictures, from a checkpoint or imported weights, as it comes."""
    settle_environment()
    from contextlib import closing

    from trivium.console import note
    from trivium.model.sampling import Sampling
    from trivium.pipelines.train.sample import Opening, load_writer

    _refuse_contradictions(prompt, prompt_file, image, held_out, save)
    sampling = Sampling(
        tokens=max_tokens, temperature=temperature, top_p=top_p, top_k=top_k, seed=seed, stop=tuple(stop or ())
    )
    given = _read_text(prompt_file) if prompt_file is not None else prompt
    opening = Opening(given or "", [_read(one) for one in image or ()], [str(one) for one in image or ()])
    with closing(load_writer(source, tokenizer=tokenizer, device=device, warn=note)) as writer:
        writer.settle_threads()
        if held_out is not None:
            _held_out(source, writer, held_out, count or 4, save, sampling, as_json, raw)
            return
        if given is None and not image:
            note('no --prompt and no --image: the model begins a document of its own (--prompt "" says the same)')
        _write(writer, opening, sampling, count or 1, as_json, raw)


def _refuse_contradictions(
    prompt: str | None, prompt_file: Path | None, image: list[Path] | None, held_out: str | None, save: Path | None
) -> None:
    """Raises UsageError for openings of which only one could be used, before anything is loaded."""
    from trivium.errors import UsageError

    if held_out is not None and (prompt is not None or prompt_file is not None or image):
        raise UsageError("--held-out brings its own pictures; leave --prompt, --prompt-file and --image out")
    if prompt is not None and prompt_file is not None:
        raise UsageError("--prompt and --prompt-file are two prompts; give one")
    if save is not None and held_out is None:
        raise UsageError("--save keeps held-out pictures and what was written for them; give --held-out CORPUS too")


def _write(writer: "Writer", opening: "Opening", sampling: "Sampling", count: int, as_json: bool, raw: bool) -> None:
    """Samples of one opening: one alone is shown as it comes, more of them when they are whole."""
    from dataclasses import replace

    from trivium.console import emit_json, note, say
    from trivium.data.patches import MERGE
    from trivium.pipelines.train.sample import facts

    read = writer.read(opening)
    writer.refuse_longer(read)
    for name, patches in zip(opening.names, read.patches, strict=True):
        if len(patches) >= LARGE:
            note(f"{name}: {len(patches):,} patches, {len(patches) // MERGE**2:,} tokens to read before the first word")
    if count > 1 and (sampling.temperature == 0 or sampling.top_k == 1):
        note(f"the likeliest token each time: all {count} samples are the same; leave --count out, or draw from more")
    samplings = [replace(sampling, seed=sampling.seed + number) for number in range(count)]
    drawn: list[Drawn] = []
    for first in range(0, count, TOGETHER):
        batch = samplings[first : first + TOGETHER]
        if count == 1 and not as_json:
            say(opening.prompt, raw=raw, end="")
            drawn.append(writer.write(read, sampling, lambda new: say(new, raw=raw, end="")))
            say("")
        else:
            drawn += writer.write_together([read] * len(batch), batch)
    if as_json:
        both = zip(drawn, samplings, strict=True)
        emit_json({"step": writer.step, "samples": [facts(one, its, opening.prompt) for one, its in both]})
        return
    if count > 1:
        for one, its in zip(drawn, samplings, strict=True):
            say(f"── seed {its.seed}\n{opening.prompt}{one.text}", raw=raw)
    _tell(writer.origin, drawn, sampling)


def _tell(origin: str, drawn: Sequence["Drawn"], sampling: "Sampling") -> None:
    """One line for people: how much was written, how fast, and why it ended."""
    from trivium.console import counted, note

    tokens = sum(one.tokens for one in drawn)
    seconds = sum(one.seconds for one in drawn[::TOGETHER])
    words = {"end": "the document ended", "stop": "stopped at --stop", "max_tokens": "stopped at --max-tokens"}
    ends = {how: sum(one.reason == reason for one in drawn) for reason, how in words.items()}
    how = ", ".join(how if len(drawn) == 1 else f"{count} × {how}" for how, count in ends.items() if count)
    rate = f"{tokens / seconds:.0f} tok/s" if seconds else "at once"
    note(f"{origin}: {counted(tokens, 'token')}, {rate}, temperature {sampling.temperature:g}, {how}")


def _read(path: Path) -> bytes:
    from trivium.errors import InputError

    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror})") from None


def _read_text(path: Path) -> str:
    from trivium.errors import InputError

    payload = sys.stdin.buffer.read() if str(path) == "-" else _read(path)
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is no UTF-8; give text in UTF-8") from None


def _held_out(
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
    table = Table("held-out code", "written after its picture", title=f"{corpus}, {writer.origin}", show_lines=True)
    for fact in facts:
        cells = (fact[key] if raw else printable(fact[key]) for key in ("truth", "written"))
        table.add_row(*map(escape, cells))
    out.print(table)
    if save is not None:
        note(f"pictures and drawings: {save}")
