"""One record by its id without reading a whole set: at most one index of each bucket for an id, no tar ever.

Odd: shards of a bucket hold ascending runs of ids, and the manifest has each run's ends. For a source_id, or the
beginning of an id, the raw bytes of the indexes are searched and only those that hold the text are parsed.
"""

import msgspec

from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.index import read_raw
from trivium.data.shards.manifest import ShardInfo
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.summary import Head, Headed
from trivium.errors import ShardError


class _Keys(msgspec.Struct, frozen=True):
    id: list[str]
    source_id: list[str]


def find_records(head: Headed, key: str, most: int = 3) -> list[tuple[ShardInfo, str]]:
    """Shard and id of the records that `key` names: an id, else a source_id, else the beginning of either; `most` at
    most. Raises ShardError for a damaged index."""
    folder, infos = head.folder, head.manifest.shards
    if not key or not key.isascii() or not key.isalnum():
        return []
    if names.ID.fullmatch(key):
        for info in infos:
            if info.first <= key <= info.last:
                raw = read_raw(folder, info)
                start = raw.find(b'"id":[')  # the column of ids, up to its end
                if start >= 0 and raw.find(f'"{key}"'.encode(), start, raw.find(b"]", start)) >= 0:
                    return [(info, key)]
    found: dict[str, ShardInfo] = {}
    for info in infos:
        raw = read_raw(folder, info)
        if f'"{key}'.encode() not in raw:
            continue
        keys = _keys(raw, folder, info)
        for one, source in zip(keys.id, keys.source_id, strict=True):
            if one.startswith(key) or source.startswith(key):
                found.setdefault(one, info)
                if len(found) >= most:
                    return [(info, one) for one, info in found.items()]
    return [(info, one) for one, info in found.items()]


def _keys(raw: bytes, folder: Place, info: ShardInfo) -> _Keys:
    try:
        keys = msgspec.json.decode(raw, type=_Keys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ShardError(f"{folder}: the index of {info.name} is damaged ({error}); build the set again") from None
    if len(keys.id) != len(keys.source_id):
        raise ShardError(f"{folder}: the index of {info.name} has columns that differ in length; build the set again")
    return keys


def open_at(head: Headed, info: ShardInfo, key: str) -> tuple[ShardSet, int]:
    """The set, whole or damaged, and the record's number in it."""
    shards = ShardSet(head.folder, head.manifest, head.digest, head.faults)
    shard = head.manifest.shards.index(info)
    row = shards.ledger.sheet(shard).row(key)
    if row is None:
        raise ShardError(f"{head.folder}: {info.name} holds no record {key}")
    return shards, shards.ledger.starts[shard] + row


def open_first(head: Head, records: int) -> ShardSet:
    """The sound shards at the set's beginning that hold `records` records, or all there are."""
    infos, held = [], 0
    for info in head.manifest.shards:
        if held < records and info.name not in head.faults:
            infos.append(info)
            held += info.records
    return ShardSet(head.folder, msgspec.structs.replace(head.manifest, shards=tuple(infos)), head.digest)
