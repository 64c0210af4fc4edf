"""The stage `long_clean`: measures a long document, then the recipe's policy decides; scores stay with what is kept."""

from collections.abc import Iterator

import msgspec

from trivium.data.config import Strict, digest
from trivium.data.longcontext.clean.blobs import blob_characters
from trivium.data.longcontext.clean.copies import copied_words
from trivium.data.longcontext.clean.logs import log_characters
from trivium.data.longcontext.clean.truncated import cut_markup, cut_sentence
from trivium.data.records import Step
from trivium.data.stage import Draft, Item, Outcome, StageConfig, refuse, touched

MEASURES = {
    "characters": lambda text: float(len(text)),
    "cut_sentence": cut_sentence,
    "cut_markup": cut_markup,
    "blob_characters": blob_characters,
    "log_characters": log_characters,
    "copied_words": copied_words,
}


class Limit(Strict, kw_only=True):
    """Drop when `score` lies below `min` or above `max`; `reason` is the reject's code."""

    score: str
    reason: str
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if self.score not in MEASURES:
            raise ValueError(f"no score {self.score!r}; known: {', '.join(MEASURES)}")
        if self.min is None and self.max is None:
            raise ValueError(f"the limit on {self.score!r} has neither min nor max")

    def broken_by(self, value: float) -> str:
        """Why `value` breaks the limit, or an empty string."""
        if self.min is not None and value < self.min:
            return f"{self.score} = {value:g}, at least {self.min:g} wanted"
        if self.max is not None and value > self.max:
            return f"{self.score} = {value:g}, at most {self.max:g} wanted"
        return ""


# The report names what is cleaned away and no threshold; these are ours.
POLICY = (
    Limit(score="cut_sentence", max=0.75, reason="truncated"),
    Limit(score="cut_markup", max=0.0, reason="truncated"),
    Limit(score="blob_characters", max=0.15, reason="blobs"),
    Limit(score="log_characters", max=0.4, reason="log"),
    Limit(score="copied_words", max=0.3, reason="copies_inside"),
)


class LongClean:
    """Measures a document's text; the first broken limit of the policy names the drop's reason."""

    name = "long_clean"
    version = 1

    class Config(StageConfig, kw_only=True, tag="long_clean"):
        policy: tuple[Limit, ...] = POLICY

        def build(self) -> "LongClean":
            return LongClean(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("long_clean takes documents; put an extracting stage before it, or read `shards`")
        text = item.document.text
        scores = {name: round(measure(text), 4) for name, measure in MEASURES.items()}
        for limit in self.config.policy:
            detail = limit.broken_by(scores[limit.score])
            if detail:
                yield refuse(item, self.name, limit.reason, detail)
                return
        meta = msgspec.structs.replace(item.document.meta, scores={**item.document.meta.scores, **scores})
        document = msgspec.structs.replace(item.document, meta=meta)
        yield touched(msgspec.structs.replace(item, document=document), self.step)
