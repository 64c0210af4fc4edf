"""Going on over what is sound in damaged sets; what is not is told once, with its cure, and nothing is passed over
silently.

Odd: `tell` gets one line a fault: a shard's when its index or its tar is at fault, else the record's.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from trivium.data.records import Document
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.summary import Head
from trivium.errors import ShardError

Tell = Callable[[str], None]


def refuse(fault: str) -> None:
    """For whom one fault is the end. Raises ShardError."""
    raise ShardError(fault)


class Faults:
    """Gathers what is told, each fault once, in `found`."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    @property
    def found(self) -> list[str]:
        return list(self._found)

    def __call__(self, fault: str) -> None:
        self._found[fault] = None


def opened(head: Head) -> ShardSet:
    """The whole set, damaged or not; what can't be read fails when it is read."""
    return ShardSet(head.folder, head.manifest, head.digest, head.faults)


def sound_part(shards: ShardSet, tell: Tell) -> ShardSet:
    """The set without the shards whose index can't be read, which are told unless they stand in `faults`."""
    infos = [info for number, info in enumerate(shards.manifest.shards) if indexed(shards, number, tell)]
    if len(infos) == len(shards.manifest.shards):
        return shards
    only = msgspec.structs.replace(shards.manifest, shards=tuple(infos))
    return ShardSet(shards.folder, only, shards.digest, shards.faults, shards.ledger.keep)


def each_document(shards: ShardSet, tell: Tell, records: Iterable[int] | None = None) -> Iterator[tuple[int, Document]]:
    """The documents that can be read, in order: of `records`, or of the whole set. What lies before the cut of a tar
    can be. Raises StorageError."""
    lost, last, known = dict.fromkeys(shards.faults, 0), -1, True
    for record in range(len(shards)) if records is None else records:
        shard, _ = shards.locate(record)
        name = shards.manifest.shards[shard].name
        if shard != last:
            last, known = shard, indexed(shards, shard, tell)
        try:
            if known:
                yield record, shards.read_document(record)
                continue
        except ShardError as error:
            if name not in lost:
                tell(str(error))
        if name in lost:
            lost[name] += 1
    for name, count in lost.items():
        tell(shards.faults[name] + (f" ({count:,} records of it can't be read)" if count else ""))


def indexed(shards: ShardSet, shard: int, tell: Tell) -> bool:
    """Whether a shard's index can be read; if not it is told, unless it stands in `faults`. Raises StorageError."""
    try:
        shards.ledger.sheet(shard)
    except ShardError as error:
        if shards.manifest.shards[shard].name not in shards.faults:
            tell(str(error))
        return False
    return True
