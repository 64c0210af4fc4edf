"""Dedup clusters: what stayed, beside it what went, why, and how alike it was.

Odd: a survivor of one step may be the duplicate of another, so each drop is followed to the record that stays.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trivium.data.records import Document, Text
from trivium.data.shards import ShardSet
from trivium.data.stage import Drop
from trivium.errors import ShardError, StorageError
from trivium.pipelines.gallery.draw import ranked
from trivium.pipelines.gallery.passages import beside
from trivium.pipelines.gallery.record import LINE_LIMIT, Media, seen

KEPT, LOST = 4, 12  # members of one cluster that are shown
EXCERPT = 1500  # characters of a survivor's text
SHORT = 400  # of a duplicate's


@dataclass(slots=True)
class Cluster:
    """`kept` are record numbers, `lost` the drops that a kept one survived."""

    kept: list[int] = field(default_factory=list)
    lost: list[Drop] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.kept) + len(self.lost)

    @property
    def near(self) -> bool:
        return any(drop.similarity is not None and drop.similarity < 1 for drop in self.lost)


def clusters_of(shards: ShardSet, drops: Sequence[Drop]) -> dict[str, Cluster]:
    """Clusters of two members and more, by the name of the cluster."""
    entries = shards.entries
    name_of = {
        str(source): str(name or source) for source, name in zip(entries.source_id, entries.cluster, strict=True)
    }
    lost = {drop.source_id: drop for drop in drops if drop.survivor}
    found: dict[str, Cluster] = defaultdict(Cluster)
    for drop in lost.values():
        name = name_of.get(survivor(drop, lost))
        if name is not None:
            found[name].lost.append(drop)
    names, counts = np.unique(entries.cluster, return_counts=True)
    shared = {str(name) for name, count in zip(names, counts, strict=True) if count > 1 and name}
    for at, source in enumerate(entries.source_id.tolist()):
        name = name_of[source]
        if name in found or name in shared:
            found[name].kept.append(at)
    return {name: cluster for name, cluster in found.items() if cluster.size > 1 and cluster.kept}


def survivor(drop: Drop, lost: Mapping[str, Drop]) -> str:
    """The source_id of the record that stays in the end."""
    seen = {drop.source_id}
    key = drop.survivor
    while key in lost and key not in seen:
        seen.add(key)
        key = lost[key].survivor
    return key


def drawn(found: Mapping[str, Cluster], limit: int, seed: int) -> list[tuple[str, Cluster]]:
    """At most `limit`, half of them near duplicates as far as there are any: exact ones have little to compare."""
    near = [name for name, cluster in found.items() if cluster.near]
    exact = [name for name, cluster in found.items() if not cluster.near]
    first = ranked(near, max(limit - len(exact), (limit + 1) // 2), seed, str)
    return [(name, found[name]) for name in (*first, *ranked(exact, limit - len(first), seed, str))]


def shown(shards: ShardSet, name: str, cluster: Cluster, number: int, media: Media) -> dict[str, Any]:
    """One cluster as plain data; members that can't be read are left out."""
    kept, texts = [], {}
    for at in cluster.kept[:KEPT]:
        try:
            document, members = shards.read(at)
        except (ShardError, StorageError):
            continue
        kept.append(_kept(document, members, media))
        texts[document.meta.source_id] = document.text
    order = sorted(cluster.lost, key=lambda drop: (drop.similarity == 1, -(drop.similarity or 0.0), drop.address))
    return {
        "set": number,
        "corpus": shards.manifest.corpus,
        "name": name,
        "near": cluster.near,
        "size": cluster.size,
        "kept": kept,
        "more_kept": len(cluster.kept) - len(kept),
        "lost": [_lost(drop, texts) for drop in order[:LOST]],
        "more_lost": max(0, len(cluster.lost) - LOST),
    }


def _kept(document: Document, members: Mapping[str, bytes], media: Media) -> dict[str, Any]:
    meta = document.meta
    face: dict[str, Any] = {}
    first = next((segment for segment in document.segments if not isinstance(segment, Text)), None)
    if first is not None:
        face = seen(first, members[first.media], media)
    return {
        "id": document.id,
        "source_id": meta.source_id,
        "title": meta.title[:LINE_LIMIT],
        "source": meta.source[:LINE_LIMIT],
        "address": meta.address[:LINE_LIMIT],
        "text": document.text[:EXCERPT],
        "more": max(0, len(document.text) - EXCERPT),
        "uri": face.get("uri") or next((one["uri"] for one in face.get("strip", [])), ""),
    }


def _lost(drop: Drop, texts: Mapping[str, str]) -> dict[str, Any]:
    """A duplicate; near ones with their passage and the survivor's, where the two texts part."""
    near = drop.similarity is not None and drop.similarity < 1
    stays = texts.get(drop.survivor, "") if near else ""
    found = beside(stays, drop.excerpt[:SHORT], drop.begins) if stays and drop.excerpt else None
    return {
        "source_id": drop.source_id,
        "source": drop.source[:LINE_LIMIT],
        "address": drop.address[:LINE_LIMIT],
        "stage": drop.stage[:LINE_LIMIT],
        "reason": drop.reason[:LINE_LIMIT],
        "detail": drop.detail[:LINE_LIMIT],
        "text": drop.excerpt[:SHORT],
        "similarity": drop.similarity,
        "survivor": drop.survivor,
        "band": drop.band,
        "beside": drop.beside,
        "begins": drop.begins,
        "stays_at": found[0] if found else 0,
        "stays": found[1] if found else [],
        "went": found[2] if found else [],
    }
