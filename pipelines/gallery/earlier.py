"""Survivors that lie in an earlier set, which a build was `against`: read from that set where it can be found.

Odd: a set names earlier ones as its recipe did, relative to a folder that it does not know. So the sets of the page are
asked first, then what lies at that path seen from here and from beside the set, then a neighbour of that name; only a
record of the very source_id is taken, so a wrong folder gives nothing.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trivium.data.records import Document
from trivium.data.shards import ShardSet
from trivium.data.shards.lookup import find_records
from trivium.data.stage import Drop
from trivium.errors import TriviumError

Found = tuple[Document, Mapping[str, bytes], int | None]  # of a set on the page: its number


def compared_with(shards: ShardSet) -> tuple[str, ...]:
    """The earlier sets that a set's recipe names."""
    stages = (shards.manifest.resolved or {}).get("stages", ())
    return tuple(dict.fromkeys(path for stage in stages for path in stage.get("against", ())))


def place_of(drop: Drop) -> str:
    """The earlier set that a duplicate's survivor lies in, as its detail names it; "" where it names none."""
    _, named, rest = drop.detail.partition(f"; {drop.survivor} of ")
    return rest.partition(" stays")[0] if named else ""


class EarlierSets:
    """Looks into the sets of the page, and into others that lie where their recipes say."""

    def __init__(self, sets: Sequence[ShardSet]) -> None:
        self._sets = sets
        self._opened: dict[Path, ShardSet | None] = {}

    def read(self, shards: ShardSet, place: str, source_id: str) -> Found | None:
        """The record, its media, and the number of its set on the page; None when no set at hand holds it."""
        for number, other in enumerate(self._sets):
            if other is not shards and (found := _record(other, source_id)) is not None:
                return *found, number
        for folder in _folders(shards, place):
            other = self._open(folder)
            if other is not None and (found := _record(other, source_id)) is not None:
                return *found, None
        return None

    def _open(self, folder: Path) -> ShardSet | None:
        if folder not in self._opened:
            try:
                self._opened[folder] = ShardSet.open(folder)
            except (TriviumError, OSError):
                self._opened[folder] = None
        return self._opened[folder]


def _folders(shards: ShardSet, place: str) -> Iterator[Path]:
    if not place or "://" in place:
        return
    path = Path(place).expanduser()
    beside = (shards.folder.parent,) if isinstance(shards.folder, Path) else ()
    tried = [path, *(folder / path for folder in beside), *(folder / path.name for folder in beside)]
    yield from dict.fromkeys(one.absolute() for one in tried)


def _record(shards: ShardSet, source_id: str) -> tuple[Document, dict[str, Any]] | None:
    with contextlib.suppress(TriviumError, OSError):  # then its id is all that is shown
        for at in find_records(shards, source_id, most=1, tell=lambda _: None):
            document, members = shards.read(at)
            if document.meta.source_id == source_id:
                return document, members
    return None
