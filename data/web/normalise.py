"""`page_clean`: a page with its files as a stranger wrote it → a document of clean HTML that stands alone.

The browser itself says what is drawn and which rules match, in a wide and a narrow window; scripts never run. What it
gives is cleaned by a guarded child. The draft carries the page's files as one bundle beside the code. What no browser
should see is refused before (`clean.depth`).
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import digest
from trivium.data.guard import Guard, Limits
from trivium.data.guard.limits import MIB
from trivium.data.pairs import bundle
from trivium.data.records import Document, Step, Text
from trivium.data.records import Meta as RecordMeta
from trivium.data.stage import EXCERPT, Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse
from trivium.data.web.browser import Browser
from trivium.data.web.clean.collected import TASK, Clean, CleanRules, Collected, Request
from trivium.data.web.clean.depth import beyond
from trivium.data.web.engine import MAIN
from trivium.data.web.screen import BROWSER_LIMITS, Screen
from trivium.data.web.scripts import script
from trivium.data.web.serving import path_of
from trivium.data.web.visit import Visit
from trivium.errors import GuardError

FILES = "page.bin"  # a draft's bundle of the code's files, its main file an empty stand-in for the code
_WIDE, _NARROW = Screen(), Screen(width=390, height=844)
_MARK, _COLLECT = script("mark.js"), script("collect.js")
_REFRESH = '() => document.querySelector(\'meta[http-equiv="refresh" i]\')?.content || ""'
_LEADS = re.compile(r"\s*([0-9.]*)[^;,]*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"'\s]+)", re.IGNORECASE)
_SOON = 60.0  # seconds until a refresh: what leads on later is read before
_TAGS = 200_000  # of a page; the browser would need longer than it is given
_CHILD = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=1536 * MIB, output_bytes=64 * MIB)


class PageClean:
    """Pages with their files → documents of one code segment."""

    name = "page_clean"
    version = 4  # no words of icon fonts that are absent; a refresh that leads on

    class Config(StageConfig, kw_only=True, tag="page_clean"):
        """`cut`: what begins further down a wide page than so many pixels is taken out (0: nothing is)."""

        TAKES = frozenset({Content.PAGES})
        GIVES = Content.PAGE_CODE
        SCORES = ("elements", "words")

        cut: Annotated[int, Meta(ge=0, le=32_000)] = 1600
        rules: CleanRules = CleanRules()  # what a clean page may hold
        external: bool = True  # False: a page that asks for anything outside its folder is refused
        limits: Limits = BROWSER_LIMITS  # of the browser

        def build(self) -> "PageClean":
            return PageClean(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))
        self._browser = Browser(config.limits)
        self._guard = Guard(TASK, _CHILD)

    def open(self) -> None:
        self._browser.open()
        self._guard.start()

    def close(self) -> None:
        self._browser.close()
        self._guard.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("page_clean takes pages with their files; put it first in `stages`")
        yield self._clean(item)

    def _clean(self, raw: Raw) -> Draft | Drop:
        page = bundle.unpack(raw.body)
        reason = beyond(page.files[page.main], self.config.rules.max_depth, _TAGS)
        if reason:
            what = f"more than {_TAGS:,} tags" if reason == "too_many_elements" else self._depth()
            return refuse(raw, self.name, reason, what, excerpt=_seen(page))
        try:
            found = self._browser.visit(page.main, page.files, _WIDE, lambda visit: self._collect(visit, page))
            clean = self._guard.call(Request(page=found, files=page.files, rules=self.config.rules), Clean)
        except GuardError as error:
            return refuse(raw, self.name, error.reason, str(error)[:300], excerpt=_seen(page))
        if clean.reason:
            return refuse(raw, self.name, clean.reason, clean.detail, excerpt=_seen(page))
        step = msgspec.structs.replace(self.step, counts=clean.dropped)
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(step,))
        scores = {"elements": float(found.elements), "words": float(len(found.text.split()))}
        meta = msgspec.structs.replace(meta, title=found.title or raw.title, scores=scores)
        return clean_page(meta, clean.code, clean.files)

    def _depth(self) -> str:
        return f"elements lie in more than {self.config.rules.max_depth:,} others, which is the limit"

    def _collect(self, visit: Visit, page: bundle.Bundle) -> Collected:
        """In the browser's thread. Raises GuardError: external_reference, missing_style, error_page."""
        self._check(visit)
        visit.ask(_MARK, self.config.cut)
        visit.page.set_viewport_size({"width": _NARROW.width, "height": _NARROW.height})
        try:
            visit.ask(_MARK, self.config.cut)
            found = visit.ask(_COLLECT, sorted(page.files))
        finally:
            visit.page.set_viewport_size({"width": _WIDE.width, "height": _WIDE.height})
        return msgspec.convert(found, Collected)

    def _check(self, visit: Visit) -> None:
        serving = visit.serving
        if serving.count_refused and not self.config.external:
            raise GuardError("external_reference", serving.asked())
        # Fonts may come from elsewhere, other styles may not: the page would not look like itself.
        wanting = [sheet for sheet in serving.unstyled if "font" not in sheet]
        if wanting:
            reason = "missing_style" if path_of(wanting[0]) is not None else "external_reference"
            raise GuardError(reason, f"its style sheet {serving.written(wanting[0])} is not in its folder")
        if serving.leads:
            raise GuardError("error_page", f"leads on to {serving.written(serving.leads[0])}")
        # Not seen to lead on where the browser is done before its clock for it has run.
        soon = _LEADS.match(str(visit.ask(_REFRESH)))
        if soon and _seconds(soon[1]) <= _SOON:
            raise GuardError("error_page", f"leads on to {soon[2][:200]}")


def _seconds(text: str) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _seen(page: bundle.Bundle) -> str:
    """The beginning of the page's own file, for who reads why it was refused."""
    return page.files[page.main][:EXCERPT].decode("utf-8", "replace")


def clean_page(meta: RecordMeta, code: str, files: Mapping[str, bytes]) -> Draft:
    """The draft of a clean page."""
    media = {FILES: bundle.pack(MAIN, {**files, MAIN: b""})}
    return Draft(document=Document(segments=(Text(text=code),), meta=meta), media=media)


def files_of(draft: Draft) -> dict[str, bytes]:
    """The files that a clean page's code names. Raises TypeError for a draft of another stage."""
    payload = draft.media.get(FILES)
    if payload is None:
        raise TypeError("this stage takes clean pages; put page_clean or a composer's source before it")
    return {path: content for path, content in bundle.unpack(payload).files.items() if path != MAIN}
