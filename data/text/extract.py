"""Main text of an HTML page, by resiliparse, keeping headings, lists and code as lines.

Odd: page size and nesting are capped first, because extraction takes time quadratic in depth (over 40 s for a 550 kB
page of 50,000 nested elements). The result is a pure function of the bytes.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import digest
from trivium.data.records import Document, Step, Text
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse
from trivium.data.text.charset import decode_page, junk
from trivium.data.text.depth import nesting_bound

_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
# The library takes any list less than three elements below the body for navigation and drops it; real articles on
# plain pages have theirs there. Lists of links are still recognised.
_DEEPER = r"\g<0><div><div><div>"
MAX_JUNK = 0.01  # share of characters; pages have less than 0.0003, other files more than 0.1 (decision 092)
_BLANKS = re.compile(r"\n{3,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")


class ExtractHtml:
    """Raw HTML → a document of one text segment; the page's title goes to its metadata."""

    name = "extract_html"
    version = 1

    class Config(StageConfig, kw_only=True, tag="extract_html"):
        """`skip` are CSS selectors left out beside what the library itself takes for boilerplate."""

        TAKES = frozenset({Content.HTML})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 4 << 20
        max_depth: Annotated[int, Meta(ge=1)] = 1500
        skip: tuple[str, ...] = ("a.headerlink", "a.indexlink")

        def build(self) -> "ExtractHtml":
            return ExtractHtml(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("extract_html takes raw pages; put it first in `stages`")
        yield self._extract(item)

    def _extract(self, raw: Raw) -> Draft | Drop:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree

        if len(raw.body) > self.config.max_bytes:
            return refuse(raw, self.name, "too_large", f"{len(raw.body):,} bytes, limit {self.config.max_bytes:,}")
        page, encoding = decode_page(raw.body, raw.mime)
        share = junk(page)
        if share > MAX_JUNK:
            detail = f"{share:.1%} are control characters or undecodable when read as {encoding}"
            return refuse(raw, self.name, "not_html", detail)
        if nesting_bound(page, self.config.max_depth) > self.config.max_depth:
            return refuse(raw, self.name, "too_deep", f"more than {self.config.max_depth:,} nested elements")
        tree = HTMLTree.parse(_BODY.sub(_DEEPER, page, count=1))
        text = extract_plain_text(
            tree, preserve_formatting=True, main_content=True, alt_texts=False, skip_elements=list(self.config.skip)
        )
        text = _BLANKS.sub("\n\n", _CONTROL.sub("", text.replace("\xa0", " "))).strip()
        if not text:
            return refuse(raw, self.name, "no_text", "no main text found", excerpt=page)
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(self.step,))
        title = " ".join((tree.title or "").split())
        if title:
            meta = msgspec.structs.replace(meta, title=title[:300])
        return Draft(document=Document(segments=(Text(text=text + "\n"),), meta=meta))
