"""`trivium shards find`: from an address, as a report or a browser shows it, to the record or to why there is none."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.commands.shards_damage import complain, open_sets
from trivium.console import counted, emit_json, note, out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trivium.data.shards import ShardSet
    from trivium.data.shards.sound import Faults


def find(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="A URL, path or source id, or any part of one.")],
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Shard sets, or folders that hold some.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="To list, of each set.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Finds records, rejects and takedowns by address; exits 1 when none fits.

    Records name the duplicates that gave way to them too. `trivium shards show PATH ID` then shows one whole.
    """
    from trivium.commands import shards_view as view
    from trivium.data.shards.sound import Faults

    faults = Faults()
    found: list[dict[str, Any]] = []
    for shards in open_sets([*paths], faults):
        for listed, one in enumerate(_found(shards, address, faults), 1):
            found.append({"set": str(shards.folder), **one})
            if listed == limit:
                note(f"{shards.folder}: there may be more than these {limit} (--limit)")
                break
    if as_json:
        emit_json({"found": found, "damaged": [str(fault) for fault in faults.found]})
    elif found:
        out.print(view.found_view(found), soft_wrap=True, highlight=False)
    complain(faults.found)
    if not found:
        note(f"{address!r} is no part of an address in {counted(len(paths), 'place')}, of a record or of a reject")
        raise typer.Exit(1)


def _found(shards: "ShardSet", wanted: str, tell: "Faults") -> "Iterator[dict[str, Any]]":
    """Whole matches first where the index has them; else every record's address is read."""
    from trivium.data.records import source_id
    from trivium.data.shards.lookup import find_records
    from trivium.data.shards.names import ID
    from trivium.data.shards.sound import each_document

    sources = [source["name"] for source in shards.manifest.resolved.get("sources", ()) if "name" in source]
    keys = [*([wanted] if ID.fullmatch(wanted) else ()), *(source_id(name, wanted) for name in sources)]
    exact = {number for key in keys for number in find_records(shards, key, tell=tell)}
    for number, document in each_document(shards, tell, sorted(exact) or None):
        meta = document.meta
        begun = document.id.startswith(wanted) or meta.source_id.startswith(wanted)
        itself = number in exact or begun or wanted in meta.address
        if itself or not set(keys).isdisjoint(meta.duplicates):
            what = f"record {document.id}" if itself else f"stands in record {document.id}"
            yield {"source_id": meta.source_id, "is": what, "source": meta.source, "address": meta.address}
    for drop in shards.rejects(tell):
        if drop.source_id.startswith(wanted) or wanted in drop.address:
            stays = f"; {drop.survivor} stays" if drop.survivor else ""
            what = f"refused by {drop.stage}: {drop.reason}{stays}"
            yield {"source_id": drop.source_id, "is": what, "source": drop.source, "address": drop.address}
