"""`trivium replay`."""

from pathlib import Path
from typing import Annotated

import typer

from trivium.commands.train import AsJson, RunFile, Set

Keys = Annotated[list[str] | None, typer.Argument(help="Records as CORPUS/ID, the id whole or its beginning.")]
From = Annotated[Path | None, typer.Option("--from", help="A run's skipped.jsonl: every record that it names.")]


def register(app: typer.Typer) -> None:
    """Adds this module's command to the command line."""
    app.command("replay")(replay)


def replay(run: RunFile, keys: Keys = None, source: From = None, changes: Set = None, as_json: AsJson = False) -> None:
    """Loads single records as training does, by their keys: what comes of them, or why a run leaves them out.

    Exit code 1 when one of them can't be used or names no record; the others are loaded all the same.
    """
    from trivium.errors import UsageError
    from trivium.pipelines.train.loading.replay import keys_of
    from trivium.pipelines.train.loading.replay import replay as replay_them

    wanted = [*(keys or ()), *(keys_of(source) if source is not None else ())]
    if not wanted and source is None:
        raise UsageError("no record named; give keys CORPUS/ID, or --from RUN/skipped.jsonl")
    facts = replay_them(run, wanted, changes or ())
    _print(facts, as_json)
    if not all(fact["usable"] for fact in facts):
        raise typer.Exit(1)


def _counts(fact: dict[str, object]) -> list[str]:
    """What a usable record holds; clips and their frames where it has some, pictures unless it has clips alone."""
    from trivium.console import counted

    many = {name: int(str(fact.get(name, 0))) for name in ("tokens", "pictures", "clips", "frames", "patches")}
    told = [counted(many["tokens"], "token")]
    if many["pictures"] or not many["clips"]:
        told.append(counted(many["pictures"], "picture"))
    if many["clips"]:
        told.append(f"{counted(many['clips'], 'clip')} of {counted(many['frames'], 'frame')}")
    return [*told, counted(many["patches"], "patch", "patches")]


def _print(facts: list[dict[str, object]], as_json: bool) -> None:
    """One line a record, never folded: a key that is cut can't be given again."""
    from rich.markup import escape

    from trivium.console import emit_json, note, out

    if as_json:
        emit_json(facts)
        return
    for fact in facts:
        if fact["usable"]:
            counts = ", ".join(_counts(fact))
            said = f"[green]usable[/]: {counts}, sha256 {fact['digest']}"
        else:
            said = f"[red]can't be used[/] ({fact['reason']}): {escape(str(fact['detail']))}"
        out.print(f"{escape(str(fact['key']))}  {said}", soft_wrap=True, highlight=False)
    bad = sum(not fact["usable"] for fact in facts)
    if bad:
        note(f"{bad} of {len(facts)} can't be used")
