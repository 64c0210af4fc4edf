"""Dedup clusters: what stayed, beside it what went, why, and how alike it was.

Odd: a survivor of one step may be the duplicate of another, so each drop is followed to the record that stays; it may
lie in an earlier set. Documents made of one item share its cluster, by which they are held out together, and are no
duplicates: such a cluster has the name of the item, which is no record's, and one document stands for all.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trivium.console import inline
from trivium.data.records import Document, Text
from trivium.data.shards import ShardSet
from trivium.data.stage import Drop
from trivium.errors import ShardError, StorageError
from trivium.pipelines.gallery.draw import ranked
from trivium.pipelines.gallery.earlier import EarlierSets, compared_with, place_of
from trivium.pipelines.gallery.passages import beside
from trivium.pipelines.gallery.record import LINE_LIMIT, Media, seen

KEPT, LOST = 4, 12  # members of one cluster that are shown
EXCERPT = 1500  # characters of a survivor's text
SHORT = 400  # of a duplicate's


@dataclass(slots=True)
class Cluster:
    """`kept` are record numbers, `lost` the drops that a kept one survived; `earlier` is the source_id of a survivor in
    the earlier set at `place`."""

    kept: list[int] = field(default_factory=list)
    lost: list[Drop] = field(default_factory=list)
    earlier: str = ""
    place: str = ""

    @property
    def size(self) -> int:
        return len(self.kept) + len(self.lost) + bool(self.earlier)

    @property
    def near(self) -> bool:
        return any(drop.similarity is not None and drop.similarity < 1 for drop in self.lost)


def clusters_of(shards: ShardSet, drops: Sequence[Drop]) -> dict[str, Cluster]:
    """Clusters of two members and more, by the name of the cluster."""
    entries = shards.entries
    name_of = {
        str(source): str(name or source) for source, name in zip(entries.source_id, entries.cluster, strict=True)
    }
    items = set(name_of.values())
    lost = {drop.source_id: drop for drop in drops if drop.survivor}
    found: dict[str, Cluster] = defaultdict(Cluster)
    elsewhere = bool(compared_with(shards))
    refused = {drop.source_id for drop in drops} if elsewhere else set()
    for last, gone in _by_last(lost).values():
        # An item that several documents were made of has no record: its cluster is named after it or one that went.
        named = next((one for one in (last.survivor, *(drop.source_id for drop in gone)) if one in items), None)
        name = name_of.get(last.survivor, named)
        if name is not None:
            found[name].lost += gone
        elif elsewhere and last.survivor not in refused and place_of(last):
            away = found[last.survivor]
            away.lost += gone
            away.earlier, away.place = last.survivor, place_of(last)
    names, counts = np.unique(entries.cluster, return_counts=True)
    shared = {str(name) for name, count in zip(names, counts, strict=True) if count > 1 and name}
    for at, source in enumerate(entries.source_id.tolist()):
        name = name_of[source]
        of_one_item = name not in name_of
        if (name in found or name in shared) and not (of_one_item and found[name].kept):
            found[name].kept.append(at)
    return {name: cluster for name, cluster in found.items() if cluster.size > 1 and (cluster.kept or cluster.earlier)}


def _by_last(lost: Mapping[str, Drop]) -> dict[str, tuple[Drop, list[Drop]]]:
    """By the record that stays: the last drop on a way to it, and all drops whose way ends there."""
    found: dict[str, tuple[Drop, list[Drop]]] = {}
    for drop in lost.values():
        last = followed(drop, lost)
        found.setdefault(last.survivor, (last, []))[1].append(drop)
    return found


def followed(drop: Drop, lost: Mapping[str, Drop]) -> Drop:
    """The last drop on the way to the record that stays: its survivor is that record."""
    seen = {drop.source_id}
    last = drop
    while last.survivor in lost and last.survivor not in seen:
        last = lost[last.survivor]
        seen.add(last.source_id)
    return last


def drawn(found: Mapping[str, Cluster], limit: int, seed: int) -> list[tuple[str, Cluster]]:
    """At most `limit`, half of them near duplicates as far as there are any: exact ones have little to compare."""
    near = [name for name, cluster in found.items() if cluster.near]
    exact = [name for name, cluster in found.items() if not cluster.near]
    first = ranked(near, max(limit - len(exact), (limit + 1) // 2), seed, str)
    return [(name, found[name]) for name in (*first, *ranked(exact, limit - len(first), seed, str))]


def shown(
    shards: ShardSet, name: str, cluster: Cluster, number: int, media: Media, sets: EarlierSets
) -> dict[str, Any]:
    """One cluster as plain data; members that can't be read are left out, but for a survivor in an earlier set, whose
    id and place are told."""
    kept, texts = [], {}
    for at in cluster.kept[:KEPT]:
        try:
            document, members = shards.read(at)
        except (ShardError, StorageError):
            continue
        kept.append(_kept(document, members, media))
        texts[document.meta.source_id] = document.text
    unread = len(cluster.kept) - len(kept)
    if cluster.earlier:
        kept.append(_earlier(shards, cluster, media, sets))
        texts[cluster.earlier] = kept[-1].pop("whole")
    order = sorted(cluster.lost, key=lambda drop: (drop.similarity == 1, -(drop.similarity or 0.0), drop.address))
    return {
        "set": number,
        "corpus": shards.manifest.corpus,
        "name": name,
        "near": cluster.near,
        "size": cluster.size,
        "kept": kept,
        "more_kept": unread,
        "lost": [_lost(drop, texts) for drop in order[:LOST]],
        "more_lost": max(0, len(cluster.lost) - LOST),
    }


def _earlier(shards: ShardSet, cluster: Cluster, media: Media, sets: EarlierSets) -> dict[str, Any]:
    """The survivor in an earlier set, with its `whole` text beside what is shown; id and place where it is not read."""
    place = {"earlier": cluster.place[:LINE_LIMIT], "set": None, "whole": ""}
    found = sets.read(shards, cluster.place, cluster.earlier)
    if found is None:
        fault = "that set is not at hand, so its text can't be shown; give it to `trivium shards gallery` too"
        blank = dict.fromkeys(("id", "title", "source", "address", "text", "uri"), "")
        return {**blank, **place, "source_id": cluster.earlier, "more": 0, "fault": fault}
    document, members, on_page = found
    return {**_kept(document, members, media), **place, "set": on_page, "whole": document.text}


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
        "address": inline(meta.address)[:LINE_LIMIT],
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
        "address": inline(drop.address)[:LINE_LIMIT],
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
