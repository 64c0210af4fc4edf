"""`trivium shards`: look into shard sets, prove them, compare them, tokenise them."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.commands import shards_change, shards_find, shards_records, shards_redraw, shards_tombstones
from trivium.commands.shards_damage import complain
from trivium.console import counted, emit_json, note, out, progress
from trivium.errors import UsageError

if TYPE_CHECKING:
    from trivium.data.patches import PictureRules
    from trivium.data.shards import Place
    from trivium.data.shards.summary import Head

Paths = Annotated[
    list[str],
    typer.Argument(metavar="PATH…", help="Shard sets, or folders that hold some; local or s3://, gs://, http://."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]
_CLIP_LIMITS = "A limit of a clip: fps=8, frames=2560 (looked at), frame_patches=16384, patches=655360; repeatable."


def ls(
    paths: Paths,
    records: Annotated[bool, typer.Option("--records", help="List the records, not the sets.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="With --records: of each set, or 50.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not prove indexes and rejects.")] = False,
    as_json: AsJson = False,
) -> None:
    """Lists the sets below PATH, or their records; exits 1 and names what is damaged, after all that is sound."""
    from trivium.commands import shards_view as view
    from trivium.data.shards.summary import read_heads, summarize

    if limit is not None and not records:
        raise UsageError("--limit bounds the records that are listed: give it together with --records")
    heads, damaged = read_heads(paths)
    faults = {head.folder: _faults(head, quick) for head in heads}
    if records:
        rows = [row for head in heads for row in _rows(head, limit or 50, faults[head.folder])]
        if as_json:
            emit_json(rows)
        else:
            out.print(view.table("", list(rows[0]) if rows else ["no records"], [list(r.values()) for r in rows]))
    else:
        facts = [{**summarize(head), "faults": faults[head.folder]} for head in heads]
        if as_json:
            emit_json([*facts, *({"path": path, "damaged": str(reason)} for path, reason in damaged.items())])
        else:
            out.print(view.sets_table(facts))
    complain([*damaged.values(), *dict.fromkeys(fault for some in faults.values() for fault in some)])


def _faults(head: "Head", quick: bool) -> list[str]:
    """What is damaged of a set; unless `quick`, its indexes and rejects are proven too where they lie locally."""
    from trivium.data.shards.rebuild import damaged_indexes, damaged_rejects

    return [*head.faults.values(), *([] if quick else [*damaged_indexes(head), *damaged_rejects(head)])]


def _rows(head: "Head", limit: int, faults: list[str]) -> list[dict[str, Any]]:
    from trivium.data.shards.lookup import open_first

    shards = open_first(head, limit, faults.append)
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


def stat(
    paths: Paths,
    prove: Annotated[bool, typer.Option("--prove", help="Prove indexes and rejects as `ls` does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Counts by corpus, bucket, licence and language with histograms, from manifests alone; for corpora that were
    drawn, what their build's report says of their balance.
    """
    import msgspec

    from trivium.commands import shards_view as view
    from trivium.commands.shards_balance import balance_of
    from trivium.data.shards.summary import by_corpus, read_heads, summarize

    heads, damaged = read_heads(paths)
    facts = [
        {**summarize(head), "faults": _faults(head, not prove), "balance": balance_of(head.folder)} for head in heads
    ]
    keys = ("records", "tokens", "patches", "images", "bytes", "rejects")
    total = {name: sum(one[name] for one in facts) for name in keys}
    if as_json:
        for one, head in zip(facts, heads, strict=True):
            one["funnel"] = msgspec.to_builtins(head.manifest.funnel)
            one["takedowns"] = msgspec.to_builtins(head.manifest.takedowns)
        broken = [{"path": path, "damaged": str(reason)} for path, reason in damaged.items()]
        emit_json({"sets": facts, "total": total, "corpora": by_corpus(heads), "damaged": broken})
    else:
        for one, head in zip(facts, heads, strict=True):
            out.print(view.stat_view(one, head.manifest))
        if len(facts) > 1:
            out.print(view.sets_table(facts))
            rows = [
                [corpus, records, *view.counts(None, sums)]
                for corpus, (records, *sums) in ((name, each.values()) for name, each in by_corpus(heads).items())
            ]
            out.print()
            out.print(view.table("", ["corpus", "records", "tokens", "patches"], rows))
    complain([*damaged.values(), *(fault for one in facts for fault in one["faults"])])


