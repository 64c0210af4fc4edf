"""Pools: the documents of one (corpus, bucket) in shuffled order, and what of them a stage can use.

Odd: a pool's order depends on (seed, pool, epoch) alone, not on the stage, so a document is used once an epoch however
the stages follow each other; a long text that a stage leaves half used is gone on with in the next stage.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trivium.curriculum.lengths import Integers, Lengths, Runs
from trivium.curriculum.schedule import Schedule
from trivium.curriculum.shuffle import key64, permute
from trivium.curriculum.stage import Stage
from trivium.data.config import Strict


@dataclass(frozen=True)
class Pool:
    """All documents of one corpus and bucket, in the order of the shard set."""

    name: str
    corpus: str
    bucket: str
    number: int  # the bucket's, in its corpus
    runs: Runs
    lengths: Lengths
    seed: int

    def __len__(self) -> int:
        return len(self.runs)

    def look_up(self, epoch: int, start: int, stop: int) -> tuple[Integers, Integers, Integers]:
        """Records, tokens and patches at shuffled positions [start, stop) of `epoch`."""
        order = permute(np.arange(start, stop, dtype=np.int64), len(self), key64(self.seed, self.name, epoch))
        records = self.runs.records(order)
        return records, *self.lengths.sizes(records)


@dataclass(frozen=True, slots=True)
class Rules:
    """What of a pool a stage can use: a document with pictures is never cut, so it must fit whole."""

    context: int
    patch_budget: int
    cut: bool

    @classmethod
    def of(cls, stage: Stage) -> "Rules":
        return cls(stage.context, stage.patch_budget, stage.cut == "allowed")

    def refusals(self, tokens: Integers, patches: Integers) -> dict[str, npt.NDArray[np.bool_]]:
        """By reason, the documents that can't be used; those that may not be trained on (0 tokens) apart."""
        pictures, long = patches > 0, tokens > self.context
        refused = {
            "pictures_too_long": pictures & long,
            "too_many_patches": pictures & ~long & (patches > self.patch_budget) & (tokens > 0),
        }
        return refused if self.cut else {**refused, "too_long": long & ~pictures}

    def usable(self, tokens: Integers, patches: Integers) -> npt.NDArray[np.bool_]:
        usable = tokens > 0
        if not self.cut:
            usable &= tokens <= self.context
        if patches.any():
            usable &= (patches == 0) | ((tokens <= self.context) & (patches <= self.patch_budget))
        return usable


class Supply(Strict, frozen=True, kw_only=True):
    """What one pool holds for one stage, once over: usable documents and their tokens, patches and pieces.

    `cut` counts the documents longer than the context, `longest` is the largest piece in tokens, `skipped` the
    documents that can't be used, by reason; `train_tokens` and `train_documents` are of all that may be trained on.
    """

    documents: int = 0
    tokens: int = 0
    patches: int = 0
    pieces: int = 0
    cut: int = 0
    longest: int = 0
    skipped: dict[str, int] = {}
    train_documents: int = 0
    train_tokens: int = 0


def make_pools(
    schedule: Schedule, buckets: Mapping[str, tuple[str, ...]], lengths: Mapping[str, Lengths]
) -> list[Pool]:
    """All pools that hold at least one document, in the order of corpora and buckets."""
    pools = []
    for corpus in sorted(schedule.corpora):
        seed = schedule.corpora[corpus].seed
        for number, bucket in enumerate(buckets[corpus]):
            runs = lengths[corpus].runs(number)
            if len(runs):
                key = schedule.seed if seed is None else seed
                pools.append(Pool(f"{corpus}/{bucket}", corpus, bucket, number, runs, lengths[corpus], key))
    return pools


def supplies(pool: Pool, rules: list[Rules]) -> list[Supply]:
    """What the pool holds for each of `rules`, by one scan."""
    sums = [_Sums() for _ in rules]
    for tokens, patches, count in pool.lengths.groups(pool.number):
        for rule, total in zip(rules, sums, strict=True):
            total.add(rule, tokens, patches, count)
    return [total.supply() for total in sums]


class _Sums:
    def __init__(self) -> None:
        self.counts = dict.fromkeys(
            ("documents", "tokens", "patches", "pieces", "cut", "train_documents", "train_tokens"), 0
        )
        self.longest = 0
        self.skipped: dict[str, int] = {}

    def add(self, rules: Rules, tokens: Integers, patches: Integers, count: Integers) -> None:
        """Counts documents of these sizes, `count` of each."""
        usable = rules.usable(tokens, patches)
        sizes = np.where(usable, tokens, 0)
        pieces = -(-sizes // rules.context)
        counted = {
            "documents": count[usable].sum(),
            "tokens": (sizes * count).sum(),
            "patches": (patches * count)[usable].sum(),
            "pieces": (pieces * count).sum(),
            "cut": count[pieces > 1].sum(),
            "train_documents": count[tokens > 0].sum(),
            "train_tokens": (tokens * count).sum(),
        }
        for name, value in counted.items():
            self.counts[name] += int(value)
        self.longest = max(self.longest, min(int(sizes.max(initial=0)), rules.context))
        for reason, mask in rules.refusals(tokens, patches).items():
            found = int(count[mask].sum())
            if found:
                self.skipped[reason] = self.skipped.get(reason, 0) + found

    def supply(self) -> Supply:
        return Supply(**self.counts, longest=self.longest, skipped=self.skipped)
