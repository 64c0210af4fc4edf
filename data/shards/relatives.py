"""What a takedown must know of other sets: which of their records its patterns fit, and which were made of those.

Odd: a derived record names its parents by their ids alone. Whether these came from a source that is to go, only the
sets that hold the parents can say, or what was noted of those that were taken out of them.
"""

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trivium.data.shards import names
from trivium.data.shards.manifest import read_manifest
from trivium.data.shards.reader import ShardSet, parse_rejects
from trivium.data.shards.sound import Tell, each_document, refuse
from trivium.data.stage import Drop

STAGE = "takedown"
TOMBSTONES = "tombstones, sha256"  # in the ids of a takedown of what gave way to a later set


class Gone(Drop, frozen=True, kw_only=True, omit_defaults=True):
    """A record that was taken down: its `id`, and the day, in UTC."""

    id: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Kin:
    """One record of another set, there or gone, by all that a pattern may fit."""

    keys: tuple[str, ...]
    places: tuple[str, ...]  # its source's name, the address in it
    parents: tuple[str, ...] = ()


def fits(pattern: str, texts: Sequence[str]) -> bool:
    """Whether a pattern with `*`, `?`, `[…]` fits one of the texts, letter by letter."""
    return any(fnmatch.fnmatchcase(text, pattern) for text in texts)


def gave_way(folder: Path) -> frozenset[str]:
    """Source ids of the records that were taken out of a local set since they gave way to those of a later one."""
    if not (folder / names.MANIFEST).is_file():
        return frozenset()
    manifest, _ = read_manifest(folder)
    files = [
        name
        for number, one in enumerate(manifest.takedowns, 1)
        for name in manifest.reject_files
        if any(TOMBSTONES in key for key in one.ids) and name.startswith(f"{STAGE}-{number:03d}")
    ]
    return frozenset(gone.source_id for name in files for gone in parse_rejects(folder / names.REJECTS / name, Gone))


def taken_down(shards: ShardSet, tell: Tell = refuse) -> Iterator[Gone]:
    """The records that were taken out of a set, as noted; damaged lines are told."""
    for name in sorted(shards.manifest.reject_files):
        if name.startswith(f"{STAGE}-"):
            yield from parse_rejects(shards.folder / names.REJECTS / name, Gone, tell)


def beside(folder: Path) -> list[Path]:
    """The other sets in the folder that holds this one."""
    here = folder.resolve()
    return [one.parent for one in sorted(here.parent.glob(f"*/{names.MANIFEST}")) if one.parent != here]


def relatives(sets: Sequence[ShardSet], ids: Sequence[str], sources: Sequence[str], tell: Tell) -> dict[str, set[str]]:
    """By pattern: ids and source_ids of the records in `sets` that it fits, and of what was made of these there."""
    found: dict[str, set[str]] = {pattern: set() for pattern in (*ids, *sources)}
    before, derived = -1, True
    while derived and before < sum(map(len, found.values())):
        before, derived = sum(map(len, found.values())), False
        for kin in _all(sets, tell):
            derived = derived or bool(kin.parents)
            for pattern in found:
                texts = (kin.keys if pattern in ids else ()) + (kin.places if pattern in sources else ())
                if fits(pattern, texts) or not found[pattern].isdisjoint(kin.parents):
                    found[pattern].update(kin.keys)
    return found


def _all(sets: Sequence[ShardSet], tell: Tell) -> Iterator[Kin]:
    for shards in sets:
        for _, document in each_document(shards, tell):
            meta = document.meta
            yield Kin((document.id, meta.source_id), (meta.source, meta.address), meta.lineage.parents)
        for gone in taken_down(shards, tell):
            yield Kin((gone.id, gone.source_id) if gone.id else (gone.source_id,), (gone.source, gone.address))
