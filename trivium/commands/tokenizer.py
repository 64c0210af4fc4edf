"""`trivium tokenizer`: train one on shards, look at one, encode with one."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from trivium.console import counted, emit_json, note, out

File = Annotated[Path, typer.Argument(metavar="TOKENIZER", help="tokenizer.json, its folder, or a tiktoken rank file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def train(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARDS…", help="Shard sets, or folders that hold some.")],
    vocab: Annotated[int, typer.Option("--vocab", help="Ids in all: 256 bytes, merges, 15 specials.")],
    target: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .json file, or a folder for one.")],
    as_json: AsJson = False,
) -> None:
    """Trains byte-level BPE; the same shards give the same file, byte for byte."""

    from trivium.data.shards import ShardSet
    from trivium.data.shards.summary import find_sets
    from trivium.data.tokenizers.training import train as learn

    sets = [ShardSet.open(folder) for folder in find_sets(shards)]
    note(f"training on {counted(sum(map(len, sets)), 'record')} of {counted(len(sets), 'set')} …")
    info = learn(sets, vocab, target)
    if info.vocab < vocab:
        note(f"the text holds only {counted(info.merges, 'pair')} worth merging: {info.vocab} ids instead of {vocab}")
    if as_json:
        emit_json(info)
        return
    made = f"{counted(info.vocab, 'id')}, {counted(info.merges, 'merge')}, from {counted(info.documents, 'text')}"
    out.print(f"{target}: {made} of", end=" ")
    out.print(f"{info.characters:,} characters; sha256 {info.digest}", soft_wrap=True, highlight=False)


def show(file: File, as_json: AsJson = False) -> None:
    """Size, digest and special tokens."""
    import msgspec

    from trivium.data.tokenizers import SPECIALS, Tokenizer

    tokenizer = Tokenizer.load(file)
    facts = {
        "path": str(file),
        "kind": tokenizer.kind,
        "digest": tokenizer.digest,
        "vocabulary": msgspec.to_builtins(tokenizer.vocabulary),
        "specials": {name: tokenizer.specials[name] for name in SPECIALS},
    }
    if as_json:
        emit_json(facts)
        return
    from trivium.commands.shards_view import table

    out.print(f"{file}: {tokenizer.kind}, {tokenizer.vocab_size:,} ids, sha256 {tokenizer.digest}", soft_wrap=True)
    out.print(table("", ["special", "id"], [[name, token] for name, token in facts["specials"].items()]))


def encode(
    file: File,
    text: Annotated[str | None, typer.Argument(help="Text; left out, standard input is read.")] = None,
    as_json: AsJson = False,
) -> None:
    """The tokens of a text, one a line: id and piece."""
    from trivium.data.tokenizers import Tokenizer

    tokenizer = Tokenizer.load(file)
    ids = tokenizer.encode(sys.stdin.buffer.read().decode("utf-8", "replace") if text is None else text)
    if as_json:
        emit_json({"ids": ids, "pieces": [tokenizer.decode([token]) for token in ids]})
        return
    for token in ids:
        out.print(f"{token:>7}  {tokenizer.pieces[token]!r}", markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Adds `trivium tokenizer …` to the command line."""
    group = typer.Typer(name="tokenizer", help="Train, show and try tokenizers.", no_args_is_help=True)
    for command in (train, show, encode):
        group.command()(command)
    app.add_typer(group)
