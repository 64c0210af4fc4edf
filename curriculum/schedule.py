"""The schedule that a user writes: stages of growing context, their mixtures and budgets, and one learning-rate curve.

Odd: what can be judged from the file alone is judged here, in `__post_init__`, so that the error carries the file and
line; what needs the corpora (buckets, reachable budgets) is judged by `trivium.curriculum.plan`.
"""

import difflib
import math
from typing import Literal

import msgspec

from trivium.data.config import Strict

VERSION = 1
PATCHES_A_TOKEN = 4  # a picture token merges 2×2 patches (K3 report, section 2.4)


class HeldOut(Strict, frozen=True, kw_only=True):
    """Which documents are kept from training: a `fraction` of the dedup clusters, chosen by a hash with `salt`."""

    fraction: float = 0.0
    salt: str = "held-out"

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 0.5:
            raise ValueError(f"fraction is {self.fraction:g}; give a share of the clusters from 0 to 0.5")


class Corpus(Strict, frozen=True, kw_only=True):
    """One tokenised shard set: `path` below the corpora folder; `max_epochs` bounds how often its tokens are used."""

    path: str
    max_epochs: float | None = None

    def __post_init__(self) -> None:
        if not self.path.strip():
            raise ValueError("path is empty; give the shard set's folder below --corpora")
        if self.max_epochs is not None and not self.max_epochs > 0:
            raise ValueError(f"max_epochs is {self.max_epochs:g}; give a number above 0 or leave the key out")


class LearningRate(Strict, frozen=True, kw_only=True):
    """Peak, floor and shape of the learning rate; ratios are of the peak (`min_ratio`) and of all steps (the others).

    Defaults: cosine after 1 % linear warm-up (K3 report, section 3.3); the floor is not published, 0.1 is usual.
    """

    peak: float
    min_ratio: float = 0.1
    warmup_ratio: float = 0.01
    shape: Literal["cosine", "wsd"] = "cosine"
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


class Stage(Strict, frozen=True, kw_only=True):
    """One context length: `rows` a step of at most `context` tokens and `patches` patches each, until `tokens`.

    `mixture` holds weights by tokens, in any unit (only their proportions count). `buckets` names the length buckets
    that the stage reads; left out, it reads all. `patches` left out means that tokens alone bound a row.
    """

    name: str
    context: int
    rows: int
    tokens: int
    mixture: dict[str, float]
    patches: int | None = None
    buckets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("name is empty; name the stage, such as 8k")
        if self.context < 2:
            raise ValueError(f"context is {self.context}; a row needs at least 2 tokens to hold one target")
        if self.rows < 1:
            raise ValueError(f"rows is {self.rows}; a step needs at least 1 row")
        if self.patches is not None and self.patches < 0:
            raise ValueError(f"patches is {self.patches}; give 0 (no pictures) or more, or leave the key out")
        if self.tokens < self.context * self.rows:
            raise ValueError(
                f"tokens is {self.tokens}, less than one step of {self.rows} rows of {self.context} tokens "
                f"({self.context * self.rows}); raise tokens or lower rows"
            )
        if not self.mixture:
            raise ValueError("mixture is empty; give a weight to at least one corpus")
        for corpus, weight in self.mixture.items():
            if not (weight > 0 and math.isfinite(weight)):
                raise ValueError(f"mixture.{corpus} is {weight:g}; give a weight above 0 or leave the corpus out")
        if self.buckets is not None:
            if not self.buckets:
                raise ValueError("buckets is empty; name at least one bucket or leave the key out to read all")
            if len(set(self.buckets)) != len(self.buckets):
                raise ValueError(f"buckets names one bucket twice: {', '.join(self.buckets)}")

    @property
    def patch_budget(self) -> int:
        """Patches that a row may hold."""
        return self.patches if self.patches is not None else PATCHES_A_TOKEN * self.context

    @property
    def shares(self) -> dict[str, float]:
        """The mixture with weights that sum to 1, in the order of names."""
        total = sum(self.mixture[name] for name in sorted(self.mixture))
        return {name: self.mixture[name] / total for name in sorted(self.mixture)}


class Schedule(Strict, frozen=True, kw_only=True):
    """The whole curriculum of one run; `window` is the number of documents (or pieces of long ones) packed together."""

    version: int
    seed: int
    corpora: dict[str, Corpus]
    lr: LearningRate
    stages: tuple[Stage, ...]
    window: int = 1024
    held_out: HeldOut = HeldOut()

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"version is {self.version}; this code reads schedules of version {VERSION}")
        if self.window < 1:
            raise ValueError(f"window is {self.window}; pack at least 1 document at a time (1024 is usual)")
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
            msgspec.structs.replace(stage, patches=stage.patch_budget, mixture=stage.shares) for stage in self.stages
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
