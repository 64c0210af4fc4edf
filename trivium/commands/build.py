"""`trivium build`: one corpus recipe to shards, on any Beam runner."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from trivium.console import counted, emit_json, err, note, out

SHOWN = 3  # reasons of a stage; the report has all

if TYPE_CHECKING:
    from trivium.pipelines.corpora.driver import Built
    from trivium.pipelines.corpora.recipe import Recipe
    from trivium.pipelines.corpora.work import Progress


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
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="The first N items of each source; the manifest says so."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="STAGE", help="Stop after a stage: a report and sample texts, no shards yet."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, with estimates by a sample; write nothing.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew where an earlier run stopped.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show Beam's own log.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Builds one corpus: read, extract, filter, de-duplicate, write shards, a manifest, the rejects and a report.

    Runs on Beam's embedded runner unless told otherwise. Two processes: -- --direct_num_workers=2
    --direct_running_mode=multi_processing. A cluster: -- --runner=FlinkRunner … A run that was stopped goes on behind
    its last finished job when the same command is given again.
    """
    from trivium.pipelines.beam import parse_options
    from trivium.pipelines.corpora.driver import run
    from trivium.pipelines.corpora.extent import Extent
    from trivium.pipelines.corpora.recipe import load_recipe

    config = load_recipe(recipe, tuple(overrides or ()))
    options = parse_options(beam or [], verbose=verbose)
    extent = Extent(limit=limit, until=until, fresh=fresh, shuffle_seed=shuffle, command=shown_command())
    if dry_run:
        from trivium.commands.build_dry import print_survey
        from trivium.pipelines.beam import quiet
        from trivium.pipelines.corpora.dry import survey

        with quiet(verbose):
            facts = survey(config, recipe.parent, folder, extent, options.workers)
        emit_json(facts) if as_json else print_survey(facts, folder)
        return
    _say_replaced(folder, config)
    with _shown(not as_json and not verbose) as progress:
        built = run(config, recipe.parent, folder, options, progress=progress, extent=extent, tell=note)
    if as_json:
        emit_json(_facts(built, folder))
    else:
        print_report(built.facts)
        note(_left(built, folder))


def shown_command() -> str:
    """The command as it was given; values of options that name secrets are left out, since the report is passed on."""
    import re
    import shlex
    import sys

    words = shlex.join(["trivium", *sys.argv[1:]])
    return re.sub(r"(?i)(--\S*(?:key|secret|token|password)\S*?[= ])\S+", r"\1…", words)


def _left(built: "Built", folder: Path) -> str:
    """What lies where, in one line."""
    total = built.facts["totals"]
    if built.manifest is None:
        return (
            f"stopped after {built.facts['until']}: {counted(total['records'], 'record')}; look at {built.page} and "
            f"{built.page.parent / 'sample.jsonl'}; without --until the next run goes on from here"
        )
    part = f"a part of the corpus ({built.facts['limit']:,} items of each source): " if built.facts["limit"] else ""
    return (
        f"{part}{counted(total['records'], 'record')}, {total['shard_bytes'] / 1e6:,.1f} MB, "
        f"{counted(total['shards'], 'shard')} in {folder}; {counted(total['rejects'], 'reject')} with reasons in "
        f"{folder}/rejects; report: {built.page}"
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


def _facts(built: "Built", folder: Path) -> dict[str, Any]:
    """What the report holds, where it and the set lie, and what of the manifest scripts ask for first."""
    manifest = built.manifest
    facts: dict[str, Any] = {"out": str(folder), "page": str(built.page), **built.facts}
    if manifest is not None:
        facts |= {
            "records": manifest.records,
            "bytes": sum(shard.bytes for shard in manifest.shards),
            "shards": len(manifest.shards),
            "rejects": manifest.rejects,
            "funnel": manifest.funnel,
        }
    return facts


def print_report(facts: dict[str, Any]) -> None:
    """The funnel with what each stage took, as a table on standard output."""
    times = {row["stage"]: row for row in facts["run"]["stages"]}
    table = Table(box=SIMPLE, title=f"corpus {facts['corpus']}", title_justify="left", header_style="bold")
    table.add_column("stage", no_wrap=True)
    for name in ("in", "kept", "refused", "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("most of them")
    for stage in facts["stages"]:
        took = times.get(stage["name"])
        table.add_row(
            stage["name"],
            f"{stage['in']:,}",
            f"{stage['kept']:,}",
            f"{stage['dropped']:,}",
            f"{took['cpu_seconds']:,.1f}" if took else "",
            "\n".join(f"{reason['reason']} {reason['count']:,}" for reason in stage["reasons"][:SHOWN]),
        )
    out.print(table)


@contextmanager
def _shown(show: bool) -> Iterator["Progress"]:
    """A line on standard error for each job: its stages, how many items are done, how fast, and how many refused."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        BarColumn(16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", justify="right"),
        TextColumn("{task.fields[refused]}", justify="right"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, disable=not show, expand=True) as display:
        tasks: dict[str, Any] = {}

        def progress(stage: str, done: int, total: int | None, dropped: int) -> None:
            if stage not in tasks:
                tasks[stage] = display.add_task(stage, total=total, rate="", refused="")
            task = display.tasks[display.task_ids.index(tasks[stage])]
            rate = f"{done / task.elapsed:,.0f}/s" if task.elapsed and done else ""
            refused = f"{dropped:,} refused" if dropped else ""
            display.update(tasks[stage], completed=done, total=total, rate=rate, refused=refused)

        yield progress
        for task in tasks.values():
            display.stop_task(task)


def register(app: typer.Typer) -> None:
    """Adds this module's commands to the command line."""
    app.command("build")(build)
