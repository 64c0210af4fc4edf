"""One stage of a schedule: context length, batch, mixture and budgets, judged as far as the file alone allows."""

import math
from typing import Literal

from trivium.data.config import Strict

PATCHES_A_TOKEN = 4  # a picture token merges 2×2 patches (K3 report, section 2.4)
FILL = 0.996  # of a row's tokens; what best fit over the default window reaches in rows of 8K with most mixes

Weight = float | dict[str, float]


class Ramp(Strict, frozen=True, kw_only=True):
    """A batch that grows in a line from `start` tokens a step to the stage's batch, over its first `tokens` tokens."""

    start: int
    tokens: int

    def __post_init__(self) -> None:
        if self.start < 1 or self.tokens < self.start:
            raise ValueError(
                f"ramp goes from {self.start} tokens a step over {self.tokens} tokens; give at least 1 token a step "
                "and at least one step"
            )


class Stage(Strict, frozen=True, kw_only=True):
    """One context length, until exactly `tokens` tokens are read.

    The batch is `batch_tokens` a step, or `rows` a step (exactly one of them is given): `rows` means
    rows · context · fill tokens, which best fit then packs into that many rows. Where documents do not fill rows that
    well, a step keeps its tokens and has more rows.

    `mixture` holds weights by tokens, in any unit (only their proportions count), of a corpus or of a corpus's length
    buckets. `buckets` names the buckets that the stage reads; left out, it reads all. Inside a corpus buckets weigh
    what they hold, times `upsample`. `vision` is the share of tokens that are picture tokens: corpora with pictures
    are weighed up or down together to reach it. `patches` left out means that tokens alone bound a row.
    `cut`: texts longer than the context are cut into pieces of a context's length (`allowed`), or skipped (`never`);
    documents that fit are never cut, and those with pictures neither.
    """

    name: str
    context: int
    tokens: int
    mixture: dict[str, Weight]
    rows: int | None = None
    batch_tokens: int | None = None
    fill: float = FILL
    ramp: Ramp | None = None
    patches: int | None = None
    buckets: tuple[str, ...] | None = None
    upsample: dict[str, float] = {}
    vision: float | None = None
    cut: Literal["allowed", "never"] = "allowed"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("name is empty; name the stage, such as 8k")
        if self.context < 2:
            raise ValueError(f"context is {self.context}; a row needs at least 2 tokens to hold one target")
        if self.patches is not None and self.patches < 0:
            raise ValueError(f"patches is {self.patches}; give 0 (no pictures) or more, or leave the key out")
        self._check_batch()
        self._check_mixture()

    def _check_batch(self) -> None:
        if (self.rows is None) == (self.batch_tokens is None):
            raise ValueError("give the batch either as rows a step or as batch_tokens a step, and only one of them")
        if self.rows is not None and self.rows < 1:
            raise ValueError(f"rows is {self.rows}; a step needs at least 1 row")
        if not 0.1 <= self.fill <= 1.0:
            raise ValueError(
                f"fill is {self.fill:g}; give the share of a row that tokens fill, from 0.1 to 1 (0.996 is usual)"
            )
        if self.batch_tokens is not None and self.batch_tokens < self.capacity:
            raise ValueError(
                f"batch_tokens is {self.batch_tokens}, less than one row of {self.context} tokens filled to "
                f"{self.fill:g} ({self.capacity}); raise it or lower context"
            )
        if self.tokens < self.batch:
            raise ValueError(
                f"tokens is {self.tokens}, less than one step's batch of {self.batch} tokens; raise tokens or make the "
                "batch smaller"
            )
        if self.ramp is not None:
            if self.ramp.start > self.batch or self.ramp.tokens > self.tokens:
                raise ValueError(
                    f"ramp: goes from {self.ramp.start} tokens a step over {self.ramp.tokens} tokens; the batch is "
                    f"{self.batch} and the stage has {self.tokens}: start below the first and end within the second"
                )
            if self.ramp.start < self.capacity:
                raise ValueError(f"ramp: start is {self.ramp.start}, less than one row ({self.capacity} tokens)")

    def _check_mixture(self) -> None:
        if not self.mixture:
            raise ValueError("mixture is empty; give a weight to at least one corpus")
        for corpus, weight in self.mixture.items():
            parts = weight if isinstance(weight, dict) else {"": weight}
            if not parts:
                raise ValueError(f"mixture.{corpus} is empty; give a weight, or weights by length bucket")
            for bucket, part in parts.items():
                if not (part > 0 and math.isfinite(part)):
                    where = f"{corpus}.{bucket}" if bucket else corpus
                    raise ValueError(f"mixture.{where} is {part:g}; give a weight above 0 or leave it out")
                if bucket and self.buckets is not None and bucket not in self.buckets:
                    raise ValueError(f"mixture.{corpus}.{bucket}: the stage's buckets are {', '.join(self.buckets)}")
        if self.buckets is not None:
            if not self.buckets:
                raise ValueError("buckets is empty; name at least one bucket or leave the key out to read all")
            if len(set(self.buckets)) != len(self.buckets):
                raise ValueError(f"buckets names one bucket twice: {', '.join(self.buckets)}")
        for bucket, factor in self.upsample.items():
            if not (factor > 0 and math.isfinite(factor)):
                raise ValueError(f"upsample.{bucket} is {factor:g}; give a factor above 0")
        if self.vision is not None and not 0.0 <= self.vision < 1.0:
            raise ValueError(f"vision is {self.vision:g}; give a share of the tokens, at least 0 and below 1")

    @property
    def capacity(self) -> int:
        """Tokens that a row is meant to hold: its context, filled to `fill`."""
        return max(1, int(self.context * self.fill))

    @property
    def batch(self) -> int:
        """Tokens a step, at most, once a ramp is over."""
        return self.rows * self.capacity if self.rows is not None else self.batch_tokens or 0

    @property
    def patch_budget(self) -> int:
        """Patches that a row may hold."""
        return self.patches if self.patches is not None else PATCHES_A_TOKEN * self.context

    @property
    def shares(self) -> dict[str, float]:
        """The mixture by corpus with weights that sum to 1, in the order of names, before `vision` moves it."""
        weights = {name: _total(self.mixture[name]) for name in sorted(self.mixture)}
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    @property
    def resolved_mixture(self) -> dict[str, Weight]:
        """The mixture as shares of 1, in the order of names, by bucket where it was given so."""
        total = sum(_total(weight) for _, weight in sorted(self.mixture.items()))
        resolved: dict[str, Weight] = {}
        for name, weight in sorted(self.mixture.items()):
            if isinstance(weight, dict):
                resolved[name] = {bucket: part / total for bucket, part in sorted(weight.items())}
            else:
                resolved[name] = weight / total
        return resolved


def _total(weight: Weight) -> float:
    return sum(part for _, part in sorted(weight.items())) if isinstance(weight, dict) else weight
