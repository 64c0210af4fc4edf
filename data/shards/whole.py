"""A whole small set written in one process; what Beam jobs do in parts, with the same result."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from trivium.data import records
from trivium.data.shards import names
from trivium.data.shards.index import tally
from trivium.data.shards.manifest import Manifest, begin, write_manifest
from trivium.data.shards.plan import bucket_for, plan_shards, stored_bytes
from trivium.data.shards.writer import Record, write_rejects, write_shard
from trivium.data.stage import Drop
from trivium.errors import ShardError

TARGET_BYTES = 256 << 20


def write_set(
    folder: Path,
    items: Iterable[Record],
    manifest: Manifest,
    *,
    target_bytes: int = TARGET_BYTES,
    rejects: Mapping[str, Iterable[Drop]] | None = None,
) -> Manifest:
    """Writes records, in any order, as a set under `folder`; all of them stay in memory, so it is for small sets.

    `manifest` gives corpus, digests and buckets; shards, licences, languages and rejects are filled in. Raises
    ShardError for a record that the writer refuses or that no bucket holds.
    """
    begin(folder)
    by_bucket: dict[str, dict[str, Record]] = defaultdict(dict)
    for document, media in items:
        tokens = len(media.get(names.TOKENS, b"")) // 4
        bucket = bucket_for(tokens, manifest.buckets)
        if bucket is None:
            raise ShardError(f"record {document.id}: {tokens} tokens are more than bucket {manifest.buckets[-1]} holds")
        if document.id in by_bucket[bucket.name]:
            raise ShardError(f"record {document.id} comes twice; equal contents are one record (exact dedup first)")
        by_bucket[bucket.name][document.id] = (document, media)
    infos = []
    for bucket in manifest.buckets:
        held = by_bucket[bucket.name]
        for number, run in enumerate(plan_shards({key: record_bytes(held[key]) for key in held}, target_bytes)):
            path = folder / names.SHARDS / names.shard_name(manifest.corpus, bucket.name, number)
            infos.append(write_shard(path, (held[key] for key in run), rules=manifest.picture_rules))
    refused = sum(write_rejects(folder, name, drops) for name, drops in (rejects or {}).items())
    licences, languages = tally(folder, tuple(infos))
    whole = msgspec.structs.replace(
        manifest, shards=tuple(infos), licences=licences, languages=languages, rejects=refused
    )
    return write_manifest(folder, whole)


def record_bytes(record: Record) -> int:
    """Bytes that a record takes in a tar."""
    document, media = record
    return stored_bytes([len(records.encode(document)), *(len(payload) for payload in media.values())])
