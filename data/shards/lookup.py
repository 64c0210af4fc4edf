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
from trivium.data.shards.sound import Tell, indexed, opened, refuse
from trivium.data.shards.summary import Head
from trivium.errors import ShardError


class _Keys(msgspec.Struct, frozen=True):
    id: list[str]
    source_id: list[str]


def find_records(shards: ShardSet, key: str, most: int = 3, tell: Tell = refuse) -> dict[int, str]:
    """Ids, by number, of the records that `key` names: an id, else a source_id, else the beginning of either; `most` at
    most.

    A damaged index is told, and the search goes on. Raises StorageError.
    """
    if not key or not key.isascii() or not key.isalnum():
        return {}
    found: dict[int, str] = {}
    infos, starts = shards.manifest.shards, shards.ledger.starts
    lost: set[int] = set()

    def search(shard: int, whole: bool) -> dict[int, str]:
        try:
            if not whole:
                return _beginning(shards.folder, infos[shard], key, starts[shard])
            row = shards.ledger.sheet(shard).row(key)
            return {} if row is None else {starts[shard] + row: key}
        except ShardError as error:
            lost.add(shard)
            tell(str(error))
            return {}

    if names.ID.fullmatch(key):
        for shard in [n for n, info in enumerate(infos) if info.first <= key <= info.last]:
            found = search(shard, whole=True)
            if found:
                return found
    for shard in range(len(infos)):
        if len(found) < most and shard not in lost:
            found |= search(shard, whole=False)
    return dict(list(found.items())[:most])


def _beginning(folder: Place, info: ShardInfo, key: str, start: int) -> dict[int, str]:
    raw = read_raw(folder, info)
    if f'"{key}'.encode() not in raw:
        return {}
    try:
        keys = msgspec.json.decode(raw, type=_Keys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ShardError(f"{folder}: the index of {info.name} is damaged ({error}); build the set again") from None
    if len(keys.id) != len(keys.source_id):
        raise ShardError(f"{folder}: the index of {info.name} has columns that differ in length; build the set again")
    pairs = enumerate(zip(keys.id, keys.source_id, strict=True), start)
    return {number: one for number, (one, source) in pairs if one.startswith(key) or source.startswith(key)}


def open_first(head: Head, records: int, tell: Tell = refuse) -> ShardSet:
    """The sound shards at the set's beginning that hold `records` records, or all there are; damaged indexes are told
    and passed over."""
    whole = opened(head)
    infos, held = [], 0
    for number, info in enumerate(head.manifest.shards):
        if held >= records:
            break
        if info.name not in head.faults and indexed(whole, number, tell):
            infos.append(info)
            held += info.records
    return ShardSet(head.folder, msgspec.structs.replace(head.manifest, shards=tuple(infos)), head.digest)
