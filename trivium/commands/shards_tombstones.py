"""`trivium shards tombstones`: what a set says of earlier sets' records that lost to its own."""

from pathlib import Path
from typing import Annotated

import typer

from trivium.console import counted, emit_json, note, out


def tombstones(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A shard set built `against` earlier ones.")],
    of: Annotated[str | None, typer.Option("--of", metavar="SET", help="Only those of this earlier set.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Lists records of earlier sets that gave way to this one's: train on old - tombstones + new.

    To take them out of the old set for good: trivium shards drop OLD --reason … --id SOURCE_ID.
    """
    from trivium.commands import shards_view as view
    from trivium.data.dedup.kept import read_tombstones
    from trivium.data.shards import read_manifest

    read_manifest(path)  # raises when no set lies there
    found = [one for one in read_tombstones(path) if of is None or one.set == of]
    if as_json:
        emit_json([{name: getattr(one, name) for name in one.__struct_fields__} for one in found])
        return
    rows = [[one.set, one.source_id, one.survivor, one.reason, one.similarity] for one in found]
    if rows:
        out.print(view.table("", ["set", "record", "gave way to", "reason", "similarity"], rows))
    note(f"{counted(len(found), 'tombstone')} in {path}")
