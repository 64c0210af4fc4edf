"""Manual pages as documents."""

import unicodedata
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from trivium.data.config import digest
from trivium.data.records import Step
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse
from trivium.data.text.plain import decoded, document, tidy
from trivium.data.text.roff import RoffRefusedError, man_text


class ExtractMan:
    """Raw manual page → a document of one text segment."""

    name = "extract_man"
    version = 1

    class Config(StageConfig, kw_only=True, tag="extract_man"):
        TAKES = frozenset({Content.ROFF})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 4 << 20
        encodings: tuple[str, ...] = ()

        def build(self) -> "ExtractMan":
            return ExtractMan(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("extract_man takes raw manual pages; put it first in `stages`")
        yield self._extract(item)

    def _extract(self, raw: Raw) -> Draft | Drop:
        if len(raw.body) > self.config.max_bytes:
            return refuse(raw, self.name, "too_large", f"{len(raw.body):,} bytes, limit {self.config.max_bytes:,}")
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
