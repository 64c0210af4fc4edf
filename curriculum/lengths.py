"""Sizes of a corpus's training documents, looked up by record number: compact columns, in memory or mapped from a file.

Odd: a document that may not be trained on (held out, or a twin of one) has 0 tokens here, so that a pool is all of a
bucket's records and nothing needs a list of the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Column = npt.NDArray[np.uint32]

SCAN = 1 << 17  # documents looked at together when a bucket is summed up


@dataclass(frozen=True)
class Runs:
    """Record numbers of one pool as runs [start, stop), ascending: a bucket's shards lie together, so runs are few."""

    start: Integers
    before: Integers  # items before each run, and all of them at the end

    @classmethod
    def of(cls, mask: npt.NDArray[np.bool_]) -> "Runs":
        """The runs of True."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
        return cls.between(edges[0::2], edges[1::2])

    @classmethod
    def between(cls, start: Integers, stop: Integers) -> "Runs":
        """Runs from their ends, ascending; those that touch become one."""
        if len(start):
            first = np.concatenate([[True], start[1:] != stop[:-1]])
            start, stop = start[first], stop[np.concatenate([first[1:], [True]])]
        return cls(start.astype(np.int64), np.concatenate([[0], np.cumsum(stop - start)]).astype(np.int64))

    def __len__(self) -> int:
        return int(self.before[-1])

    def records(self, items: Integers) -> Integers:
        """Record numbers of the pool's items."""
        if len(self.start) == 1:
            return items + int(self.start[0])
        run = np.searchsorted(self.before, items, side="right") - 1
        return np.asarray(items - self.before[run] + self.start[run])


class Lengths(Protocol):
    """Where a corpus's sizes come from."""

    def runs(self, bucket: int) -> Runs:
        """The records of bucket number `bucket`, those that may not be trained on among them."""

    def sizes(self, records: Integers) -> tuple[Integers, Integers]:
        """Tokens (0: not for training) and patches of records."""

    def groups(self, bucket: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        """All documents of a bucket in any order, as (tokens, patches, how many documents of that size) in parts."""


@dataclass(frozen=True)
class Columns:
    """Sizes as arrays, one entry a record; no document of the corpus has patches where `patches` is None."""

    tokens: Column
    patches: Column | None
    buckets: tuple[Runs, ...]

    def runs(self, bucket: int) -> Runs:
        return self.buckets[bucket]

    def sizes(self, records: Integers) -> tuple[Integers, Integers]:
        tokens = self.tokens[records].astype(np.int64)
        if self.patches is None:
            return tokens, np.zeros(len(records), dtype=np.int64)
        return tokens, self.patches[records].astype(np.int64)

    def groups(self, bucket: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        runs = self.buckets[bucket]
        for at in range(0, len(runs), SCAN):
            items = np.arange(at, min(at + SCAN, len(runs)), dtype=np.int64)
            yield *self.sizes(runs.records(items)), np.ones(len(items), dtype=np.int64)
