"""Pools and their streams: the documents of one (corpus, bucket) in shuffled order, cut or skipped to fit a stage.

Odd: a pool's order depends on (seed, pool, epoch) alone, not on the stage, so a document is used once an epoch however
the stages follow each other; a long text that a stage leaves half used is gone on with in the next stage.
"""

from dataclasses import dataclass

import numpy as np

from trivium.curriculum.catalogue import Catalogue, Integers, Split
from trivium.curriculum.rows import Cursor
from trivium.curriculum.schedule import Schedule, Stage
from trivium.curriculum.shuffle import key64, permute
from trivium.errors import ConfigError

BLOCK = 512  # documents looked up at once


@dataclass(frozen=True)
class Pool:
    """Training documents of one corpus and bucket: record numbers and their sizes, in the order of the shard set."""

    name: str
    corpus: str
    bucket: str
    records: Integers
    tokens: Integers
    patches: Integers
    seed: int

    def order(self, epoch: int, start: int, stop: int) -> Integers:
        """Pool indices at shuffled positions [start, stop) of `epoch`."""
        return permute(np.arange(start, stop, dtype=np.int64), len(self.records), key64(self.seed, self.name, epoch))

    def usable_tokens(self, stage: Stage) -> int:
        """Tokens that `stage` can train on: all but those of pictures' documents that don't fit a row."""
        fits = (self.patches == 0) | ((self.tokens <= stage.context) & (self.patches <= stage.patch_budget))
        return int(self.tokens[fits].sum())


def make_pools(schedule: Schedule, catalogues: dict[str, Catalogue], sides: dict[str, Split]) -> dict[str, Pool]:
    """All pools that hold at least one training document, by name, in the order of corpora and buckets."""
    pools = {}
    for corpus in sorted(schedule.corpora):
        catalogue, train = catalogues[corpus], sides[corpus].train
        for number, bucket in enumerate(catalogue.buckets):
            records = train[catalogue.bucket[train] == number]
            if records.size:
                name = f"{corpus}/{bucket}"
                sizes = catalogue.tokens[records], catalogue.patches[records]
                pools[name] = Pool(name, corpus, bucket, records, *sizes, schedule.seed)
    return pools


def stage_weights(stage: Stage, pools: dict[str, Pool], catalogues: dict[str, Catalogue]) -> dict[str, float]:
    """Each pool's share of the stage's tokens: the corpus's share divided by its buckets' usable tokens.

    Raises ConfigError when a bucket is unknown or a corpus of the mixture has nothing that fits the stage.
    """
    weights = {}
    known = {bucket for corpus in stage.mixture for bucket in catalogues[corpus].buckets}
    for bucket in stage.buckets or ():
        if bucket not in known:
            raise ConfigError(
                f"stage {stage.name!r}: buckets: no corpus of the mixture has a bucket {bucket!r}; "
                f"they have {', '.join(sorted(known))}"
            )
    for corpus, share in stage.shares.items():
        mine = [p for p in pools.values() if p.corpus == corpus and (not stage.buckets or p.bucket in stage.buckets)]
        usable = {pool.name: pool.usable_tokens(stage) for pool in mine}
        total = sum(usable.values())
        if not total:
            raise ConfigError(
                f"stage {stage.name!r}: corpus {corpus!r} has no training document that fits rows of {stage.context} "
                f"tokens and {stage.patch_budget} patches{_in_buckets(stage)}; raise context or patches, name other "
                "buckets, or take the corpus out of the mixture"
            )
        weights.update({name: share * tokens / total for name, tokens in usable.items() if tokens})
    return weights


def _in_buckets(stage: Stage) -> str:
    return f" in the buckets {', '.join(stage.buckets)}" if stage.buckets else ""


class Stream:
    """Pieces of one pool from a cursor on, for one stage. `size` is what `take` would give next, in tokens."""

    def __init__(self, pool: Pool, cursor: Cursor, stage: Stage) -> None:
        self._pool, self._context, self._patch_budget = pool, stage.context, stage.patch_budget
        self._epoch, self._position, self._offset, self.taken = (
            cursor.epoch,
            cursor.position,
            cursor.offset,
            cursor.taken,
        )
        self._after = cursor
        self._block: tuple[list[int], list[int], list[int]] = ([], [], [])
        self._block_start = self._block_epoch = -1
        self._passed: dict[str, int] = {}
        self.skipped: dict[str, int] = {}
        self.documents = self.cut = 0
        self._seek()

    @property
    def cursor(self) -> Cursor:
        """Just behind the last piece taken; documents skipped after it are looked at again."""
        return self._after

    def take(self) -> tuple[int, int, int, int]:
        """The next piece: (record, start, stop, patches)."""
        start, stop = self._offset, self._offset + self.size
        piece = (self._record, start, stop, self._patches)
        self.documents += start == 0
        self.cut += start == 0 and stop < self._length
        self.taken += stop - start
        for reason, count in self._passed.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + count
        self._passed.clear()
        if stop < self._length:
            self._offset = stop
        else:
            self._next_document()
        self._after = Cursor(self._epoch, self._position, self._offset, self.taken)
        self._measure_or_seek()
        return piece

    def _next_document(self) -> None:
        self._offset = 0
        self._position += 1
        if self._position == len(self._pool.records):
            self._epoch, self._position = self._epoch + 1, 0

    def _measure_or_seek(self) -> None:
        if self._offset:
            self.size = min(self._length - self._offset, self._context)
        else:
            self._seek()

    def _seek(self) -> None:
        """Moves to the next document that this stage can use and measures its next piece."""
        while True:
            at = self._position - self._block_start
            if self._epoch != self._block_epoch or not 0 <= at < len(self._block[0]):
                self._load()
                at = self._position - self._block_start
            self._record, self._length, self._patches = (column[at] for column in self._block)
            reason = self._refusal()
            if not reason:
                self.size = min(self._length - self._offset, self._context)
                return
            self._passed[reason] = self._passed.get(reason, 0) + 1
            self._next_document()

    def _refusal(self) -> str:
        """Why this stage can't use the document; empty when it can. A document with pictures is never cut."""
        if self._length < 1:
            return "empty"
        if self._patches and self._length > self._context:
            return "pictures_too_long"
        return "too_many_patches" if self._patches > self._patch_budget else ""

    def _load(self) -> None:
        pool = self._pool
        self._block_epoch, self._block_start = self._epoch, self._position // BLOCK * BLOCK
        stop = min(self._block_start + BLOCK, len(pool.records))
        order = pool.order(self._epoch, self._block_start, stop)
        self._block = (pool.records[order].tolist(), pool.tokens[order].tolist(), pool.patches[order].tolist())
