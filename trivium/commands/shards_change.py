"""`trivium shards verify`, `index`, `diff` and `drop`: whole sets proven, mended, compared, and made smaller."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trivium.commands.shards_damage import complain, name, one_set
from trivium.commands.shards_tombstones import laid_on
from trivium.console import counted, emit_json, note, out, progress

if TYPE_CHECKING:
    from trivium.data.shards import Place
    from trivium.data.shards.takedown import Dropped, Wanted

Set = Annotated[str, typer.Argument(help="A shard set; a path or an address.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def verify(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Sets, folders of sets, or tars.")],
    as_json: AsJson = False,
) -> None:
    """Reads every byte; exits 1 and names each fault when something is wrong."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    from trivium.data.shards import Place, place
    from trivium.data.shards.summary import find_sets
    from trivium.data.shards.verify import verify as prove
    from trivium.errors import InputError

    targets: list[Place] = []
    for path in map(place, paths):
        single = path.name.endswith(".tar") or (isinstance(path, Path) and not path.is_dir())
        try:
            targets += [path] if single else find_sets([path])
        except InputError:
            if not isinstance(path, Path):
                raise
            targets.append(path)  # loose tars, as likely as not
    reports = []
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with progress(*columns) as bar:
        for target in targets:
            task = bar.add_task(target.name, total=None)
            reports.append((target, prove(target, lambda done, task=task: bar.advance(task, done))))  # type: ignore[misc]
    if as_json:
        emit_json([{"path": str(target), **report.facts()} for target, report in reports])
    else:
        for target, report in reports:
            for problem in report.problems:
                out.print("[red]fault:[/] ", end="")
                out.print(problem, markup=False, highlight=False, soft_wrap=True)
            verdict = counted(len(report.problems), "fault") if report.problems else "whole"
            sums = (counted(report.shards, "shard"), counted(report.records, "record"), counted(report.tokens, "token"))
            out.print(
                f"{target}: {verdict}; {', '.join(sums)}, {counted(report.bytes, 'byte')} read",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    if any(report.problems for _, report in reports):
        raise typer.Exit(1)


def diff(
    a: Set,
    b: Set,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Changes to list of each kind; all are counted.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Compares two builds by source_id; exits 0 when every byte is the same, 1 when not."""
    from trivium.commands import shards_view as view
    from trivium.data.shards.diff import diff as compare

    found = compare(one_set(a), one_set(b), limit=limit)
    if as_json:
        emit_json(dataclasses.asdict(found))
    else:
        out.print(view.diff_view(found))
    name(found.damaged)
    if not found.identical:
        raise typer.Exit(1)


def index(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Shard sets, or folders that hold some.")],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make those that are missing or differ again from their tars.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Checks every index against its manifest; exits 1 when one is missing or differs and was not rebuilt."""
    from trivium.commands import shards_view as view
    from trivium.data.shards.rebuild import check_indexes
    from trivium.data.shards.summary import find_sets
    from trivium.errors import ShardError

    checked, faults = [], []
    for folder in find_sets(paths):
        try:
            checked += check_indexes(folder, rebuild=rebuild)
        except ShardError as error:  # no manifest to check against
            faults.append(str(error))
    if as_json:
        facts = [{"path": str(c.path), "state": c.state, "was": c.fault, "records": c.records} for c in checked]
        emit_json({"indexes": facts, "damaged": [*faults, *(one.left for one in checked if one.left)]})
    else:
        out.print(view.indexes_view(checked))
    complain([*faults, *(one.left for one in checked if one.left)])


def drop(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A shard set.")],
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why; kept in the manifest and in rejects/. Must be given.")
    ] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", help="An id or source_id, or a pattern with *.")] = None,
    sources: Annotated[
        list[str] | None, typer.Option("--source", help="A source's name or an address, or a pattern.")
    ] = None,
    licences: Annotated[list[str] | None, typer.Option("--license", help="A licence, or a pattern with *.")] = None,
    tombstones: Annotated[
        Path | None,
        typer.Option("--tombstones", metavar="NEW", help="All that gave way to a set built `against` this one."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Leave PATH as it is: write what stays as a new set.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="Who decided it; by default your login name.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")] = False,
    among: Annotated[
        list[str] | None,
        typer.Option("--among", metavar="PATH", help="Sets that hold the parents of derived records; default: beside."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Takes records out of a set for good; rewrites only the shards that hold them. Exits 1 when nothing fits.

    After an incremental build: trivium shards drop OLD --tombstones NEW --out LEFT. LEFT and NEW together are what one
    build of both would have kept.
    """
    import getpass

    from trivium.data.shards.relatives import beside
    from trivium.data.shards.summary import find_sets
    from trivium.data.shards.takedown import Wanted

    wanted = Wanted(tuple(ids or ()), tuple(sources or ()), tuple(licences or ()))
    if tombstones is not None:
        wanted = dataclasses.replace(wanted, exactly=laid_on(path, tombstones))
    why = _why(reason, tombstones)
    wanted.check()
    parents = beside(Path(path)) if among is None else find_sets(among)
    found = _take_down(one_set(path), wanted, why, by or getpass.getuser(), parents, dry_run, target)
    _print_dropped(found, dry_run, as_json)
    if target is not None and found.ids and not dry_run:
        left = counted(found.manifest.records, "record")
        note(f"{target}: {left} left, every byte read and whole; {path} is as it was")
    elif target is not None and not dry_run:
        note(f"{target} was not written: nothing of {path} fits")
    for pattern in found.unmatched:
        elsewhere = "; is it of another set, of which some here were made? Name that with --among"
        note(f"{pattern!r} fits no record of {path}{elsewhere if pattern in wanted.ids else ''}")
    complain(found.damaged)
    if not found.ids:
        raise typer.Exit(1)


def _why(reason: str | None, tombstones: Path | None) -> str:
    """What the set will say of the takedown; tombstones say why themselves. Raises UsageError when nobody does."""
    from trivium.errors import UsageError

    if tombstones is not None:
        return reason or f"gave way to records of {tombstones}"
    if reason is None:
        raise UsageError("--reason is missing: say why, since it is kept in the set; such as --reason 'author asked'")
    return reason


def _take_down(
    where: Path | str,
    wanted: "Wanted",
    why: str,
    by: str,
    among: Sequence["Place"],
    dry_run: bool,
    target: Path | None,
) -> "Dropped":
    """The takedown, its progress shown."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

    from trivium.data.shards.takedown import drop as take_down

    with progress(TextColumn("rewriting"), BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task("", total=None)
        return take_down(
            where,
            wanted,
            reason=why,
            by=by,
            among=among,
            dry_run=dry_run,
            out=target,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def _print_dropped(found: "Dropped", dry_run: bool, as_json: bool) -> None:
    from trivium.commands import shards_view as view

    if as_json:
        facts = {"dry_run": dry_run, "records": len(found.ids), "tokens": found.tokens, "shards": list(found.shards)}
        emit_json({**facts, "ids": list(found.ids), "unmatched": list(found.unmatched), "digest": found.digest})
    else:
        out.print(view.drop_view(found, dry_run))
