"""One record as the page shows it: every text, list and picture bounded, media decoded behind a guard."""

import base64
from typing import Any

import msgspec

from trivium.console import inline
from trivium.data.preview import LIMITS, Preview, Previewer
from trivium.data.records import Document, Image, Text, Video
from trivium.data.shards import ShardSet
from trivium.pipelines.gallery.pair import pair, sides, task
from trivium.pipelines.gallery.rewrite import rewritten

TEXT_LIMIT = 12_000  # characters of one record in all
LINE_LIMIT = 300  # characters of a title, an address, a name
LIST_LIMIT = 40  # duplicates, parents, steps, scores
SEGMENTS = 200
PICTURES = 12  # thumbnails of one record
CLIPS = 120  # decoded for one page
CLIP_BYTES = 256 << 20  # a larger one is not read into memory
MOST_TIMEOUTS = 4  # after so many clips that ran out of time no more are decoded


class Media:
    """Pictures and clips of one page as data: addresses, or a reason for each that can't be seen."""

    def __init__(self, previewer: Previewer) -> None:
        self._previewer = previewer
        self._clips = self._timeouts = 0

    def picture(self, payload: bytes, side: int) -> dict[str, Any]:
        """`{"uri": …}` or `{"fault": …}`; at most `side` pixels a side."""
        seen = self._previewer.picture(payload, side)
        return {"fault": seen.fault} if seen.fault else {"uri": _uri(seen.shown[0].webp)}

    def clip(self, payload: bytes, segment: Video, side: int, frames: int) -> dict[str, Any]:
        """`{"strip": [{uri, seconds}], "notes": […], …}` or `{"fault": …}`."""
        if self._timeouts >= MOST_TIMEOUTS:
            return {"fault": f"not decoded: {MOST_TIMEOUTS} clips before it took longer than {LIMITS.wall_seconds:g} s"}
        if self._clips >= CLIPS:
            return {"fault": f"not decoded: a page shows the first {CLIPS} clips"}
        if len(payload) > CLIP_BYTES:
            return {"fault": f"not decoded: {len(payload):,} bytes, at most {CLIP_BYTES:,}"}
        self._clips += 1
        seen = self._previewer.clip(payload, side, frames)
        if seen.fault:
            self._timeouts += seen.fault.startswith("timeout")
            return {"fault": seen.fault}
        return {
            "strip": [{"uri": _uri(one.webp), "seconds": one.seconds} for one in seen.shown],
            "seconds": seen.seconds,
            "codec": seen.codec,
            "packets": seen.packets,
            "notes": clip_notes(seen, segment),
        }


def clip_notes(seen: Preview, segment: Video) -> list[str]:
    """Where the record and its clip differ, and what the decoders say."""
    notes = []
    if abs(segment.frames - seen.packets) > 1:
        notes.append(f"the record states {segment.frames} frames, the clip holds {seen.packets}")
    if (segment.width, segment.height) != (seen.width, seen.height):
        notes.append(
            f"the record states {segment.width} × {segment.height} pixels, the clip has {seen.width} × {seen.height}"
        )
    return [*notes, *seen.notes]


def record(shards: ShardSet, at: int, number: int, media: Media) -> dict[str, Any]:
    """Record `at` of set `number`. Raises ShardError when it can't be read."""
    document, members = shards.read(at)
    entries, meta = shards.entries, document.meta
    info = shards.manifest.shards[entries.shard[at]]
    shown = segments(document, members, media)
    cut = rewritten(document)
    return {
        "set": number,
        "id": document.id,
        "source_id": meta.source_id,
        "corpus": meta.corpus,
        "bucket": info.bucket,
        "language": meta.language[:LINE_LIMIT],
        "licence": meta.license[:LINE_LIMIT],
        "title": meta.title[:LINE_LIMIT],
        "source": meta.source[:LINE_LIMIT],
        "address": inline(meta.address)[:LINE_LIMIT],
        "sha256": meta.lineage.source_sha256[:LINE_LIMIT],
        "recipe": meta.lineage.recipe[:LINE_LIMIT],
        "parents": list(meta.lineage.parents[:LIST_LIMIT]),
        "steps": [_step(step) for step in msgspec.to_builtins(meta.lineage.steps[:LIST_LIMIT])],
        "scores": {name[:60]: score for name, score in sorted(meta.scores.items())[:LIST_LIMIT]},
        "cluster": meta.cluster,
        "duplicates": list(meta.duplicates[:LIST_LIMIT]),
        "more_duplicates": max(0, len(meta.duplicates) - LIST_LIMIT),
        "evidence": msgspec.to_builtins(meta.evidence[:LIST_LIMIT]),
        "tokens": int(entries.tokens[at]),
        "patches": int(entries.patches[at]),
        "bytes": int(entries.size[at]),
        "shard": info.name,
        "offset": int(entries.offset[at]),
        "segments": shown,
        "pair": pair(document, shown),
        "task": task(document) or (cut["style"] if cut else ""),
        "rewrite": cut,
        "more_segments": max(0, len(document.segments) - SEGMENTS),
    }


def segments(document: Document, members: dict[str, bytes], media: Media) -> list[dict[str, Any]]:
    """The first SEGMENTS segments, with at most TEXT_LIMIT characters and PICTURES pictures and clips in all."""
    left, pictures = TEXT_LIMIT, PICTURES
    shown: list[dict[str, Any]] = []
    for segment in document.segments[:SEGMENTS]:
        if isinstance(segment, Text):
            text = segment.text[:left]
            left -= len(text)
            shown.append({"text": text, "loss": segment.loss, "more": len(segment.text) - len(text)})
            continue
        facts = {"media": segment.media, "width": segment.width, "height": segment.height, "mime": segment.mime[:60]}
        if isinstance(segment, Video):
            facts |= {"frames": segment.frames, "fps": segment.fps}
        pictures -= 1
        if pictures < 0:
            shown.append({**facts, "fault": f"not drawn: the page shows {PICTURES} pictures of a record"})
        else:
            engine = document.meta.drawn[0].engine if document.meta.drawn else ""
            shown.append({**facts, **seen(segment, members[segment.media], media, engine)})
    return shown


def seen(segment: Image | Video, payload: bytes, media: Media, engine: str = "") -> dict[str, Any]:
    """A picture or clip as data, larger where `engine` drew it from the record's code."""
    side, frames = sides(segment, engine)
    if isinstance(segment, Video):
        return {"strip": [], **media.clip(payload, segment, side, frames)}
    return media.picture(payload, side)


def _step(step: dict[str, Any]) -> dict[str, Any]:
    return {key: value[:LINE_LIMIT] if isinstance(value, str) else value for key, value in step.items()}


def _uri(webp: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(webp).decode()
