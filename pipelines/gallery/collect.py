"""What the page shows of each set, as plain data: a drawn sample of records, rejects by reason, funnel, totals.

Odd: the draw is a pure function of seed and ids, and everything is bounded: records, characters a text, pixels a
thumbnail, and the bytes of the page in all.
"""

import base64
import hashlib
import io
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
import numpy as np

from trivium.data.records import Document, Text
from trivium.data.shards import ShardSet
from trivium.data.shards.summary import summarize
from trivium.data.stage import Drop

TEXT_LIMIT = 12_000  # characters shown of one record
EXCERPT_LIMIT = 400
THUMBNAIL = 256  # pixels a side, at most
MOST_PIXELS = 64_000_000  # a larger picture is named, not decoded
PAGE_BYTES = 24 << 20  # of record data in all

T = TypeVar("T")


def draw(items: Iterable[T], limit: int, seed: int, key: "Any") -> list[T]:
    """At most `limit` of the items, by a hash of seed and key, in the items' own order."""
    every = list(items)
    ranked = sorted(every, key=lambda item: hashlib.sha256(f"{seed} {key(item)}".encode()).digest())
    chosen = {id(item) for item in ranked[:limit]}
    return [item for item in every if id(item) in chosen]


def collect(sets: list[ShardSet], limit: int, seed: int) -> dict[str, Any]:
    """Plain data of the page: `sets` (facts and funnel), `records`, `rejects`, and what was left out."""
    records: list[dict[str, Any]] = []
    rejects: list[dict[str, Any]] = []
    facts = []
    spent = 0
    for number, shards in enumerate(sets):
        summary = summarize(shards)
        summary["clusters"] = len(np.unique(shards.entries.cluster))
        summary["funnel"] = msgspec.to_builtins(shards.manifest.funnel)
        summary["reasons"] = _reasons(shards)
        facts.append(summary)
        chosen = draw(list(range(len(shards))), limit, seed, lambda at, s=shards: s.entries.id[at])
        share = PAGE_BYTES * (number + 1) // len(sets)
        for at in chosen:
            one = record(shards, at, number)
            cost = len(msgspec.json.encode(one))
            if spent + cost > share:
                break
            spent += cost
            records.append(one)
        rejects += [_reject(drop, number) for drop in _drawn_rejects(shards, limit, seed)]
    return {"sets": facts, "records": records, "rejects": rejects}


def record(shards: ShardSet, at: int, number: int) -> dict[str, Any]:
    """One record: its segments with thumbnails, its lineage, its place."""
    document, media = shards.read(at)
    entries, meta = shards.entries, document.meta
    return {
        "set": number,
        "id": document.id,
        "source_id": meta.source_id,
        "corpus": meta.corpus,
        "language": meta.language,
        "licence": meta.license,
        "title": meta.title,
        "source": meta.source,
        "address": meta.address,
        "sha256": meta.lineage.source_sha256,
        "recipe": meta.lineage.recipe,
        "parents": list(meta.lineage.parents),
        "steps": [msgspec.to_builtins(step) for step in meta.lineage.steps],
        "scores": dict(sorted(meta.scores.items())),
        "cluster": meta.cluster,
        "duplicates": list(meta.duplicates),
        "tokens": int(entries.tokens[at]),
        "patches": int(entries.patches[at]),
        "bytes": int(entries.size[at]),
        "shard": shards.manifest.shards[entries.shard[at]].name,
        "offset": int(entries.offset[at]),
        "segments": _segments(document, media),
    }


def _segments(document: Document, media: dict[str, bytes]) -> list[dict[str, Any]]:
    left = TEXT_LIMIT
    shown: list[dict[str, Any]] = []
    for segment in document.segments:
        if isinstance(segment, Text):
            text = segment.text[:left]
            left -= len(text)
            shown.append({"text": text, "loss": segment.loss, "more": len(segment.text) - len(text)})
        else:
            facts = {"media": segment.media, "width": segment.width, "height": segment.height, "mime": segment.mime}
            shown.append({**facts, **thumbnail(media[segment.media])})
    return shown


def thumbnail(payload: bytes) -> dict[str, str]:
    """`{"uri": data URI}` of the picture at most THUMBNAIL pixels a side, or `{"fault": reason}`."""
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(payload), formats=("PNG", "JPEG", "WEBP", "GIF", "BMP")) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return {"fault": "too large to show"}
            small = opened.convert("RGBA")
    except Exception as error:  # Pillow raises many kinds for damaged files
        return {"fault": f"can't be decoded ({type(error).__name__})"}
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    target = io.BytesIO()
    small.save(target, "WEBP", quality=82, method=4)
    return {"uri": "data:image/webp;base64," + base64.b64encode(target.getvalue()).decode()}


def _reasons(shards: ShardSet) -> dict[str, int]:
    """How many rejects there are of each `stage: reason`, all of them."""
    counts: dict[str, int] = defaultdict(int)
    for drop in shards.rejects():
        counts[f"{drop.stage}: {drop.reason}"] += 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _drawn_rejects(shards: ShardSet, limit: int, seed: int) -> list[Drop]:
    """At most `limit`, an equal share for each reason, so that rare reasons are seen."""
    by_reason: dict[str, list[Drop]] = defaultdict(list)
    for drop in shards.rejects():
        by_reason[f"{drop.stage}: {drop.reason}"].append(drop)
    share = max(1, limit // max(1, len(by_reason)))
    found = []
    for reason in sorted(by_reason):
        found += draw(by_reason[reason], share, seed, lambda drop: f"{drop.source_id} {drop.address}")
    return found


def _reject(drop: Drop, number: int) -> dict[str, Any]:
    shown = msgspec.to_builtins(drop)
    return {**shown, "excerpt": drop.excerpt[:EXCERPT_LIMIT], "detail": drop.detail[:EXCERPT_LIMIT], "set": number}
