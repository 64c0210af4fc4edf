"""`trivium build`: one corpus recipe to shards, on any Beam runner."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from trivium.commands.build_progress import shown
from trivium.commands.build_stop import stoppable
from trivium.console import counted, emit_json, note, out, size

SHOWN = 3  # reasons of a stage; the report has all

if TYPE_CHECKING:
    from trivium.pipelines.beam import BeamOptions
    from trivium.pipelines.corpora.driver import Built
    from trivium.pipelines.corpora.extent import Extent
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
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-isolation", help="Run strangers' code without namespaces, at your own risk.")
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show Beam's own log.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Builds one corpus: read, extract, filter, de-duplicate, write shards, a manifest, the rejects and a report.

    Runs on Beam's embedded runner unless told otherwise. Two processes: -- --direct_num_workers=2
    --direct_running_mode=multi_processing. A cluster: -- --runner=FlinkRunner … A run that was stopped goes on behind
    its last finished job when the same command is given again.
    """
    with stoppable(folder, writes=not dry_run):
        from trivium.pipelines.beam import parse_options
        from trivium.pipelines.corpora.extent import Extent
        from trivium.pipelines.corpora.recipe import load_recipe

        config = load_recipe(recipe, tuple(overrides or ()))
        options = parse_options(beam or [], verbose=verbose)
        extent = Extent(
            limit=limit, until=until, fresh=fresh, shuffle_seed=shuffle, command=shown_command(), unsafe=unsafe
        )
        if dry_run:
            from trivium.commands.build_dry import try_dry

            try_dry(config, recipe.parent, folder, extent, options.workers, verbose, as_json)
            return
        built = _run(config, recipe.parent, folder, options, extent, show=not as_json and not verbose)
    if as_json:
        emit_json(_facts(built, folder))
    else:
        print_report(built.facts)
        note(_left(built, folder))
        _say_tombstones(folder)


def shown_command() -> str:
    """The command as it was given; values of options that name secrets are left out, since the report is passed on."""
    import re
    import shlex
    import sys

    words = shlex.join(["trivium", *sys.argv[1:]])
    return re.sub(r"(?i)(--\S*(?:key|secret|token|password)\S*?[= ])\S+", r"\1…", words)


def _run(
    config: "Recipe", here: Path, folder: Path, options: "BeamOptions", extent: "Extent", *, show: bool
) -> "Built":
    """The build, its progress shown."""
    from trivium.pipelines.corpora.driver import run

    extent.check(config, folder)
    _say_replaced(folder, config)
    with shown(show) as progress:
        return run(config, here, folder, options, progress=progress, extent=extent, tell=note)


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
        f"{part}{counted(total['records'], 'record')}, {size(total['shard_bytes'])}, "
        f"{counted(total['shards'], 'shard')} in {folder}; {counted(total['rejects'], 'reject')} with reasons in "
        f"{folder}/rejects{_failed(built.facts)}; report: {built.page}"
    )


def _say_tombstones(folder: Path) -> None:
    """A line for each earlier set that lost records to this one, and how to be rid of them."""
    from trivium.data.dedup.kept import read_tombstones

    for earlier, lost in sorted(Counter(one.set for one in read_tombstones(folder)).items()):
        note(
            f"{counted(lost, 'record')} of {earlier} gave way to this set's: `trivium shards tombstones {folder}` lists"
            f" them, `trivium shards drop {earlier} --tombstones {folder} --out LEFT` makes that set without them"
        )


def _failed(facts: dict[str, Any]) -> str:
    """How many of the rejects are errors, which the recipe's error_budget forgave."""
    failed = sum(reason["errors"] for stage in facts["stages"] for reason in stage["reasons"])
    return f", {failed:,} of them errors that error_budget allows" if failed else ""


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
    table = Table(
        box=SIMPLE, title=f"corpus {facts['corpus']}: records by stage", title_justify="left", header_style="bold"
    )
    table.add_column("stage", overflow="fold")  # names that --set takes: never cut off
    for name in ("in", "kept", "refused", "work s"):  # of all workers, guarded children too
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("most of them", overflow="fold")
    for stage in facts["stages"]:
        took = times.get(stage["name"])
        table.add_row(
            stage["name"],
            f"{stage['in']:,}",
            f"{stage['kept']:,}",
            f"{stage['dropped']:,}",
            f"{took['seconds']:,.1f}" if took else "",
            "\n".join(_reasons(stage["reasons"])),
        )
    out.print(table)


def _reasons(reasons: list[dict[str, Any]]) -> list[str]:
    """The commonest with their counts, and how many others there are."""
    lines = [f"{reason['reason']} {reason['count']:,}" for reason in reasons[:SHOWN]]
    left = reasons[SHOWN:]
    more = sum(reason["count"] for reason in left)
    return [*lines, f"{len(left)} more: {more:,} (in the report)"] if left else lines


def register(app: typer.Typer) -> None:
    """Adds this module's commands to the command line."""
    app.command("build")(build)
