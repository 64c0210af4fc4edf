"""`trivium quality`: train a measure of quality on labelled texts, look at one, score texts with one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.console import counted, emit_json, inline, note, out

if TYPE_CHECKING:
    from trivium.data.quality.labelled import Labelled
    from trivium.data.quality.model import HeldOut

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file of `trivium quality train`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def train(
    target: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where the model goes, half a megabyte or less.")
    ],
    labelled: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[LABELLED…]", help="JSONL files: `text`, `label`, perhaps `group` (a site) on each line."
        ),
    ] = None,
    good: Annotated[
        list[Path] | None,
        typer.Option("--positive", metavar="PATH", help="Good texts: a shard set, a folder of .txt or .md, JSONL."),
    ] = None,
    bad: Annotated[
        list[Path] | None, typer.Option("--negative", metavar="PATH", help="Texts of the other kind.")
    ] = None,
    label: Annotated[str, typer.Option("--label", help="The label in LABELLED that is to score high.")] = "positive",
    bits: Annotated[int, typer.Option(min=8, max=24, help="The table holds 2^BITS weights.")] = 18,
    ngrams: Annotated[int, typer.Option(min=1, max=4, help="The longest n-gram of tokens.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Learns to tell good texts from others; a fifth of them is held out and judged.

    Either from files whose lines carry labels: trivium quality train seeds.jsonl --label good --out quality.tq

    Or from paths that are good or not as a whole: trivium quality train --positive out/handbook --negative out/spam
    --out quality.tq

    Distinct texts are parted by hash, 70 % to learn from, 10 % to tune on, 20 % held out, and each part needs 5 of
    either kind: give about 100 of each. A text that stands twice counts once, one with both labels not at all.
    """
    from trivium.data.quality.features import FeatureSpec
    from trivium.data.quality.training import train as learn

    seeds = _seeds(labelled or [], good or [], bad or [], label)
    note(f"learning from {counted(len(seeds), 'text')} …")
    model = learn(seeds, label, target, FeatureSpec(bits=bits, ngrams=ngrams))
    if as_json:
        emit_json({"path": str(target), "digest": model.digest, "header": model.header})
        return
    out.print(f"{target}: {target.stat().st_size:,} bytes, sha256 {model.digest}", soft_wrap=True, highlight=False)
    _print_held_out(model.header.held_out, label)
    used = sum(model.header.texts.values())
    double = len(seeds) - used - model.header.contradicted
    if double or model.header.contradicted:
        note(
            f"learned from {counted(used, 'distinct text')}: {double:,} were empty or stood there before, and "
            f"{counted(model.header.contradicted, 'text')} with both labels left out"
        )


def _seeds(files: list[Path], good: list[Path], bad: list[Path], label: str) -> "list[Labelled]":
    """All texts to learn from, each with its label. Raises UsageError where one kind of them alone is given."""
    from trivium.data.quality.labelled import NEGATIVE, labelled, texts
    from trivium.errors import UsageError

    if not (files or (good and bad)):
        half = "only --positive is given" if good else "only --negative is given" if bad else "nothing to learn from"
        raise UsageError(
            f"{half}; give LABELLED files (lines of text and label), or both --positive PATH and --negative PATH"
        )
    seeds = list(labelled(files))
    seeds += [(text, label, "") for path in good for text in texts(path)]
    other = NEGATIVE if label != NEGATIVE else f"not {label}"
    return seeds + [(text, other, "") for path in bad for text in texts(path)]


def show(model_file: ModelFile, as_json: AsJson = False) -> None:
    """What a model learned from, and how it did on held-out texts."""
    from trivium.data.quality.model import read_model

    model = read_model(model_file)
    header = model.header
    if as_json:
        emit_json({"path": str(model_file), "digest": model.digest, "header": header})
        return
    learned = ", ".join(f"{count:,} {label}" for label, count in header.texts.items())
    out.print(f"{model_file}: {learned}; sha256 {model.digest}", soft_wrap=True, highlight=False)
    _print_held_out(header.held_out, header.positive)


def score(
    model_file: ModelFile,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH…]", help="Text files, JSONL, folders, shard sets; else stdin.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The score of each text, one a line: 1 is like the good ones that the model learned from."""
    from trivium.data.quality.labelled import named_texts
    from trivium.data.quality.model import read_model

    model = read_model(model_file)
    found: list[dict[str, Any]]
    if paths:
        found = [
            {"path": str(path), "text": number, "name": name, "score": model.score(text)}
            for path in paths
            for number, (name, text) in enumerate(named_texts(path))
        ]
    else:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        found = [{"path": "-", "text": 0, "name": "-", "score": model.score(text)}]
    if as_json:
        emit_json({"model": model.digest, "scores": found})
        return
    for row in found:
        out.print(f"{row['score']:.4f}  {inline(row['name'])}", markup=False, highlight=False, soft_wrap=True)


def _print_held_out(found: "HeldOut", label: str) -> None:
    from trivium.commands.shards_view import table

    facts = f"AUC {found.auc:.4f}, average precision {found.average_precision:.4f}, Brier {found.brier:.4f}, "
    out.print(
        f"held out: {found.positive:,} {label}, {found.negative:,} others; {facts}calibration error {found.error:.4f}",
        soft_wrap=True,
        highlight=False,
    )
    rows = [
        [f"{row.threshold:g}", f"{row.precision:.3f}", f"{row.recall:.3f}", f"{row.kept:.1%}"] for row in found.rows
    ]
    out.print(table("", ["at least", "precision", "recall", "kept of all"], rows))


def register(app: typer.Typer) -> None:
    """Adds `trivium quality …` to the command line."""
    group = typer.Typer(name="quality", help="Train, show and apply measures of quality.", no_args_is_help=True)
    for command in (train, show, score):
        group.command()(command)
    app.add_typer(group)
