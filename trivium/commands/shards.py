"""`trivium shards`: look into shard sets, prove them, compare them, tokenise them."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.console import emit_json, err, note, out

if TYPE_CHECKING:
    from trivium.data.shards import ShardSet
    from trivium.data.stage import Drop

Paths = Annotated[list[Path], typer.Argument(metavar="PATH…", help="Shard sets, or folders that hold some.")]
AsJson = Annotated[bool, typer.Option("--json", help="Facts as JSON on standard output.")]


def ls(
    paths: Paths,
    records: Annotated[bool, typer.Option("--records", help="List the records, not the sets.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Records to list a set.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Lists the sets below PATH, or their records."""
    from trivium.commands import shards_view as view
    from trivium.data.shards.summary import summarize

    sets = _open(paths)
    if records:
        rows = [row for shards in sets for row in _rows(shards, limit)]
        if as_json:
            emit_json(rows)
        else:
            out.print(view.table("", list(rows[0]) if rows else ["no records"], [list(r.values()) for r in rows]))
        return
    facts = [summarize(shards) for shards in sets]
    if as_json:
        emit_json(facts)
    else:
        out.print(view.sets_table(facts))


def _rows(shards: "ShardSet", limit: int) -> list[dict[str, Any]]:
    entries = shards.entries
    return [
        {
            "id": str(entries.id[number]),
            "source_id": str(entries.source_id[number]),
            "language": str(entries.language[number]),
            "licence": str(entries.license[number]),
            "tokens": int(entries.tokens[number]),
            "patches": int(entries.patches[number]),
            "bytes": int(entries.size[number]),
        }
        for number in range(min(limit, len(shards)))
    ]


def _open(paths: list[Path]) -> list["ShardSet"]:
    from trivium.data.shards import ShardSet
    from trivium.data.shards.summary import find_sets

    return [ShardSet.open(folder) for folder in find_sets(paths)]


def stat(paths: Paths, as_json: AsJson = False) -> None:
    """Counts by bucket, licence and language, from manifests and indexes alone."""
    import msgspec

    from trivium.commands import shards_view as view
    from trivium.data.shards.summary import summarize

    sets = _open(paths)
    facts = [summarize(shards) for shards in sets]
    total = {
        name: sum(f[name] for f in facts) for name in ("records", "tokens", "patches", "images", "bytes", "rejects")
    }
    if as_json:
        for one, shards in zip(facts, sets, strict=True):
            one["funnel"] = msgspec.to_builtins(shards.manifest.funnel)
        emit_json({"sets": facts, "total": total})
        return
    for one, shards in zip(facts, sets, strict=True):
        out.print(view.stat_view(one, shards.manifest.funnel))
    if len(facts) > 1:
        out.print(view.sets_table(facts))


