"""Pages without scripts, drawn by the guarded browser: whole or a part, on a desk or a phone; what is seen in them.

The page is at most `max_height` CSS pixels of the picture; what lies below is not drawn. Facts are read off the page's
own elements, never off its pixels.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trivium.data.config import Strict
from trivium.data.guard.limits import Limits
from trivium.data.pairs.engine import Drawing
from trivium.data.pairs.facts import Box, Facts, Part
from trivium.data.web.browser import Browser
from trivium.data.web.screen import BROWSER_LIMITS, Screen
from trivium.data.web.scripts import script
from trivium.data.web.visit import Visit
from trivium.errors import GuardError

MAIN = "index.html"
LANGUAGE = "HTML"
PARTS = 400  # of one page's facts
_FACTS = script("facts.js")
_PLACE = script("place.js")
_GLYPHS = script("glyphs.js")


class PageView(Strict, frozen=True, kw_only=True):
    """One picture of a page. `part`: a CSS selector; its first element is drawn alone, with `margin` around it."""

    screen: Screen = Screen()
    max_height: Annotated[int, Meta(ge=16, le=32_000)] = 1600
    part: str = ""
    margin: Annotated[int, Meta(ge=0, le=200)] = 8

    @property
    def settings(self) -> str:
        return msgspec.json.encode(self, order="sorted").decode()


class PageEngine:
    """`draw` raises GuardError of the browser's reasons, and `external_reference` for a page that asks for what is not
    its own, `missing_file`, `no_part` when the selector finds nothing that is drawn, `no_glyph` when a character of the
    picture is in no font.
    """

    name = "page"

    def __init__(self, limits: Limits = BROWSER_LIMITS) -> None:
        self._browser = Browser(limits)

    def open(self) -> None:
        self._browser.open()

    def close(self) -> None:
        self._browser.close()

    def environment(self) -> str:
        return self._browser.environment()

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        view = msgspec.json.decode(settings, type=PageView)
        if view.screen.scripts:
            raise GuardError("refused", "this engine draws pages without scripts")
        return self._browser.visit(MAIN, {**files, MAIN: code.encode()}, view.screen, lambda visit: _drawn(visit, view))


def _drawn(visit: Visit, view: PageView) -> Drawing:
    serving = visit.serving
    if serving.count_refused:
        raise GuardError("external_reference", serving.asked())
    if serving.count_missing:
        raise GuardError("missing_file", f"asks for {serving.missing[0]!r}, which it does not have")
    visit.still()
    area = _area(visit, view)
    unknown = visit.ask(_GLYPHS, {"area": list(area)})
    if unknown:
        raise GuardError("no_glyph", f"no font has a glyph for {unknown!r}")
    payload = visit.shot(area)
    scale = view.screen.scale
    width, height = round((area[2] - area[0]) * scale), round((area[3] - area[1]) * scale)
    return Drawing(payload=payload, mime="image/png", width=width, height=height, facts=_facts(visit, area, scale))


def _area(visit: Visit, view: PageView) -> Box:
    """The part of the page that is drawn, in whole CSS pixels."""
    found = visit.ask(_PLACE, {"part": view.part, "margin": view.margin})
    if found is None:
        raise GuardError("no_part", f"nothing that {view.part!r} finds is drawn")
    left, top, right, bottom = (int(side) for side in found)
    if right <= left or bottom <= top:
        raise GuardError("blank", "the page has no size")
    return left, top, right, min(bottom, top + view.max_height)


def _facts(visit: Visit, area: Box, scale: float) -> Facts:
    found: dict[str, Any] = visit.ask(_FACTS, {"area": list(area), "most": PARTS})
    parts = []
    for part in found["parts"]:
        left, top, right, bottom = (round(side * scale, 2) for side in part.pop("box"))
        parts.append(Part(box=(left, top, right, bottom), **part))
    return Facts(what="a web page", title=found["title"], parts=tuple(parts), cut=bool(found["cut"]))
