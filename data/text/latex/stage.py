"""LaTeX files as documents: text in Markdown's manner, formulas as they were written."""

from typing import Annotated

from msgspec import Meta

from trivium.data.guard import Guard, Limits
from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse
from trivium.data.text.extractor import GuardedExtractor
from trivium.data.text.latex.requests import TASK, LatexRequest, LatexText
from trivium.data.text.latex.source import declared
from trivium.data.text.plain import decoded, document, tidy
from trivium.errors import GuardError

_LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60)


class ExtractLatex(GuardedExtractor["ExtractLatex.Config"]):
    """Raw LaTeX, joined, → a document of one text segment. The parser runs in a guarded child, for its time's sake."""

    name = "extract_latex"
    version = 1
    takes = "raw LaTeX"

    class Config(StageConfig, kw_only=True, tag="extract_latex"):
        TAKES = frozenset({Content.LATEX})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 8 << 20  # of one document
        limits: Limits = _LIMITS  # of the child that parses

        def build(self) -> "ExtractLatex":
            return ExtractLatex(self, Guard(TASK, self.limits))

    def extract(self, raw: Raw) -> Draft | Drop:
        text = decoded(raw, self.name, "not_text", declared(raw.body))
        if isinstance(text, Drop):
            return text
        try:
            found = self.guard.call(LatexRequest(tidy(text)), LatexText)
        except GuardError as error:
            return refuse(raw, self.name, error.reason, str(error))
        shown = tidy(found.text)
        if not shown.strip():
            return refuse(raw, self.name, "no_text", "no text between \\begin{document} and \\end{document}")
        return document(raw, shown, self.step, title=raw.title or found.title)