def show(
    path: Annotated[Path, typer.Argument(help="A shard set.")],
    key: Annotated[str, typer.Argument(metavar="ID", help="An id or source_id, or the beginning of one; rejects too.")],
    save: Annotated[Path | None, typer.Option("--save", metavar="DIR", help="Write its members there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Shows one record with its pictures and its lineage, or why it was rejected."""
    import msgspec

    from trivium.commands import shards_view as view
    from trivium.data.shards import ShardSet
    from trivium.errors import ShardError

    shards = ShardSet.open(path)
    try:
        number = shards.find(key)
    except ShardError:
        drop = _reject(shards, key)
        if drop is None:
            raise
        if as_json:
            emit_json({"rejected": msgspec.to_builtins(drop)})
        else:
            out.print(view.reject_view(drop))
        return
    document, media = shards.read(number)
    entries = shards.entries
    facts = {
        "shard": shards.manifest.shards[entries.shard[number]].name,
        "offset": int(entries.offset[number]),
        "size": int(entries.size[number]),
        "members": shards.members(number),
        "tokens": int(entries.tokens[number]),
        "patches": int(entries.patches[number]),
    }
    if save is not None:
        _save(shards, number, save)
    if as_json:
        emit_json({**facts, "document": msgspec.to_builtins(document)})
    else:
        out.print(view.record_view(facts, document, media, out.width if out.color_system else 0))


def _reject(shards: "ShardSet", key: str) -> "Drop | None":
    found = [drop for drop in shards.rejects() if key and drop.source_id.startswith(key)]
    return found[0] if len({drop.source_id for drop in found}) == 1 else None


def _save(shards: "ShardSet", number: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    key = shards.entries.id[number]
    for name in shards.members(number):
        (folder / f"{key}.{name}").write_bytes(shards.read_media(number, name))
    note(f"saved {len(shards.members(number))} members of {key} in {folder}")


def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Sets or tars.")], as_json: AsJson = False
) -> None:
    """Reads every byte; exits 1 and names each fault when something is wrong."""
    from trivium.data.shards import names
    from trivium.data.shards.summary import find_sets
    from trivium.data.shards.verify import verify as prove

    targets: list[Path] = []
    for path in paths:
        nested = path.is_dir() and not (path / names.MANIFEST).exists() and any(path.rglob(names.MANIFEST))
        targets += find_sets([path]) if nested else [path]
    reports = [(target, prove(target)) for target in targets]
    if as_json:
        emit_json([{"path": str(target), **report.facts()} for target, report in reports])
    else:
        for target, report in reports:
            for problem in report.problems:
                out.print("[red]fault:[/] ", end="")
                out.print(problem, markup=False, highlight=False, soft_wrap=True)
            verdict = f"{len(report.problems)} faults" if report.problems else "whole"
            out.print(
                f"{target}: {verdict}; {report.shards} shards, {report.records:,} records, {report.tokens:,} tokens, "
                f"{report.bytes:,} bytes read",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    if any(report.problems for _, report in reports):
        raise typer.Exit(1)


def diff(a: Annotated[Path, typer.Argument()], b: Annotated[Path, typer.Argument()], as_json: AsJson = False) -> None:
    """Compares two builds by source_id; exits 0 when every byte is the same, 1 when not."""
    from trivium.commands import shards_view as view
    from trivium.data.shards.diff import diff as compare

    found = compare(a, b)
    if as_json:
        emit_json(dataclasses.asdict(found))
    else:
        out.print(view.diff_view(found))
    if not found.identical:
        raise typer.Exit(1)


def gallery(
    paths: Paths,
    target: Annotated[Path, typer.Option("--out", metavar="PAGE.html", help="The page to write.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Records, and rejects, to show a set.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Which records are drawn when there are more.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Writes one self-contained HTML page to browse records, lineage and rejects."""
    from trivium.pipelines.gallery import write_gallery

    facts = write_gallery(_open(paths), target, limit=limit, seed=seed)
    if as_json:
        emit_json({"page": str(target), **dataclasses.asdict(facts)})
        return
    note(f"{target}: {facts.records} records, {facts.rejects} rejects, {facts.bytes:,} bytes; open it in a browser")


def tokenize(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A set, or a folder of sets.")],
    tokenizer: Annotated[Path, typer.Option("--tokenizer", help="tokenizer.json, its folder, or a rank file.")],
    target: Annotated[Path, typer.Option("--out", metavar="OUT", help="Folder of the tokenised set or sets.")],
    beam: Annotated[list[str] | None, typer.Argument(metavar="[-- BEAM OPTIONS]", help="Any Beam options.")] = None,
    buckets: Annotated[str, typer.Option("--buckets", help="Bounds in tokens, rising.")] = "8k,64k,256k,1m",
    patch_limit: Annotated[int, typer.Option("--patch-limit", help="Patches a picture, at most.")] = 65536,
    side_limit: Annotated[int, typer.Option("--side-limit", help="Patches a side of a picture, at most.")] = 512,
    target_bytes: Annotated[int, typer.Option("--target-bytes", min=1, help="Bytes a shard, about.")] = 256 << 20,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show Beam's own log.")] = False,
    as_json: AsJson = False,
) -> None:
    """Adds tokens to a set and sorts its records into length buckets; a Beam job."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from trivium.data.config import from_mapping
    from trivium.data.patches import PictureRules
    from trivium.data.shards import ShardSet, parse_buckets
    from trivium.data.shards.summary import find_sets, summarize
    from trivium.pipelines.beam import parse_options, quiet

    limits = {"patch_limit": patch_limit, "side_limit": side_limit}
    rules = from_mapping(limits, PictureRules, name="--patch-limit, --side-limit")
    bounds = parse_buckets(buckets)
    options = parse_options(beam or [], verbose=verbose)
    with quiet(verbose):
        from trivium.pipelines.tokenize_job import tokenize_set
    done = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        for folder in find_sets([source]):
            task = bar.add_task(folder.name, total=None)
            place = target / folder.relative_to(source)

            def tell(name: str, finished: int, total: int, task: Any = task, label: str = folder.name) -> None:
                bar.update(task, description=f"{label}: {name}", completed=finished, total=total)

            tokenize_set(
                folder,
                place,
                tokenizer,
                options,
                rules=rules,
                buckets=bounds,
                target_bytes=target_bytes,
                progress=tell,
            )
            done.append(summarize(ShardSet.open(place)))
    if as_json:
        emit_json(done)
        return
    from trivium.commands import shards_view as view

    out.print(view.sets_table(done))


def register(app: typer.Typer) -> None:
    """Adds `trivium shards …` to the command line."""
    group = typer.Typer(
        name="shards", help="Look into shard sets, prove, compare and tokenise them.", no_args_is_help=True
    )
    for command in (ls, stat, show, verify, diff, gallery, tokenize):
        group.command()(command)
    app.add_typer(group)
