"""The schedule that a user writes: corpora, stages of growing context (`stage`), and one learning-rate curve.

Odd: what can be judged from the file alone is judged here, in `__post_init__`, so that the error carries the file and
line; what needs the corpora (buckets, reachable budgets) is judged by `trivium.curriculum.plan`.
"""

import difflib
import math
from typing import Literal

import msgspec

from trivium.curriculum.stage import Stage
from trivium.data.config import Strict

VERSION = 1


class HeldOut(Strict, frozen=True, kw_only=True):
    """Which documents are kept from training: a `fraction` of the dedup clusters, chosen by a hash with `salt`."""

    fraction: float = 0.0
    salt: str = "held-out"

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 0.5:
            raise ValueError(f"fraction is {self.fraction:g}; give a share of the clusters from 0 to 0.5")


class Corpus(Strict, frozen=True, kw_only=True):
    """One tokenised shard set: `path` below the corpora folder.

    `max_epochs` bounds how often any of its documents may come in the whole run; `bucket_epochs` does so by length
    bucket, in its place. `seed` shuffles this corpus; left out, it is the schedule's.
    """

    path: str
    max_epochs: float | None = None
    bucket_epochs: dict[str, float] = {}
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.path.strip():
            raise ValueError("path is empty; give the shard set's folder below --corpora")
        if self.max_epochs is not None and not self.max_epochs > 0:
            raise ValueError(f"max_epochs is {self.max_epochs:g}; give a number above 0 or leave the key out")
        for bucket, epochs in self.bucket_epochs.items():
            if not epochs > 0:
                raise ValueError(f"bucket_epochs.{bucket} is {epochs:g}; give a number above 0 or leave the bucket out")

    def limit(self, bucket: str) -> float | None:
        """How often documents of `bucket` may come; None: no limit."""
        return self.bucket_epochs.get(bucket, self.max_epochs)


class LearningRate(Strict, frozen=True, kw_only=True):
    """Peak, floor and shape of the learning rate; ratios are of the peak (`min_ratio`) and of all steps (the others).

    Shapes: `cosine`; `wsd` (warm-up, stable, decay in a line); `constant` (warm-up, then the peak: no floor).
    Defaults: cosine after 1 % linear warm-up (K3 report, section 3.3); the floor is not published, 0.1 is usual.
    """

    peak: float
    min_ratio: float = 0.1
    warmup_ratio: float = 0.01
    shape: Literal["cosine", "wsd", "constant"] = "cosine"
    decay_ratio: float = 0.2  # wsd only: the last part of the steps, in which the rate falls in a line

    def __post_init__(self) -> None:
        if not (self.peak > 0 and math.isfinite(self.peak)):
            raise ValueError(f"peak is {self.peak:g}; give a learning rate above 0, such as 0.002")
        for name in ("min_ratio", "warmup_ratio", "decay_ratio"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} is {value:g}; give a ratio from 0 to 1")
        if self.shape == "wsd" and self.warmup_ratio + self.decay_ratio > 1.0:
            raise ValueError(
                f"warmup_ratio {self.warmup_ratio:g} and decay_ratio {self.decay_ratio:g} take more than all steps; "
                "make their sum at most 1"
            )


class Schedule(Strict, frozen=True, kw_only=True):
    """The whole curriculum of one run; about `window` documents (or pieces of long ones) are packed together.

    A window's tokens are off by up to half a document a pool, and its last rows stay emptier: over some hundred rows
    both are little, so that steps are even in rows at the default `fill`.
    """

    version: int
    seed: int
    corpora: dict[str, Corpus]
    lr: LearningRate
    stages: tuple[Stage, ...]
    window: int = 16_384
    held_out: HeldOut = HeldOut()

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"version is {self.version}; this code reads schedules of version {VERSION}")
        if self.window < 1:
            raise ValueError(f"window is {self.window}; pack at least 1 document at a time (16384 is usual)")
        if not self.corpora:
            raise ValueError("corpora is empty; name at least one corpus and its path")
        for name in self.corpora:
            if "/" in name or not name.strip():
                raise ValueError(f"corpora: {name!r} can't be a corpus name; use letters, digits, '-' and '_'")
        if not self.stages:
            raise ValueError("stages is empty; give at least one stage")
        self._check_stages()

    def _check_stages(self) -> None:
        seen: set[str] = set()
        used: set[str] = set()
        context = 0
        for index, stage in enumerate(self.stages):
            if stage.name in seen:
                raise ValueError(f"stages[{index}].name: {stage.name!r} stands twice; give each stage its own name")
            if stage.context < context:
                raise ValueError(
                    f"stages[{index}].context: stage {stage.name!r} has {stage.context} tokens after a stage of "
                    f"{context}; order the stages by ascending context"
                )
            for corpus in stage.mixture:
                if corpus not in self.corpora:
                    raise ValueError(
                        f"stages[{index}].mixture: no corpus {corpus!r}{_nearest(corpus, list(self.corpora))}"
                    )
            seen.add(stage.name)
            used.update(stage.mixture)
            context = stage.context
        idle = sorted(set(self.corpora) - used)
        if idle:
            raise ValueError(f"corpora: no stage's mixture uses {', '.join(idle)}; use it or take it out")

    def resolved(self) -> "Schedule":
        """The same schedule with every default spelled out and mixtures as shares that sum to 1."""
        stages = tuple(
            msgspec.structs.replace(stage, patches=stage.patch_budget, mixture=stage.resolved_mixture)
            for stage in self.stages
        )
        return msgspec.structs.replace(self, stages=stages)

    def stage_index(self, name: str) -> int:
        """Position of the stage called `name`; raises ValueError naming those there are."""
        names = [stage.name for stage in self.stages]
        if name not in names:
            raise ValueError(f"no stage {name!r}; known: {', '.join(names)}")
        return names.index(name)


def _nearest(name: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(allowed)}"
