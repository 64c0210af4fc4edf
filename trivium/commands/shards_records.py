"""`trivium shards show`, `grep` and `sample`: single records."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.console import emit_json, note, out

if TYPE_CHECKING:
    from trivium.data.shards import ShardSet
    from trivium.data.shards.summary import Head
    from trivium.data.stage import Drop

Set = Annotated[str, typer.Argument(metavar="PATH", help="A shard set, or a folder of sets; a path or an address.")]
Sets = Annotated[list[str], typer.Argument(metavar="PATH…", help="Shard sets, or folders that hold some.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def show(
    path: Set,
    key: Annotated[str, typer.Argument(metavar="ID", help="An id or source_id, or the beginning of one; rejects too.")],
    save: Annotated[Path | None, typer.Option("--save", metavar="DIR", help="Write its members there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Shows one record with its pictures and its lineage to the source bytes, or why it was rejected."""
    import msgspec

    from trivium.commands import shards_view as view
    from trivium.data.shards.lineage import trace
    from trivium.data.shards.lookup import open_at
    from trivium.data.shards.summary import read_heads

    heads, damaged = read_heads([path])
    for reason in damaged.values():
        note(f"damaged: {reason}")
    found = _find(heads, key, path)
    if not isinstance(found, tuple):
        if as_json:
            emit_json({"rejected": msgspec.to_builtins(found)})
        else:
            out.print(view.reject_view(found))
        return
    head, info, whole_key = found
    shards, number = open_at(head, info, whole_key)
    document, media = shards.read(number)
    entries = shards.entries
    facts = {
        "set": str(head.folder),
        "shard": info.name,
        "offset": int(entries.offset[number]),
        "size": int(entries.size[number]),
        "members": shards.members(number),
        "tokens": int(entries.tokens[number]),
        "patches": int(entries.patches[number]),
        "lineage": trace(document, head, heads),
    }
    if save is not None:
        _save(shards, number, save)
    if as_json:
        emit_json({**facts, "document": msgspec.to_builtins(document)})
    else:
        out.print(view.record_view(facts, document, media, out.width if out.color_system else 0))


def _find(heads: "list[Head]", key: str, path: str) -> "tuple[Head, Any, str] | Drop":
    """The one record that `key` names, or else the one reject. Raises ShardError saying what there is instead."""
    from trivium.data.shards.lookup import find_records
    from trivium.errors import ShardError

    records = [(head, info, whole) for head in heads for info, whole in find_records(head, key)]
    if len({whole for _, _, whole in records}) == 1:
        return records[0]  # the same content may lie in a set and in the one tokenised from it
    if records:
        some = ", ".join(sorted({whole for _, _, whole in records})[:3])
        raise ShardError(f"{path}: {key!r} names several records ({some}, …); give more characters")
    rejects = {}
    for head in heads:
        for drop in _rejects(head):
            if key and drop.source_id.startswith(key):
                rejects[drop.source_id] = drop
    if len(rejects) == 1:
        return next(iter(rejects.values()))
    sets = f"{len(heads)} sets" if len(heads) > 1 else "the set"
    what = f"begins {len(rejects)} rejects: give more characters" if rejects else f"is no id or source_id in {sets}"
    raise ShardError(f"{path}: {key!r} {what}; `trivium shards ls --records {path}` lists records")


def _rejects(head: "Head") -> "list[Drop]":
    from trivium.data.shards import read_rejects

    return list(read_rejects(head.folder))


def _save(shards: "ShardSet", number: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    key = shards.entries.id[number]
    for name in shards.members(number):
        (folder / f"{key}.{name}").write_bytes(shards.read_media(number, name))
    note(f"saved {len(shards.members(number))} members of {key} in {folder}")


def grep(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A regular expression of Python's re.")],
    paths: Sets,
    field: Annotated[
        list[str] | None, typer.Option("--field", help="text (default), meta, or a key like title or scores.words.")
    ] = None,
    ignore_case: Annotated[bool, typer.Option("-i", "--ignore-case", help="Letters match in either case.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Records to list; all are counted.")] = 20,
    count: Annotated[bool, typer.Option("--count", help="Counts alone.")] = False,
    as_json: AsJson = False,
) -> None:
    """Finds records whose text or metadata match; exits 1 when none does."""
    import dataclasses
    import re

    from trivium.commands import shards_view as view
    from trivium.data.shards import ShardSet
    from trivium.data.shards.search import check_fields
    from trivium.data.shards.search import grep as search
    from trivium.data.shards.summary import find_sets
    from trivium.errors import UsageError

    try:
        wanted = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise UsageError(
            f"PATTERN {pattern!r}: no regular expression ({error}); escape what is meant as it stands"
        ) from None
    fields = tuple(field or ("text",))
    check_fields(fields)
    listed: list[dict[str, Any]] = []
    sums = []
    for folder in find_sets(paths):
        shards = ShardSet.open(folder)
        records, matches = set(), 0
        for match in search(shards, wanted, fields):
            records.add(match.record)
            matches += match.count
            if len(listed) < limit and not count:
                listed.append({"set": str(folder), **dataclasses.asdict(match)})
        sums.append({"set": str(folder), "records": len(records), "matches": matches, "of": len(shards)})
    if as_json:
        emit_json({"sets": sums, "listed": listed})
    else:
        out.print(view.grep_view(sums, listed))
    if not any(one["records"] for one in sums):
        raise typer.Exit(1)


def sample(
    paths: Sets,
    seed: Annotated[int, typer.Option("--seed", help="The same seed draws the same records.")] = 0,
    count: Annotated[int, typer.Option("--count", min=1, help="Records to draw from each set.")] = 5,
    by: Annotated[
        str, typer.Option("--by", help="What makes a record likely: records (all alike) or tokens.")
    ] = "records",
    as_json: AsJson = False,
) -> None:
    """Draws records by chance, the same for the same seed, and shows how they begin."""
    import msgspec

    from trivium.commands import shards_view as view
    from trivium.data.shards import ShardSet
    from trivium.data.shards.search import sample as draw
    from trivium.data.shards.summary import find_sets
    from trivium.errors import UsageError

    if by not in ("records", "tokens"):
        raise UsageError(f"--by {by}: write records or tokens")
    drawn = []
    for folder in find_sets(paths):
        shards = ShardSet.open(folder)
        for number in draw(shards, count, seed, by_tokens=by == "tokens"):
            document = shards.read_document(number)
            facts = {"set": str(folder), "id": document.id, "tokens": int(shards.entries.tokens[number])}
            drawn.append({**facts, "document": msgspec.to_builtins(document)} if as_json else {**facts, "of": document})
    if as_json:
        emit_json(drawn)
    else:
        out.print(view.sample_view(drawn))
