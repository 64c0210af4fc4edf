"""Pools and their streams: the documents of one (corpus, bucket) in shuffled order, cut or skipped to fit a stage.

Odd: a pool's order depends on (seed, pool, epoch) alone, not on the stage, so a document is used once an epoch however
the stages follow each other; a long text that a stage leaves half used is gone on with in the next stage.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True)
class StagePool:
    """A pool as one stage sees it: which documents fit its rows, and the pool's share of the stage's tokens."""

    pool: Pool
    context: int
    usable: npt.NDArray[np.bool_]
    weight: float


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


def refusals(pool: Pool, stage: Stage) -> dict[str, npt.NDArray[np.bool_]]:
    """By reason, the documents that `stage` can't use: a document with pictures is never cut, so it must fit whole."""
    pictures = pool.patches > 0
    too_long = pictures & (pool.tokens > stage.context)
    return {
        "empty": pool.tokens < 1,
        "pictures_too_long": too_long,
        "too_many_patches": pictures & ~too_long & (pool.patches > stage.patch_budget),
    }


def stage_pools(
    stage: Stage, pools: dict[str, Pool], catalogues: dict[str, Catalogue]
) -> tuple[dict[str, StagePool], dict[str, int]]:
    """The pools that a stage draws from, and how many of its buckets' documents it skips, by reason.

    A pool's weight is its corpus's share, divided by usable tokens. Raises ConfigError when a bucket is unknown or a
    corpus of the mixture has nothing that fits.
    """
    known = {bucket for corpus in stage.mixture for bucket in catalogues[corpus].buckets}
    for bucket in stage.buckets or ():
        if bucket not in known:
            raise ConfigError(
                f"stage {stage.name!r}: buckets: no corpus of the mixture has a bucket {bucket!r}; "
                f"they have {', '.join(sorted(known))}"
            )
    chosen: dict[str, StagePool] = {}
    skipped: dict[str, int] = {}
    for corpus, share in stage.shares.items():
        usable: dict[str, npt.NDArray[np.bool_]] = {}
        for pool in pools.values():
            if pool.corpus == corpus and (not stage.buckets or pool.bucket in stage.buckets):
                refused = refusals(pool, stage)
                for reason, mask in refused.items():
                    if mask.any():
                        skipped[reason] = skipped.get(reason, 0) + int(mask.sum())
                usable[pool.name] = ~np.logical_or.reduce(list(refused.values()))
        tokens = {name: int(pools[name].tokens[mask].sum()) for name, mask in usable.items()}
        total = sum(tokens.values())
        if not total:
            raise ConfigError(
                f"stage {stage.name!r}: corpus {corpus!r} has no training document that fits rows of {stage.context} "
                f"tokens and {stage.patch_budget} patches{_in_buckets(stage)}; raise context or patches, name other "
                "buckets, or take the corpus out of the mixture"
            )
        for name, mask in usable.items():
            if tokens[name]:
                chosen[name] = StagePool(pools[name], stage.context, mask, share * tokens[name] / total)
    return chosen, skipped


def _in_buckets(stage: Stage) -> str:
    return f" in the buckets {', '.join(stage.buckets)}" if stage.buckets else ""


class Stream:
    """Pieces of one pool from a cursor on, for one stage. `size` is what `take` would give next, in tokens."""

    size: int

    def __init__(self, view: StagePool, cursor: Cursor) -> None:
        self._pool, self._usable, self._context = view.pool, view.usable, view.context
        self._epoch, self._position, self._offset = cursor.epoch, cursor.position, cursor.offset
        self._after, self.taken = (cursor.epoch, cursor.position, cursor.offset), cursor.taken
        self._block_start = -1
        self._block: list[tuple[int, int, int, bool]] = []
        self.documents = self.cut = 0
        self._seek()

    @property
    def cursor(self) -> Cursor:
        """Just behind the last piece taken; documents that this stage skips after it are left to the next stage."""
        epoch, position, offset = self._after
        return Cursor(epoch, position, offset, self.taken)

    def take(self) -> tuple[int, int, int, int]:
        """The next piece: (record, start, stop, patches)."""
        start, stop = self._offset, self._offset + self.size
        piece = (self._record, start, stop, self._patches)
        self.taken += self.size
        if not start:
            self.documents += 1
            self.cut += stop < self._length
        if stop < self._length:
            self._offset = stop
            self._after = (self._epoch, self._position, stop)
            self.size = min(self._length - stop, self._context)
        else:
            self._next_document()
            self._after = (self._epoch, self._position, 0)
            self._seek()
        return piece

    def _next_document(self) -> None:
        self._offset = 0
        self._position += 1
        if self._position == len(self._pool.records):
            self._epoch, self._position, self._block_start = self._epoch + 1, 0, -1

    def _seek(self) -> None:
        """Moves to the next document that this stage can use and measures its next piece."""
        while True:
            at = self._position - self._block_start
            if self._block_start < 0 or at >= len(self._block):
                self._load()
                at = self._position - self._block_start
            self._record, self._length, self._patches, usable = self._block[at]
            if usable:
                self.size = min(self._length - self._offset, self._context)
                return
            self._next_document()

    def _load(self) -> None:
        """Looks the next documents up, a block at a time."""
        pool, start = self._pool, self._position
        order = pool.order(self._epoch, start, min(start + BLOCK, len(pool.records)))
        columns = (pool.records[order], pool.tokens[order], pool.patches[order], self._usable[order])
        self._block = list(zip(*(column.tolist() for column in columns), strict=True))
        self._block_start = start
