"""`svg_draw`: canonical SVG code becomes an item of code, pictures, facts and changed versions."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta as Bound

from trivium.data.config import digest
from trivium.data.guard import Limits
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.facts import Facts
from trivium.data.pairs.item import SHEET, sheet_of
from trivium.data.records import Meta, Step
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, StageConfig, refuse, touched
from trivium.data.svg import plan as plans
from trivium.data.svg.editor import SvgEditor
from trivium.data.svg.engine import SvgEngine, settings
from trivium.data.svg.minify import with_minified
from trivium.data.svg.requests import Color, unit_of
from trivium.errors import GuardError

_JOINERS = re.compile(r"variation selector|zero width joiner|emoji component")
_CODED = re.compile(r"regional indicator|[0-9A-F]{4,}|[“”\n]")
_LETTERS = re.compile(r'font-size="([\d.]+)"')
_LEGIBLE = 8.0  # pixels of the smallest letters' size, where a size of the recipe gives that
_PAPERS = {(255, 255, 255): "white", (0, 0, 0): "black"}
_INVISIBLE = frozenset({"blank", "one_colour"})  # another paper may show it
Sides = Annotated[tuple[Annotated[int, Bound(ge=16, le=4096)], ...], Bound(min_length=1)]
Share = Annotated[float, Bound(ge=0, le=1)]


class SvgDraw:
    """Code → drawn item. Drawn by cairosvg, agreed to by resvg, looked at, each in a guarded child."""

    name = "svg_draw"
    version = 2  # no change too faint to be seen; whether the report of a mistake suffices

    class Config(StageConfig, kw_only=True, tag="svg_draw"):
        """Each record is drawn in `views` of the sizes and papers that the lists span; which, its source id decides. A
        drawing that its paper hides is drawn on the next one. `pixels`: the longer side. `worded`: the same for
        drawings with words, of which only sizes at which their letters can be read are taken, else the largest.
        """

        TAKES = frozenset({Content.SVG_CODE, Content.RECORDS})
        GIVES = Content.DRAWN
        SCORES = ("difference", "minified")

        pixels: Sides = (224,)
        worded: Sides = (448,)
        backgrounds: Annotated[tuple[Color, ...], Bound(min_length=1)] = ((255, 255, 255),)  # under what is transparent
        views: Annotated[int, Bound(ge=1, le=16)] = 1  # pictures of a record
        max_difference: Annotated[float, Bound(ge=0, le=255)] = 5.0  # mean grey levels between the two engines
        changed: Share = 1.0  # of records that also get changed versions (`draw`); drawings of data always do
        minified: Share = 0.0  # of records that also get their code without what a renderer does not need
        draw: DrawRules = DrawRules()  # what is refused, how many changed versions
        seed: int = 0  # which sizes and papers a record gets
        limits: Limits = Limits()  # of the child that draws

        def build(self) -> "SvgDraw":
            return SvgDraw(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.seed)
        self.engine = SvgEngine(config.limits, max_difference=config.max_difference)
        self.editor = SvgEditor()
        self._drawer = Drawer(self.engine, self.editor, config.draw, self.name)

    def open(self) -> None:
        self._drawer.open()

    def close(self) -> None:
        self._drawer.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft) or len(item.document.segments) != 1:
            raise TypeError("svg_draw takes documents of one code segment; put it after svg_sanitize")
        yield self._item(item, item.document.text)

    def _item(self, draft: Draft, code: str) -> Draft | Drop:
        payload = draft.media.get(plans.PLAN)
        plan = plans.decode(payload) if payload else None
        meta = draft.document.meta
        self.editor.plan = plan
        self.editor.idle = (
            plan is None and Dice(self.config.seed, "changed", meta.source_id).share() >= self.config.changed
        )
        outcome: Draft | Drop | None = None
        for views in self.views_of(code, Dice(self.config.seed, "views", meta.source_id)):
            outcome = self._drawn(draft, meta, code, views, plan)
            if not isinstance(outcome, Drop) or outcome.reason not in _INVISIBLE:
                break
        assert outcome is not None
        if isinstance(outcome, Drop):
            return outcome
        return touched(self._scored(outcome if plan else _called(outcome), code), self.step)

    def _drawn(
        self, draft: Draft, meta: Meta, code: str, views: Mapping[str, str], plan: plans.Plan | None
    ) -> Draft | Drop:
        facts: Facts | None = None
        if plan is not None:
            first = next(iter(views.values()))
            try:
                seen = self.engine.locate(code, first)
            except GuardError as error:
                return refuse(draft, self.name, error.reason, str(error), excerpt=code)
            facts = plans.in_pixels(plan, seen)
        return self._drawer.item(draft, meta=meta, code=code, language="SVG", views=views, facts=facts)

    def views_of(self, code: str, dice: Dice) -> Iterator[dict[str, str]]:
        """What to draw, and what to draw instead when the paper hides it: every view on the next paper."""
        papers = dice.shuffled(self.config.backgrounds)
        letters = min(map(float, _LETTERS.findall(code)), default=0.0)
        legible = [size for size in self.config.worded if letters and letters * unit_of(code, size) >= _LEGIBLE]
        sizes = (legible or [max(self.config.worded)]) if letters else self.config.pixels
        every = dice.shuffled([(size, turn) for size in sizes for turn in range(len(papers))])
        for shift in range(len(papers)):
            found = {}
            for pixels, turn in every[: self.config.views]:
                paper = papers[(turn + shift) % len(papers)]
                found[f"{pixels} px on {_paper_name(paper)}"] = settings(pixels, paper)
            yield found

    def _scored(self, draft: Draft, code: str) -> Draft:
        """The item with what was measured, and for a share of records a shorter code that draws the same."""
        meta = draft.document.meta
        scores = {**meta.scores, "difference": self.engine.difference(code)}
        if Dice(self.config.seed, "minified", meta.source_id).share() < self.config.minified:
            draft, scores["minified"] = with_minified(draft, code, self.engine)
        document = msgspec.structs.replace(draft.document, meta=msgspec.structs.replace(meta, scores=scores))
        return msgspec.structs.replace(draft, document=document)


def _paper_name(color: Color) -> str:
    return _PAPERS.get(color, "#{:02x}{:02x}{:02x}".format(*color))


def _called(draft: Draft) -> Draft:
    """A stranger's drawing has its file's name for a caption, where that is words."""
    title, sheet = _words(draft.document.meta.title), sheet_of(draft)
    if not title:
        return draft
    facts = msgspec.structs.replace(sheet.facts, what=f"a drawing called “{title}”")
    sheet = msgspec.structs.replace(sheet, facts=facts)
    return msgspec.structs.replace(draft, media={**draft.media, SHEET: msgspec.json.encode(sheet, order="sorted")})


def _words(title: str) -> str:
    """A title without what only a character's code says; empty for codes and what is too long to be a name."""
    said = [part for part in title.split(", ") if not _JOINERS.search(part)]
    title = ", ".join(said).strip()
    letters = sum(character.isalpha() for character in title)
    return title if letters >= 3 and len(title) <= 80 and not _CODED.search(title) else ""
