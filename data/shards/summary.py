"""What a set holds, from manifest and indexes alone: counts by bucket, licence and language, and a length histogram."""

from pathlib import Path
from typing import Any

import numpy as np

from trivium.data.shards import names
from trivium.data.shards.reader import Entries, ShardSet
from trivium.errors import InputError


def find_sets(paths: list[Path]) -> list[Path]:
    """The shard sets at or below the given folders, sorted. Raises InputError when there is none."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            raise InputError(f"{path}: no such folder; give a shard set or a folder of sets")
        below = [path] if (path / names.MANIFEST).is_file() else sorted(p.parent for p in path.rglob(names.MANIFEST))
        if not below:
            raise InputError(f"{path}: no {names.MANIFEST} here or below; a build that did not finish has none")
        found += [folder for folder in below if folder not in found]
    return found


def summarize(shards: ShardSet) -> dict[str, Any]:
    """Facts of one set, ready for JSON."""
    manifest, entries = shards.manifest, shards.entries
    buckets = np.array([manifest.shards[number].bucket for number in entries.shard], np.str_)
    return {
        "path": str(shards.folder),
        "digest": shards.digest,
        "corpus": manifest.corpus,
        "domain": manifest.domain,
        "recipe": manifest.recipe,
        "tokenizer": manifest.tokenizer,
        "pictures": manifest.pictures,
        "shards": len(manifest.shards),
        "records": len(entries),
        "tokens": int(entries.tokens.sum()),
        "patches": int(entries.patches.sum()),
        "images": int(entries.images.sum()),
        "bytes": sum(info.bytes for info in manifest.shards),
        "clusters": len(np.unique(entries.cluster)),
        "rejects": manifest.rejects,
        "buckets": {b.name: _sums(entries, buckets == b.name) for b in manifest.buckets},
        "licences": {str(name): _sums(entries, entries.license == name) for name in np.unique(entries.license)},
        "languages": {str(name): _sums(entries, entries.language == name) for name in np.unique(entries.language)},
        "histogram": histogram(entries),
    }


def _sums(entries: Entries, chosen: Any) -> dict[str, int]:
    return {
        "records": int(chosen.sum()),
        "tokens": int(entries.tokens[chosen].sum()),
        "patches": int(entries.patches[chosen].sum()),
    }


def histogram(entries: Entries) -> dict[str, Any]:
    """Records by length in powers of two: tokens when there are any, else bytes. `edges[i] ≤ length < edges[i + 1]`."""
    unit = "tokens" if entries.tokens.any() else "bytes"
    lengths = entries.tokens if unit == "tokens" else entries.size
    if not len(lengths):
        return {"unit": unit, "edges": [], "records": []}
    powers = np.floor(np.log2(np.maximum(1, lengths))).astype(int)
    low, high = int(powers.min()), int(powers.max())
    counts = [int((powers == power).sum()) for power in range(low, high + 1)]
    return {"unit": unit, "edges": [1 << power for power in range(low, high + 2)], "records": counts}
