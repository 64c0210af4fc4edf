"""PDF files as documents: their text layer in reading order, read in a guarded child."""

from typing import Annotated

from msgspec import Meta

from trivium.data.guard import Guard, Limits
from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse
from trivium.data.text.charset import junk
from trivium.data.text.extractor import GuardedExtractor
from trivium.data.text.pdf.requests import TASK, PdfRequest, PdfText
from trivium.data.text.plain import document, tidy
from trivium.errors import GuardError

_LIMITS = Limits(wall_seconds=60.0, cpu_seconds=60, memory_bytes=2 << 30, output_bytes=64 << 20)


class ExtractPdf(GuardedExtractor["ExtractPdf.Config"]):
    """Raw PDF → a document of one text segment; a file without a text layer (a scan) is rejected as such."""

    name = "extract_pdf"
    version = 1
    takes = "raw PDF"
    excerpt = "(PDF)"

    class Config(StageConfig, kw_only=True, tag="extract_pdf"):
        """`max_junk`: share of characters without a meaning, as fonts without names for their letters give."""

        TAKES = frozenset({Content.PDF})
        GIVES = Content.TEXT
        SCORES = ("pages", "characters_per_page")

        max_bytes: Annotated[int, Meta(ge=1)] = 64 << 20  # of one file
        max_pages: Annotated[int, Meta(ge=1)] = 2000  # of one file
        min_characters: Annotated[int, Meta(ge=0)] = 100  # a page with text, on average
        max_junk: Annotated[float, Meta(ge=0, le=1)] = 0.02
        limits: Limits = _LIMITS  # of the child that reads

        def build(self) -> "ExtractPdf":
            return ExtractPdf(self, Guard(TASK, self.limits))

    def extract(self, raw: Raw) -> Draft | Drop:
        config = self.config
        try:
            found = self.guard.call(PdfRequest(raw.body, config.max_pages), PdfText)
        except GuardError as error:
            return refuse(raw, self.name, error.reason, str(error), excerpt=self.excerpt)
        text = tidy(found.text)
        if not text.strip():
            return refuse(raw, self.name, "no_text", f"{found.pages} pages without a text layer", excerpt=self.excerpt)
        share = junk(text)
        if share > config.max_junk:
            return refuse(raw, self.name, "garbled", f"{share:.1%} of its letters have no meaning", excerpt=text)
        density = len(text) / max(1, found.pages - found.blank)
        if density < config.min_characters:
            return refuse(raw, self.name, "little_text", f"{density:.0f} characters a page", excerpt=text)
        scores = {"pages": float(found.pages), "characters_per_page": round(density, 1)}
        return document(raw, text, self.step, title=raw.title or found.title, scores=scores)
