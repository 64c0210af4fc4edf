"""`trivium build`: one corpus recipe to shards, on any Beam runner."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from trivium.console import counted, emit_json, err, note, out

if TYPE_CHECKING:
    from trivium.data.shards import Manifest
    from trivium.pipelines.corpora.driver import Progress
    from trivium.pipelines.corpora.recipe import Recipe


def build(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE.yaml", help="The corpus recipe.")],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The shard set: new, or an earlier build.")],
    beam: Annotated[
        list[str] | None, typer.Argument(metavar="-- BEAM OPTIONS", help="Options for Beam, as they are.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A change, such as error_budget=0.1; repeatable."),
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option("--shuffle-input", metavar="SEED", help="Read in another order; the shards stay the same."),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show Beam's own log.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Builds one corpus: read, extract, filter, de-duplicate, write shards, a manifest and the rejects.

    Runs on Beam's embedded runner unless told otherwise. Two processes: -- --direct_num_workers=2
    --direct_running_mode=multi_processing. A cluster: -- --runner=FlinkRunner …
    """
    from trivium.pipelines.beam import parse_options
    from trivium.pipelines.corpora.driver import build as run
    from trivium.pipelines.corpora.recipe import load_recipe

    config = load_recipe(recipe, tuple(overrides or ()))
    options = parse_options(beam or [], verbose=verbose)
    _say_replaced(folder, config)
    with _shown(not as_json and not verbose) as progress:
        manifest = run(config, recipe.parent, folder, options, progress=progress, shuffle_seed=shuffle)
    facts = _facts(manifest, folder)
    if as_json:
        emit_json(facts)
    else:
        out.print(_table(manifest))
        size = sum(shard.bytes for shard in manifest.shards)
        note(
            f"{counted(manifest.records, 'record')}, {size / 1e6:,.1f} MB, {counted(len(manifest.shards), 'shard')} in "
            f"{folder}; {counted(manifest.rejects, 'reject')} with reasons in {folder}/rejects"
        )


def _say_replaced(folder: Path, config: "Recipe") -> None:
    """One line when a build of the same corpus by another recipe gives way; another corpus is refused by the build."""
    from trivium.data.config import digest
    from trivium.data.shards import names, read_manifest
    from trivium.errors import ShardError

    if not (folder / names.MANIFEST).is_file():
        return
    try:
        before, _ = read_manifest(folder)
    except ShardError:  # the build refuses such a folder
        return
    new = digest(config)
    if before.corpus == config.corpus and before.recipe != new:
        note(
            f"{folder}: the set there, {before.corpus} by recipe {before.recipe[:12]}…, is replaced by that of recipe "
            f"{new[:12]}… when the build is done"
        )


def _facts(manifest: "Manifest", folder: Path) -> dict[str, Any]:
    return {
        "out": str(folder),
        "corpus": manifest.corpus,
        "recipe": manifest.recipe,
        "records": manifest.records,
        "bytes": sum(shard.bytes for shard in manifest.shards),
        "shards": len(manifest.shards),
        "rejects": manifest.rejects,
        "licences": manifest.licences,
        "languages": manifest.languages,
        "funnel": manifest.funnel,
    }


def _table(manifest: "Manifest") -> Table:
    table = Table(title=f"corpus {manifest.corpus}", title_justify="left", header_style="bold")
    table.add_column("stage")
    for name in ("in", "kept", "dropped"):
        table.add_column(name, justify="right")
    table.add_column("reasons", overflow="fold")
    for stage in manifest.funnel:
        reasons = sorted(stage.dropped.items(), key=lambda pair: (-pair[1], pair[0]))
        table.add_row(
            stage.name,
            f"{stage.input:,}",
            f"{stage.kept:,}",
            f"{sum(stage.dropped.values()):,}",
            ", ".join(f"{reason} {count:,}" for reason, count in reasons),
        )
    return table


@contextmanager
def _shown(show: bool) -> Iterator["Progress"]:
    """A line on standard error for each job: its stages and how many items are done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=not show) as display:
        tasks: dict[str, Any] = {}

        def progress(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = display.add_task(stage, total=total)
            display.update(tasks[stage], completed=done, total=total)

        yield progress
        for task in tasks.values():
            display.stop_task(task)


def register(app: typer.Typer) -> None:
    """Adds this module's commands to the command line."""
    app.command("build")(build)
