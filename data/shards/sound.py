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


class Losses:
    """Records of one set that could not be read: each is told, but those of a tar that is cut or gone together, with
    it."""

    def __init__(self, shards: ShardSet, tell: Tell) -> None:
        self._shards, self._tell = shards, tell
        self._lost = dict.fromkeys(shards.faults, 0)

    def take(self, record: int, error: ShardError | None) -> None:
        """Counts a record; None where its index was told already."""
        name = self._shards.manifest.shards[self._shards.locate(record)[0]].name
        if name in self._lost:
            self._lost[name] += 1
        elif error is not None:
            self._tell(str(error))

    def end(self) -> None:
        """Tells the tars and how many records each has cost."""
        for name, count in self._lost.items():
            what = f" ({count:,} of its records can't be read)" if count > 1 else " (1 of its records can't be read)"
            self._tell(self._shards.faults[name] + (what if count else ""))


def each_document(shards: ShardSet, tell: Tell, records: Iterable[int] | None = None) -> Iterator[tuple[int, Document]]:
    """The documents that can be read, in order: of `records`, or of the whole set. What lies before the cut of a tar
    can be. Raises StorageError."""
    losses, last, known = Losses(shards, tell), -1, True
    for record in range(len(shards)) if records is None else records:
        shard, _ = shards.locate(record)
        if shard != last:
            last, known = shard, indexed(shards, shard, tell)
        try:
            if known:
                yield record, shards.read_document(record)
            else:
                losses.take(record, None)
        except ShardError as error:
            losses.take(record, error)
    losses.end()


def indexed(shards: ShardSet, shard: int, tell: Tell) -> bool:
    """Whether a shard's index can be read; if not it is told, unless it stands in `faults`. Raises StorageError."""
    try:
        shards.ledger.sheet(shard)
    except ShardError as error:
        if shards.manifest.shards[shard].name not in shards.faults:
            tell(str(error))
        return False
    return True
