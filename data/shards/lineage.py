"""Where a record came from, back to the source bytes: its steps, its parents as far as they are at hand, the place in
the recipe's source, as recorded."""

from collections.abc import Sequence
from typing import Any

import msgspec

from trivium.data.records import Document
from trivium.data.shards.lookup import find_records, open_at
from trivium.data.shards.summary import Headed

DEPTH = 32  # generations that are followed


def trace(document: Document, head: Headed, heads: Sequence[Headed], depth: int = DEPTH) -> dict[str, Any]:
    """The chain as plain data: `source` (its entry in the recipe), `address`, `sha256`, `steps`, and `parents`, each
    the same again or `{"id", "missing": true}` when no set of `heads` has it. Raises ShardError for a damaged set."""
    meta = document.meta
    sources = head.manifest.resolved.get("sources")
    recorded = [one for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    return {
        "id": document.id,
        "set": str(head.folder),
        "source_id": meta.source_id,
        "source": next((one for one in recorded if one.get("name") == meta.source), {"name": meta.source}),
        "address": meta.address,
        "sha256": meta.lineage.source_sha256,
        "recipe": meta.lineage.recipe,
        "steps": msgspec.to_builtins(meta.lineage.steps),
        "tokenised_from": head.manifest.parent,
        "parents": [_parent(key, heads, depth - 1) for key in meta.lineage.parents],
    }


def _parent(key: str, heads: Sequence[Headed], depth: int) -> dict[str, Any]:
    for head in heads if depth > 0 else ():
        for info, found in find_records(head, key, most=1):
            shards, number = open_at(head, info, found)
            return trace(shards.read_document(number), head, heads, depth)
    return {"id": key, "missing": True}
