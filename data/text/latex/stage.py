"""LaTeX files as documents: text in Markdown's manner, formulas as they were written."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from trivium.data.config import digest
from trivium.data.guard import Guard, Limits
from trivium.data.records import Step
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse
from trivium.data.text.latex.requests import TASK, LatexRequest, LatexText
from trivium.data.text.latex.source import declared
from trivium.data.text.plain import decoded, document, tidy
from trivium.errors import GuardError

_LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60)


class ExtractLatex:
    """Raw LaTeX, joined, → a document of one text segment. The parser runs in a guarded child, for its time's sake."""

    name = "extract_latex"
    version = 1

    class Config(StageConfig, kw_only=True, tag="extract_latex"):
        TAKES = frozenset({Content.LATEX})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 8 << 20
        limits: Limits = _LIMITS

        def build(self) -> "ExtractLatex":
            return ExtractLatex(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))
        self._guard = Guard(TASK, config.limits)

    def open(self) -> None:
        self._guard.start()

    def close(self) -> None:
        self._guard.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("extract_latex takes raw LaTeX; put it first in `stages`")
        yield self._extract(item)

    def _extract(self, raw: Raw) -> Draft | Drop:
        if len(raw.body) > self.config.max_bytes:
            return refuse(raw, self.name, "too_large", f"{len(raw.body):,} bytes, limit {self.config.max_bytes:,}")
        text = decoded(raw, self.name, "not_text", declared(raw.body))
        if isinstance(text, Drop):
            return text
        try:
            found = self._guard.call(LatexRequest(tidy(text)), LatexText)
        except GuardError as error:
            return refuse(raw, self.name, error.reason, str(error))
        shown = tidy(found.text)
        if not shown.strip():
            return refuse(raw, self.name, "no_text", "no text between \\begin{document} and \\end{document}")
        return document(raw, shown, self.step, title=raw.title or found.title)
