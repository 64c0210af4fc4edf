"""Where a record came from, back to the source bytes: its steps, its parents as far as they are at hand, the place in
the recipe's source, as recorded."""

from collections.abc import Sequence
from typing import Any

import msgspec

from trivium.data.records import Document
from trivium.data.shards.lookup import find_records
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.sound import Tell, refuse
from trivium.errors import ShardError

DEPTH = 32  # generations that are followed


def trace(
    document: Document,
    shards: ShardSet,
    sets: Sequence[ShardSet],
    depth: int = DEPTH,
    tell: Tell = refuse,
) -> dict[str, Any]:
    """The chain as plain data: `source` (its entry in the recipe), `address`, `sha256`, `steps`, and `parents`, each
    the same again or `{"id", "missing": true}` when none of `sets` has it.

    Damage is told, and its records count as missing.
    """
    meta = document.meta
    sources = shards.manifest.resolved.get("sources")
    recorded = [one for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    return {
        "id": document.id,
        "set": str(shards.folder),
        "source_id": meta.source_id,
        "source": next((one for one in recorded if one.get("name") == meta.source), {"name": meta.source}),
        "address": meta.address,
        "sha256": meta.lineage.source_sha256,
        "recipe": meta.lineage.recipe,
        "steps": msgspec.to_builtins(meta.lineage.steps),
        "tokenised_from": shards.manifest.parent,
        "parents": [_parent(key, sets, depth - 1, tell) for key in meta.lineage.parents],
    }


def _parent(key: str, sets: Sequence[ShardSet], depth: int, tell: Tell) -> dict[str, Any]:
    for shards in sets if depth > 0 else ():
        for number in find_records(shards, key, most=1, tell=tell):
            try:
                document = shards.read_document(number)
            except ShardError as error:
                tell(str(error))
                continue
            return trace(document, shards, sets, depth, tell)
    return {"id": key, "missing": True}
