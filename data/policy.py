"""A policy turns scores into decisions: thresholds are data in the recipe, and the first broken one gives the reason.

Odd: a record that stays carries its scores, so a threshold can be decided again without its text.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import msgspec

from trivium.data.config import Strict
from trivium.data.records import Step
from trivium.data.stage import Draft, Outcome, refuse, touched

_REASON = re.compile(r"[a-z][a-z0-9_]*")


class Limit(Strict, kw_only=True):
    """Drop when `score` lies below `min` or above `max`; `reason` is the reject's code. `KNOWN`: a stage's scores."""

    KNOWN: ClassVar[Collection[str]] = ()

    score: str
    reason: str
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if self.score not in self.KNOWN:
            raise ValueError(f"no score {self.score!r}; known: {', '.join(self.KNOWN)}")
        if self.min is None and self.max is None:
            raise ValueError(f"the rule on {self.score!r} has neither min nor max")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(
                f"the rule on {self.score!r} wants at least {self.min:g} and at most {self.max:g}; nothing keeps that"
            )
        if not _REASON.fullmatch(self.reason):
            raise ValueError(f"reason {self.reason!r}: use lower-case letters, digits and _")

    def broken_by(self, value: float) -> str:
        """Why `value` breaks the limit, or an empty string."""
        if self.min is not None and value < self.min:
            return f"{self.score} = {value:g}, at least {self.min:g} wanted"
        if self.max is not None and value > self.max:
            return f"{self.score} = {value:g}, at most {self.max:g} wanted"
        return ""


def decide(item: Draft, scores: Mapping[str, float], policy: Sequence[Limit], step: Step) -> Outcome:
    """The refusal by the first broken limit, or the document with its scores and `step` noted."""
    for limit in policy:
        detail = limit.broken_by(scores[limit.score])
        if detail:
            refusal = refuse(item, step.name, limit.reason, detail)
            return msgspec.structs.replace(refusal, scores=dict(scores), language=item.document.meta.language)
    meta = msgspec.structs.replace(item.document.meta, scores={**item.document.meta.scores, **scores})
    document = msgspec.structs.replace(item.document, meta=meta)
    return touched(msgspec.structs.replace(item, document=document), step)
