"""A model's score as a stage: written into the record, decided by the recipe's limits."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import msgspec

from trivium.data.config import Strict, digest
from trivium.data.quality.model import Model, read_model
from trivium.data.records import Step
from trivium.data.stage import Draft, Item, Outcome, StageConfig, refuse, touched

_NAME = re.compile(r"quality(?:_[a-z0-9_]+)?")


class QualityLimit(Strict, kw_only=True):
    """Drop when the score lies below `min` or above `max`; `languages` (none: all) says where the limit counts."""

    min: float | None = None
    max: float | None = None
    reason: str = "low_quality"  # the reject's code
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            raise ValueError("the limit has neither min nor max")
        for name in ("min", "max"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} is {value}; a score is a probability between 0 and 1")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.reason):
            raise ValueError(f"reason {self.reason!r}: use lower-case letters, digits and _")


class Quality:
    """Scores a document's text by a file of `trivium quality train`."""

    name = "quality"
    version = 1

    class Config(StageConfig, kw_only=True, tag="quality"):
        """`score` names what is written, so that several models can stand in one recipe: `quality`, `quality_math`."""

        SCORES = ("quality",)

        path: str  # a file of `trivium quality train`
        score: str = "quality"
        policy: tuple[QualityLimit, ...] = ()  # limits on the score

        def __post_init__(self) -> None:
            if not _NAME.fullmatch(self.score):
                raise ValueError(f"score {self.score!r}: call it quality, or quality_ and a name")

        def build(self) -> "Quality":
            return Quality(self)

        def paths(self) -> dict[tuple[str | int, ...], str]:
            return {("path",): self.path}

        def check(self, name: str, base: Path) -> None:
            read_model(base / self.path)

        def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
            return msgspec.structs.replace(self, path=paths.get(("path",), self.path))

    def __init__(self, config: Config) -> None:
        self.config = config
        self._model: Model | None = read_model(Path(config.path))
        known = config.with_paths({("path",): self._model.digest})
        self.step = Step(name=self.name, version=self.version, parameters=digest(known))

    def open(self) -> None:
        if self._model is None:
            self._model = read_model(Path(self.config.path))

    def close(self) -> None:
        self._model = None

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("quality takes documents; put an extracting stage before it")
        if self._model is None:
            raise RuntimeError("quality stage was not opened")
        meta = item.document.meta
        value = self._model.score(item.document.text)
        scores = {**meta.scores, self.config.score: value}
        for limit in self.config.policy:
            if limit.languages and meta.language not in limit.languages:
                continue
            if limit.min is not None and value < limit.min:
                yield self._refuse(item, limit, value, f"at least {limit.min:g} wanted")
                return
            if limit.max is not None and value > limit.max:
                yield self._refuse(item, limit, value, f"at most {limit.max:g} wanted")
                return
        document = msgspec.structs.replace(item.document, meta=msgspec.structs.replace(meta, scores=scores))
        yield touched(msgspec.structs.replace(item, document=document), self.step)

    def _refuse(self, item: Draft, limit: QualityLimit, value: float, wanted: str) -> Outcome:
        drop = refuse(item, self.name, limit.reason, f"{self.config.score} = {value:g}, {wanted}")
        return msgspec.structs.replace(drop, scores={self.config.score: value}, language=item.document.meta.language)
