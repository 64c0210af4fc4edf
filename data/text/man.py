"""Manual pages as documents."""

import unicodedata
from typing import Annotated

from msgspec import Meta

from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse
from trivium.data.text.extractor import Extractor
from trivium.data.text.plain import decoded, document, tidy
from trivium.data.text.roff import RoffRefusedError, man_text


class ExtractMan(Extractor["ExtractMan.Config"]):
    """Raw manual page → a document of one text segment."""

    name = "extract_man"
    version = 1
    takes = "raw manual pages"

    class Config(StageConfig, kw_only=True, tag="extract_man"):
        TAKES = frozenset({Content.ROFF})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 4 << 20  # of one page
        encodings: tuple[str, ...] = ()  # tried, in order, on what is not UTF-8

        def build(self) -> "ExtractMan":
            return ExtractMan(self)

    def extract(self, raw: Raw) -> Draft | Drop:
        text = decoded(raw, self.name, "not_text", self.config.encodings)
        if isinstance(text, Drop):
            return text
        try:
            shown, title = man_text(tidy(text))
        except RoffRefusedError as error:
            return refuse(raw, self.name, error.reason, str(error))
        shown = unicodedata.normalize("NFC", tidy(shown))
        if not shown.strip():
            return refuse(raw, self.name, "no_text", "no text besides macros")
        return document(raw, shown, self.step, title=raw.title or title)
