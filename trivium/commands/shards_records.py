"""`trivium shards show`, `grep` and `sample`: single records."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.commands.shards_damage import complain, name, open_sets
from trivium.console import counted, emit_json, note, out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trivium.data.shards import ShardSet
    from trivium.data.shards.glimpse import Glimpse
    from trivium.data.shards.sound import Faults
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

    from trivium.data.shards.lineage import trace
    from trivium.data.shards.sound import Faults

    faults = Faults()
    sets = open_sets([path], faults)
    manifests = len(faults.found)
    for shards in sets:
        for fault in shards.faults.values():
            faults(fault)
    found = _find(sets, key, path, faults, manifests)
    if not isinstance(found, tuple):
        _show_lost(found, sets, as_json)
        complain(faults.found)
        return
    shards, seen = found
    held = [(field, *place) for field, place in seen.members.items()]
    document, media = shards.read_span(seen.record, seen.offset, seen.size, held)
    facts = {
        "set": str(shards.folder),
        "shard": shards.manifest.shards[shards.locate(seen.record)[0]].name,
        "offset": seen.offset,
        "size": seen.size,
        "members": {field: length for field, (_, length, _) in seen.members.items()},
        "tokens": seen.tokens,
        "patches": seen.patches,
        "lineage": trace(document, shards, sets, tell=faults),
    }
    if save is not None:
        _save(shards, seen.record, save)
    if as_json:
        emit_json({**facts, "document": msgspec.to_builtins(document)})
    else:
        from trivium.commands import shards_view as view

        out.print(view.record_view(facts, document, media, out.width if out.color_system else 0))
    complain(faults.found)


def _find(
    sets: "list[ShardSet]", key: str, path: str, tell: "Faults", manifests: int
) -> "tuple[ShardSet, Glimpse] | Drop":
    """The one record that `key` names, or else what was refused or taken down. Raises ShardError saying what there is
    instead; `manifests` could not be read."""
    from trivium.data.shards.glimpse import glimpse, of_record
    from trivium.data.shards.lookup import find_records
    from trivium.errors import ShardError

    for shards in sets:
        try:
            found = glimpse(shards, key)
        except ShardError as error:
            tell(str(error))
            continue
        if found is not None:
            return shards, found
    records = [
        (shards, number, whole) for shards in sets for number, whole in find_records(shards, key, tell=tell).items()
    ]
    if len({whole for _, _, whole in records}) == 1:
        return records[0][0], of_record(
            *records[0][:2]
        )  # the same content may lie in a set and in the one tokenised from it
    if records:
        some = ", ".join(sorted({whole for _, _, whole in records})[:3])
        raise ShardError(f"{path}: {key!r} names several records ({some}, …); give more characters")
    lost = {drop.source_id: drop for shards in sets for drop in _lost(shards, key, tell)} if key else {}
    if len(lost) == 1:
        return next(iter(lost.values()))
    name(tell.found)
    where = f"in {counted(len(sets), 'set')}" if len(sets) != 1 else "in the set"
    what = f"begins {len(lost)} rejects: give more characters" if lost else f"is no id or source_id {where}"
    if tell.found and not lost:
        what = f"not found in what can be read{_unread(sets, manifests)}"
    looks = f"`trivium shards find {shlex.quote(key)} {path}` looks for it in addresses" if key and not lost else ""
    lists = f"`trivium shards ls --records {path}` lists ids"
    raise ShardError(f"{path}: {key!r} {what}; {looks}{', ' if looks else ''}{lists}")


def _unread(sets: "list[ShardSet]", manifests: int) -> str:
    """How many indexes and manifests a search could not look into."""
    from trivium.data.shards.sound import indexed

    shut = [
        (shards, number)
        for shards in sets
        for number in range(len(shards.manifest.shards))
        if not indexed(shards, number, lambda _: None)
    ]
    parts = [(len(shut), "index", "indexes"), (manifests, "manifest", "manifests")]
    said = " and ".join(f"{count} {one if count == 1 else many}" for count, one, many in parts if count)
    return f"; {said} can't be read" if said else ", which is not all"


def _lost(shards: "ShardSet", key: str, tell: "Faults") -> "Iterator[Drop]":
    """What was taken down or refused under a key that begins so."""
    from trivium.data.shards.relatives import STAGE, taken_down

    yield from (gone for gone in taken_down(shards, tell) if gone.id.startswith(key) or gone.source_id.startswith(key))
    yield from (drop for drop in shards.rejects(tell) if drop.source_id.startswith(key) and drop.stage != STAGE)


def _show_lost(drop: "Drop", sets: "list[ShardSet]", as_json: bool) -> None:
    import msgspec

    from trivium.commands import shards_view as view
    from trivium.data.pairs.refusals import STAGES, refusal
    from trivium.data.shards.relatives import Gone

    if isinstance(drop, Gone):
        emit_json({"taken_down": msgspec.to_builtins(drop)}) if as_json else out.print(view.gone_view(drop))
        return
    drawn = any(stage.get("kind") in STAGES for shards in sets for stage in shards.manifest.resolved.get("stages", ()))
    known = refusal(drop.stage, drop.reason, drawn=drawn)
    if as_json:
        emit_json({"rejected": msgspec.to_builtins(drop), **({"refusal": msgspec.to_builtins(known)} if known else {})})
    else:
        out.print(view.reject_view(drop, known))


def _save(shards: "ShardSet", number: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    key = shards.entries.id[number]
    members = shards.members(number)
    for field in members:
        (folder / f"{key}.{field}").write_bytes(shards.read_media(number, field))
    note(f"saved {counted(len(members), 'member')} of {key} in {folder}")


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
    from trivium.data.shards.search import check_fields, check_scores
    from trivium.data.shards.search import grep as search
    from trivium.data.shards.sound import Faults
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
    faults, scores = Faults(), set[str]()
    for shards in open_sets(paths, faults):
        records, matches, last = 0, 0, -1
        read: list[int] = []
        for match in search(shards, wanted, fields, tell=faults, scores=scores, searched=read.append):
            records, last = records + (match.record != last), match.record
            matches += match.count
            if len(listed) < limit and not count:
                listed.append({"set": str(shards.folder), **dataclasses.asdict(match)})
        sums.append({"set": str(shards.folder), "records": records, "matches": matches, "of": len(read)})
    check_scores(fields, scores)
    if as_json:
        emit_json({"sets": sums, "listed": listed, "damaged": [str(fault) for fault in faults.found]})
    else:
        out.print(view.grep_view(sums, listed))
    complain(faults.found)
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
    from trivium.data.shards.search import sample as draw
    from trivium.data.shards.sound import Faults, each_document, sound_part
    from trivium.errors import UsageError

    if by not in ("records", "tokens"):
        raise UsageError(f"--by {by}: write records or tokens")
    drawn: list[dict[str, Any]] = []
    faults = Faults()
    for whole in open_sets(paths, faults):
        shards = sound_part(whole, faults)
        numbers = draw(shards, count, seed, by_tokens=by == "tokens")
        for number, document in each_document(shards, faults, numbers):
            facts = {"set": str(shards.folder), "id": document.id, "tokens": int(shards.entries.tokens[number])}
            drawn.append({**facts, "document": msgspec.to_builtins(document)} if as_json else {**facts, "of": document})
    if as_json:
        emit_json([*drawn, *({"damaged": str(fault)} for fault in faults.found)])
    else:
        out.print(view.sample_view(drawn))
    complain(faults.found)
