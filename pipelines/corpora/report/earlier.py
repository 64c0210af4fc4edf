"""The texts of survivors that lie in earlier sets, for the largest groups of duplicates.

Odd: they are read at the build's end by whoever writes the report, since workers know no more of an earlier record than
its id; a set that can't be read, or holds the record no more, leaves the id.
"""

from pathlib import Path

import msgspec

from trivium.data.dedup.config import Dedup
from trivium.data.shards import ShardSet
from trivium.data.shards.lookup import find_records
from trivium.data.stage import EXCERPT
from trivium.errors import TriviumError
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.report.meter import Cluster, Member, Reading


def tell_earlier(reading: Reading, recipe: Recipe, base: Path) -> None:
    """Puts source, address and the text's beginning into each shown survivor of an earlier set below `base`."""
    for name, config in zip(recipe.stage_names()[1:], recipe.stages, strict=True):
        clusters = reading.clusters.get(name)
        if clusters is None or not isinstance(config, Dedup):
            continue
        opened: dict[str, ShardSet | None] = {}
        clusters.largest = [_told(one, base, opened) for one in clusters.largest]


def _told(cluster: Cluster, base: Path, opened: dict[str, ShardSet | None]) -> Cluster:
    known = cluster.survivor
    if not known.earlier:
        return cluster
    if known.earlier not in opened:
        opened[known.earlier] = _opened(base / known.earlier)
    shards = opened[known.earlier]
    return cluster if shards is None else msgspec.structs.replace(cluster, survivor=_read(shards, known))


def _opened(folder: Path) -> ShardSet | None:
    try:
        return ShardSet.open(folder)
    except (TriviumError, OSError):
        return None


def _read(shards: ShardSet, known: Member) -> Member:
    try:
        found = find_records(shards, known.source_id, most=1, tell=lambda _: None)
        document = shards.read_document(next(iter(found)))
    except (StopIteration, TriviumError, OSError):
        return known
    meta = document.meta
    if meta.source_id != known.source_id:
        return known
    excerpt = document.text[:EXCERPT]
    return msgspec.structs.replace(known, source=meta.source, address=meta.address, excerpt=excerpt)