def gallery(
    paths: Paths,
    target: Annotated[Path, typer.Option("--out", metavar="PAGE.html", help="The page to write.")],
    count: Annotated[
        int, typer.Option("--count", min=1, help="Records, and rejects, in all: an equal share for every set.")
    ] = 600,
    seed: Annotated[int, typer.Option("--seed", help="Which ones are drawn when there are more.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Writes one self-contained HTML page to browse records, frames, duplicates, rejects and lineage."""
    from trivium.data.shards import place
    from trivium.pipelines.gallery import write_gallery

    facts = write_gallery([place(path) for path in paths], target, count=count, seed=seed)
    if as_json:
        emit_json({"page": str(target), **dataclasses.asdict(facts)})
    else:
        note(
            f"{target}: {counted(facts.records, 'record')}, {counted(facts.clusters, 'cluster')}, "
            f"{counted(facts.rejects, 'reject')}, {counted(facts.bytes, 'byte')}; open it in a browser"
        )
    complain([one["reason"] for one in facts.damaged])


def tokenize(
    source: Annotated[str, typer.Argument(metavar="IN", help="A set, or a folder of sets; a path or an address.")],
    tokenizer: Annotated[Path, typer.Option("--tokenizer", help="tokenizer.json, its folder, or a rank file.")],
    target: Annotated[Path, typer.Option("--out", metavar="OUT", help="Folder of the tokenised set or sets.")],
    beam: Annotated[list[str] | None, typer.Argument(metavar="-- BEAM OPTIONS", help="Any Beam options.")] = None,
    buckets: Annotated[str, typer.Option("--buckets", help="Bounds in tokens, rising.")] = "8k,64k,256k,1m",
    patch_limit: Annotated[int, typer.Option("--patch-limit", help="Patches a picture, at most.")] = 65536,
    side_limit: Annotated[int, typer.Option("--side-limit", help="Patches a side of a picture, at most.")] = 512,
    video: Annotated[list[str] | None, typer.Option("--video", metavar="LIMIT=VALUE", help=_CLIP_LIMITS)] = None,
    target_bytes: Annotated[int, typer.Option("--target-bytes", min=1, help="Bytes a shard, about.")] = 256 << 20,
    force: Annotated[bool, typer.Option("--force", help="Replace what OUT holds, be it another corpus.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show Beam's own log.")] = False,
    as_json: AsJson = False,
) -> None:
    """Adds tokens to a set and sorts its records into length buckets; a Beam job."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

    from trivium.data.shards import ShardSet, parse_buckets
    from trivium.data.shards.summary import below, find_sets, summarize
    from trivium.pipelines.beam import parse_options, quiet

    rules, bounds = _rules(patch_limit, side_limit, video or []), parse_buckets(buckets)
    options = parse_options(beam or [], verbose=verbose)
    with quiet(verbose):
        from trivium.pipelines.corpora.output import refuse_inside
        from trivium.pipelines.corpora.shards import local_paths
        from trivium.pipelines.tokenize_job import tokenize_set
    refuse_inside(target, "this command", local_paths([source]))  # which looks for sets in all of IN
    sources = find_sets([source])
    for folder in () if force else sources:  # all before the first is written
        _say_replaced(folder, target / below(folder, source))
    done: list[dict[str, Any]] = []
    lost: list[str] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with progress(*columns) as bar:
        for folder in sources:
            task = bar.add_task(folder.name, total=None)
            place = target / below(folder, source)

            def tell(name: str, finished: int, total: int, task: Any = task, label: str = folder.name) -> None:
                bar.update(task, description=f"{label}: {name}", completed=finished, total=total)

            manifest = tokenize_set(
                folder,
                place,
                tokenizer,
                options,
                rules=rules,
                buckets=bounds,
                target_bytes=target_bytes,
                force=force,
                progress=tell,
            )
            done.append(summarize(ShardSet.open(place)))
            funnel = manifest.funnel[-1]
            lost.extend(f"{place}: {reason} {count:,} of {funnel.input:,}" for reason, count in funnel.dropped.items())
    if as_json:
        emit_json(done)
        return
    _show_done(done, lost)


def _show_done(done: list[dict[str, Any]], lost: list[str]) -> None:
    from trivium.commands import shards_view as view

    out.print(view.sets_table(done))
    for line in lost:
        note(f"refused, {line}; each with its reason in rejects/tokenize.jsonl")


def _say_replaced(source: "Place", target: Path) -> None:
    """One line when an earlier tokenisation by another recipe gives way. Raises UsageError for another corpus there."""
    from trivium.data.shards import read_manifest
    from trivium.pipelines.tokenize_job import refuse_other

    manifest, _ = read_manifest(source)
    held = refuse_other(target, manifest)
    if held is not None and held.recipe != manifest.recipe:
        note(f"{target}: the set there, of recipe {held.recipe[:12]}…, is replaced ({manifest.recipe[:12]}…)")


def _rules(patch_limit: int, side_limit: int, video: list[str]) -> "PictureRules":
    """Raises UsageError for a limit that is no `name=number`, ConfigError for one that can't be."""
    from trivium.data.config import from_mapping
    from trivium.data.patches import PictureRules

    limits: dict[str, Any] = {"patch_limit": patch_limit, "side_limit": side_limit}
    for one in video:
        name, _, value = one.partition("=")
        try:
            limits.setdefault("video", {})[name] = float(value) if name == "fps" else int(value)
        except ValueError:
            raise UsageError(f"--video {one}: {value!r} is no number; write a limit as --video fps=2") from None
    return from_mapping(limits, PictureRules, name="--patch-limit, --side-limit, --video")


def register(app: typer.Typer) -> None:
    """Adds `trivium shards …` to the command line."""
    group = typer.Typer(
        name="shards", help="Look into shard sets, prove, compare, change and tokenise them.", no_args_is_help=True
    )
    records, change = shards_records, shards_change
    look = (
        ls,
        stat,
        records.show,
        shards_find.find,
        records.grep,
        records.sample,
        change.verify,
        change.index,
        change.diff,
        shards_redraw.redraw,
    )
    commands: tuple[Callable[..., None], ...] = (*look, change.drop, shards_tombstones.tombstones, gallery, tokenize)
    for command in commands:
        group.command()(command)
    app.add_typer(group)
