"""`trivium shards tombstones`: what a set says of earlier sets' records that lost to its own."""

from pathlib import Path
from typing import Annotated

import typer

from trivium.console import counted, emit_json, note, out


def laid_on(old: str, new: Path) -> frozenset[str]:
    """Source ids of the set `old` that gave way to records of `new`.

    Raises UsageError when `new` lays none, or on several sets of which none is called like `old`.
    """
    from trivium.data.dedup.kept import read_tombstones
    from trivium.data.shards import read_manifest
    from trivium.errors import UsageError

    read_manifest(new)  # raises when no set lies there
    laid = list(read_tombstones(new))
    names = sorted({one.set for one in laid})
    if len(names) > 1:
        names = [name for name in names if Path(name).name == Path(old).resolve().name] or names
    if len(names) != 1:
        told = f"it lays them on {', '.join(names)}" if names else "it lays none: was it built `against` another set?"
        raise UsageError(f"--tombstones {new}: which of them are of {old} can't be told; {told}")
    return frozenset(one.source_id for one in laid if one.set == names[0])


def tombstones(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A shard set built `against` earlier ones.")],
    of: Annotated[str | None, typer.Option("--of", metavar="SET", help="Only those of this earlier set.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Lists records of earlier sets that gave way to this one's: train on old - tombstones + new.

    To have the old set without them, as a new set: trivium shards drop OLD --tombstones PATH --out LEFT.
    """
    from trivium.commands import shards_view as view
    from trivium.data.dedup.kept import read_tombstones
    from trivium.data.shards import read_manifest

    read_manifest(path)  # raises when no set lies there
    found = [one for one in read_tombstones(path) if of is None or one.set == of]
    if as_json:
        emit_json([{name: getattr(one, name) for name in one.__struct_fields__} for one in found])
        return
    rows = [
        [one.source_id, one.survivor, one.reason if one.similarity is None else f"{one.similarity:.3g}", one.set]
        for one in found
    ]
    if rows:
        out.print(view.table("", ["source_id", "gave way to", "alike", "in set"], rows))
    note(f"{counted(len(found), 'tombstone')} in {path}")
