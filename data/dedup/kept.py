"""What a built set keeps for later builds: `dedup/` beside its shards, and the tombstones that it lays on earlier sets.

    dedup/<stage>.json             this file's `Kept`: how the records were made, and which files hold them
    dedup/<stage>-00000.rows, …    fixed-size records sorted by id (`sketches.kept_type`, or `ids_type` for exact ones)
    dedup/<stage>-00000.sets, …    the shingle sets that the rows name, in the rows' order
    dedup/tombstones.jsonl         records of earlier sets that lost to a record of this one

A build `against` this one refuses what was made in another way, is of another version, or was cut off, by name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from trivium.data.dedup.sketches import ID
from trivium.errors import DigestError, ShardError

FOLDER = "dedup"
TOMBSTONES = "tombstones.jsonl"
VERSION = 1


def ids_type() -> np.dtype[Any]:
    """A record that exact_dedup kept."""
    return np.dtype([("id", f"S{ID}"), ("source_id", f"S{ID}"), ("score", "<f8"), ("length", "<u4")])


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file below `dedup/`."""

    name: str
    records: int
    bytes: int
    sha256: str


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What one dedup stage of a built set left: `made` says all that two builds must share to be compared."""

    format: str = "trivium.dedup"
    version: int = VERSION
    stage: str
    kind: str
    made: dict[str, str | int | float]
    files: tuple[File, ...]


class Tombstone(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of the earlier set `set` that gave way to `survivor`: old - tombstones + new is what one build of both
    would have kept."""

    set: str
    source_id: str
    stage: str
    reason: str
    survivor: str
    similarity: float | None = None
    cluster: str = ""


def read_kept(root: Path, stage: str, kind: str, made: dict[str, str | int | float]) -> Kept:
    """The stage's records in the set at `root`; its only stage of that kind when the names differ.

    Raises ShardError when there are none, they are damaged or of another version, DigestError when they were made in
    another way.
    """
    found = {}
    for path in sorted((root / FOLDER).glob("*.json")):
        kept = _decode(path)
        if kept.kind == kind:
            found[kept.stage] = kept
    chosen = found.get(stage) or (next(iter(found.values())) if len(found) == 1 else None)
    if chosen is None:
        there = f"its {kind} stages are {', '.join(found)}" if found else f"it holds no {FOLDER}/*.json of kind {kind}"
        raise ShardError(
            f"{root}: {stage} can't compare new records with this set: {there}; build it again with a {kind}_dedup "
            "stage that has `keep: true`, or take it out of `against`"
        )
    unlike = [f"{key} {chosen.made.get(key)!r} there, {value!r} here" for key, value in made.items()]
    unlike = [line for line, (key, value) in zip(unlike, made.items(), strict=True) if chosen.made.get(key) != value]
    if unlike:
        raise DigestError(
            f"{root}: its {chosen.stage} was made in another way: {'; '.join(unlike)}; give {stage} the same "
            "parameters, or build that set again with these"
        )
    for file in chosen.files:
        path = root / FOLDER / file.name
        size = path.stat().st_size if path.is_file() else -1
        if size != file.bytes:
            what = "is missing" if size < 0 else f"has {size:,} bytes"
            raise ShardError(
                f"{path}: {what}, {file.bytes:,} were written; bring the file again, or build the set again"
            )
    return chosen


def _decode(path: Path) -> Kept:
    try:
        head = msgspec.json.decode(path.read_bytes())
        version = head.get("version") if isinstance(head, dict) else None
        if version == VERSION:
            return msgspec.convert(head, Kept)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ShardError(f"{path}: can't be read ({error}); build the set again") from None
    raise ShardError(f"{path}: version {version}, and this code reads {VERSION}; build the set again with this version")


def read_tombstones(root: Path) -> Iterator[Tombstone]:
    """The tombstones that the set at `root` lays on earlier sets, by source id. Raises ShardError on a damaged line."""
    path = root / FOLDER / TOMBSTONES
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield msgspec.json.decode(line, type=Tombstone)
            except msgspec.DecodeError as error:
                raise ShardError(f"{path}, line {number}: {error}; build the set again") from None
