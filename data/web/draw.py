"""`page_draw`: clean pages → drawn items, on a desk and on a phone, or one part of a page by itself."""

import re
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from trivium.data.config import digest
from trivium.data.guard.limits import Limits
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.look import LookRules, Share
from trivium.data.records import Step
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, StageConfig, touched
from trivium.data.web.editor import PageEditor
from trivium.data.web.engine import LANGUAGE, PageEngine, PageView
from trivium.data.web.normalise import files_of
from trivium.data.web.screen import BROWSER_LIMITS, Screen

DESKTOP, PHONE = "desktop", "phone"
# Elements that can stand for themselves; the first of its name is drawn.
PARTS = ("main", "header", "form", "table", "article", "nav", "footer", "figure", "section")


class PageLookRules(LookRules, kw_only=True):
    """Of 769 pictures of pages worth keeping the plainest has 0.005 of `min_detail`; a heading over one red panel that
    fills the picture has half of that, though a tenth of it is not red.
    """

    min_detail: Share = 0.004  # pixels unlike the one before or above; less is `plain`


class PageDrawRules(DrawRules, kw_only=True):
    """As DrawRules, with pages' own measure of what is plain."""

    look: PageLookRules = PageLookRules()  # which pictures are refused


class PageDraw:
    """Documents of page code → drawn items."""

    name = "page_draw"
    version = 3  # no change too faint to be seen

    class Config(StageConfig, kw_only=True, tag="page_draw"):
        """`desktop`, `phone`, `part`: of all pages, the share that is drawn so; a page that none falls on is drawn on a
        desk. `part` adds a picture of one of `parts`, where the page has it.
        """

        TAKES = frozenset({Content.PAGE_CODE})
        GIVES = Content.DRAWN

        desktop: Annotated[float, Meta(ge=0, le=1)] = 1.0
        phone: Annotated[float, Meta(ge=0, le=1)] = 0.5
        part: Annotated[float, Meta(ge=0, le=1)] = 0.25
        desk: Screen = Screen()  # the screen of `desktop`
        mobile: Screen = Screen(width=390, height=844, mobile=True)  # the screen of `phone`
        max_height: Annotated[int, Meta(ge=16, le=32_000)] = 1600  # pixels of a page that are drawn
        parts: tuple[str, ...] = PARTS  # names of elements
        changed: Annotated[float, Meta(ge=0, le=1)] = 0.25  # of real pages that get changed versions; all composed do
        draw: PageDrawRules = PageDrawRules()  # which pictures are refused, how many changed versions
        limits: Limits = BROWSER_LIMITS  # of the browser

        def build(self) -> "PageDraw":
            return PageDraw(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.draw.seed)
        self._editor = PageEditor()
        self._drawer = Drawer(PageEngine(config.limits), self._editor, config.draw, self.name)

    def open(self) -> None:
        self._drawer.open()

    def close(self) -> None:
        self._drawer.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("page_draw takes clean pages; put page_clean before it")
        yield self._draw(item)

    def _draw(self, draft: Draft) -> Draft | Drop:
        code, meta = draft.document.text, draft.document.meta
        composed = any(step.name == "page_composed" for step in meta.lineage.steps)
        changed = composed or Dice(self.config.draw.seed, "changed", meta.source_id).share() < self.config.changed
        self._drawer.editor = self._editor if changed else None
        made = self._drawer.item(
            draft,
            meta=meta,
            code=code,
            language=LANGUAGE,
            files=files_of(draft),
            views=self._views(meta.source_id, code),
        )
        return made if isinstance(made, Drop) else touched(made, self.step)

    def _views(self, key: str, code: str) -> dict[str, str]:
        config, dice = self.config, Dice(self.config.draw.seed, "views", key)
        on_desk, on_phone, apart = (dice.share() < share for share in (config.desktop, config.phone, config.part))
        views: dict[str, PageView] = {}
        if on_desk or not on_phone:
            views[DESKTOP] = PageView(screen=config.desk, max_height=config.max_height)
        if on_phone:
            views[PHONE] = PageView(screen=config.mobile, max_height=config.max_height)
        found = [part for part in config.parts if re.search(f"<{part}[ >]", code)]
        if apart and found:
            part = dice.pick(found)
            views[f"{part} alone"] = PageView(screen=config.desk, max_height=config.max_height, part=part)
        return {name: view.settings for name, view in views.items()}
