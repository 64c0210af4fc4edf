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

    Exit code 1 when one of them can't be used.
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


def _print(facts: list[dict[str, object]], as_json: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from trivium.console import emit_json, out

    if as_json:
        emit_json(facts)
        return
    table = Table("record", "tokens", "pictures", "patches", "what comes of it")
    for fact in facts:
        said = f"sha256 {str(fact['digest'])[:16]}…" if fact["usable"] else f"{fact['reason']}: {fact['detail']}"
        counts = [str(fact.get(name, "")) for name in ("tokens", "pictures", "patches")]
        table.add_row(escape(str(fact["key"])), *counts, escape(said))
    out.print(table)
