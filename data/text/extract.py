"""Main text of an HTML page with its structure: headings, lists, tables, code, quotes, formulas, places of pictures.

Odd: what would make a parser take more than linear time or memory is refused by name before it gets there (size,
nesting, tangled formatting, number of elements), so that a page's end does not hang on the clock of the machine: the
same page is kept or refused everywhere. The foreign engine runs in a guarded child with a deadline.
"""

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trivium.data.guard import Guard, Limits
from trivium.data.records import Document, Text
from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse
from trivium.data.text.charset import decode_page, junk
from trivium.data.text.depth import nesting_bound, tangle_bound
from trivium.data.text.extractor import Extractor
from trivium.data.text.html.engines import TASK, Answer, Request, by_resiliparse
from trivium.data.text.html.page import Page, read_page
from trivium.data.text.html.tree import TangledError
from trivium.errors import GuardError

MAX_JUNK = 0.01  # share of characters; pages have less than 0.0003, other files more than 0.1 (decision 092)
MAX_TANGLE = 300_000  # elements that a parser makes by itself of formatting left open (decision 139)
SKIP = ("a.headerlink", "a.indexlink", ".mw-editsection", ".viewcode-link")
MIB = 1 << 20


class ExtractHtml(Extractor["ExtractHtml.Config"]):
    """Raw HTML → a document of one text segment; title and what the page declares go to its metadata."""

    name = "extract_html"
    version = 3
    takes = "raw pages"

    class Config(StageConfig, kw_only=True, tag="extract_html"):
        """`skip` are CSS selectors left out beside boilerplate. `images` leaves `![alternative](address "caption")`
        where a picture stands. `engine`: `blocks` is ours and keeps structure, the others are for comparison.
        """

        TAKES = frozenset({Content.HTML})
        GIVES = Content.TEXT

        engine: Literal["blocks", "resiliparse", "trafilatura"] = "blocks"
        max_bytes: Annotated[int, Meta(ge=1)] = 4 << 20  # of one page
        max_depth: Annotated[int, Meta(ge=1)] = 1500  # nested elements
        max_elements: Annotated[int, Meta(ge=1)] = 120_000  # of one page
        skip: tuple[str, ...] = SKIP
        images: bool = False
        seconds: Annotated[float, Meta(gt=0, le=60)] = 3.0  # a page's deadline in trafilatura's child

        def __post_init__(self) -> None:
            if self.images and self.engine != "blocks":
                raise ValueError(f"images is true and engine is {self.engine}; only blocks marks pictures")

        def build(self) -> "ExtractHtml":
            return ExtractHtml(self)

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._guard: Guard | None = None
        if config.engine == "trafilatura":
            limits = Limits(
                wall_seconds=config.seconds, cpu_seconds=max(1, int(config.seconds)), memory_bytes=1024 * MIB
            )
            self._guard = Guard(TASK, limits)

    def open(self) -> None:
        if self._guard is not None:
            self._guard.start()

    def close(self) -> None:
        if self._guard is not None:
            self._guard.close()

    def extract(self, raw: Raw) -> Draft | Drop:
        config = self.config
        markup, encoding = decode_page(raw.body, raw.mime)
        share = junk(markup)
        if share > MAX_JUNK:
            detail = f"{share:.1%} are control characters or undecodable when read as {encoding}"
            return refuse(raw, self.name, "not_html", detail)
        if (tags := markup.count("<")) > 2 * config.max_elements:  # an element has two
            detail = f"{tags:,} tags, limit {2 * config.max_elements:,}"
            return refuse(raw, self.name, "too_tangled", detail, excerpt=markup)
        if tangle_bound(markup, MAX_TANGLE) > MAX_TANGLE:
            detail = f"formatting left open would make more than {MAX_TANGLE:,} elements by itself"
            return refuse(raw, self.name, "too_tangled", detail, excerpt=markup)
        if nesting_bound(markup, config.max_depth) > config.max_depth:
            return refuse(raw, self.name, "too_deep", f"more than {config.max_depth:,} nested elements", excerpt=markup)
        try:
            page = self._read(markup, raw.address)
        except TangledError as error:
            return refuse(raw, self.name, "too_tangled", str(error), excerpt=markup)
        except GuardError as error:
            return refuse(raw, self.name, error.reason, str(error), excerpt=markup)
        if not page.text:
            return refuse(raw, self.name, "no_text", "no main text found", excerpt=markup)
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(self.step,))
        meta = msgspec.structs.replace(meta, title=page.title[:300] or meta.title, declared=page.declared)
        return Draft(document=Document(segments=(Text(text=page.text + "\n"),), meta=meta))

    def _read(self, markup: str, address: str) -> Page:
        config = self.config
        if config.engine == "blocks":
            return read_page(
                markup,
                skip=config.skip,
                max_elements=config.max_elements,
                images=config.images,
                address=address,
            )
        if self._guard is None:
            return by_resiliparse(markup, config.skip)
        answer = self._guard.call(Request(markup=markup), Answer)
        return Page(text=answer.text, title=answer.title, declared=answer.declared)
