"""The stages of CAD corpora: scripts are checked and drawn, STEP files are drawn."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta as Bound

from trivium.data.cad.editor import CadEditor
from trivium.data.cad.engine import LIMITS, CadEngine
from trivium.data.cad.families import FAMILIES
from trivium.data.cad.requests import SHOWN, CadSettings, Color, Kind
from trivium.data.cad.script import ScriptRefusedError, check
from trivium.data.config import Strict, digest
from trivium.data.frames import RawStage
from trivium.data.guard import Limits
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.look import LookRules
from trivium.data.records import Document, Step, Text
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse, touched

Share = Annotated[float, Bound(ge=0, le=1)]
_PART = re.compile(r"([a-z_]+)/([a-z]+)-\d{6}$")  # addresses of the generator: family, mode, number
GENERATED = "text/x-python; part=generated"  # mime of scripts that the families wrote
_LOOK = LookRules(min_ink=0.004, max_edge_ink=0.0)  # every picture has a margin


class Palette(Strict, frozen=True):
    """Colours of one item's pictures: the solid where it has none of its own, paper and lines of drawings."""

    solid: Color = "#8fa9c4"  # of a part that has no colour
    paper: Color = "#ffffff"  # behind all pictures
    ink: Color = "#000000"  # of lines and words


PALETTES = (
    Palette(),
    Palette(solid="#b9c2c9"),
    Palette(solid="#d9a05b"),
    Palette(solid="#7fb08a"),
    Palette(solid="#c97b6b"),
    Palette(solid="#9a8fc4", paper="#fbfaf3", ink="#1b1b1b"),
    Palette(solid="#cdb86a", paper="#f4f6f8", ink="#10243d"),
    Palette(solid="#9cc3e6", paper="#173a5e", ink="#f2f6fa"),
)


class CadScript(RawStage["CadScript.Config"]):
    """Raw scripts → documents of code that may be run: an allow-list over the syntax tree, plain line ends."""

    name = "cad_script"
    version = 1
    takes = "raw scripts"

    class Config(StageConfig, kw_only=True, tag="cad_script"):
        TAKES = frozenset({Content.CAD_CODE})
        GIVES = Content.CAD_SCRIPTS

        max_chars: Annotated[int, Bound(ge=1)] = 20_000  # of a script; longer is `too_long`

        def build(self) -> "CadScript":
            return CadScript(self)

    def outcome(self, raw: Raw) -> Draft | Drop:
        if len(raw.body) > 4 * self.config.max_chars:
            return refuse(raw, self.name, "too_long", f"{len(raw.body):,} bytes")
        try:
            checked = check(raw.body.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            return refuse(raw, self.name, "bad_encoding", f"no UTF-8 at byte {error.start}")
        except ScriptRefusedError as error:
            return refuse(raw, self.name, error.reason, error.detail)
        if len(checked.code) > self.config.max_chars:
            return refuse(
                raw, self.name, "too_long", f"{len(checked.code):,} characters, limit {self.config.max_chars:,}"
            )
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(self.step,))
        declared = {}
        if raw.mime == GENERATED and (made := _PART.match(raw.address)):
            family = made.group(1)
            declared = {"family": family, "mode": made.group(2), "grid": FAMILIES[family].grid}
        title = raw.title or checked.title or PurePosixPath(raw.address).stem
        meta = msgspec.structs.replace(meta, title=title, declared={**meta.declared, **declared})
        return Draft(document=Document(segments=(Text(text=checked.code),), meta=meta))


class Pictures(StageConfig, kw_only=True):
    """What both drawing stages share. `views` in order; facts with places are those of the first, a shaded one. `sheet`
    is the width and height of a dimensioned drawing in pixels."""

    GIVES = Content.DRAWN

    views: Annotated[tuple[Kind, ...], Bound(min_length=1)] = ("shaded", "isometric", "drawing")
    side: Annotated[int, Bound(ge=64, le=2048)] = 448  # pixels of a square picture
    sheet: tuple[Annotated[int, Bound(ge=256, le=2048)], Annotated[int, Bound(ge=256, le=2048)]] = (784, 588)
    drawings: Share = 1.0  # of items whose views hold a dimensioned drawing; the others go without
    palettes: Annotated[tuple[Palette, ...], Bound(min_length=1)] = PALETTES  # one is drawn for each item
    most_faces: Annotated[int, Bound(ge=1, le=100_000)] = 4000  # more is `too_large`
    draw: DrawRules = DrawRules(look=_LOOK)  # what is refused, how many changed versions
    seed: int = 0  # which palette
    limits: Limits = LIMITS  # of the child that runs scripts and draws lines

    def settings(self, key: str, grid: str) -> dict[str, str]:
        """Settings by what a picture shows; the solid is proved with the first."""
        palette = Dice(self.seed, "palette", key).pick(self.palettes)
        drawing = Dice(self.seed, "drawing", key).share() < self.drawings or self.views == ("drawing",)
        kinds = tuple(kind for kind in self.views if drawing or kind != "drawing")
        found = {}
        for number, kind in enumerate(kinds):
            wide, high = self.sheet if kind == "drawing" else (self.side, self.side)
            settings = CadSettings(
                view=kind,
                width=wide,
                height=high,
                color=palette.solid,
                paper=palette.paper,
                ink=palette.ink,
                check=number == 0,
                grid=grid if number == 0 else "",
                written="drawing" in kinds,
                most_faces=self.most_faces,
            )
            found[SHOWN[kind]] = msgspec.json.encode(settings, order="sorted").decode()
        return found


class CadDraw:
    """Scripts → drawn items: run in a process of their own, proved, drawn, changed on purpose and drawn again."""

    name = "cad_draw"
    version = 3  # no change too faint to be seen

    class Config(Pictures, kw_only=True, tag="cad_draw"):
        TAKES = frozenset({Content.CAD_SCRIPTS, Content.RECORDS})
        EXECUTES = True

        changed: Share = 1.0  # of items that get changed versions (`draw.edits`, `draw.bugs`)

        def build(self) -> "CadDraw":
            return CadDraw(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.seed)
        self._engine, self._editor = CadEngine(config.limits), CadEditor()
        self._drawer = Drawer(self._engine, self._editor, config.draw, self.name)

    def open(self) -> None:
        self._drawer.open()

    def close(self) -> None:
        self._drawer.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft) or len(item.document.segments) != 1:
            raise TypeError("cad_draw takes documents of one script; put it after cad_script")
        meta = item.document.meta
        views = self.config.settings(meta.source_id, meta.declared.get("grid", ""))
        self._engine.expect(views.values())
        changed = Dice(self.config.seed, "changed", meta.source_id).share() < self.config.changed
        self._drawer.editor = self._editor if changed else None
        outcome = self._drawer.item(item, meta=meta, code=item.document.text, language="build123d", views=views)
        yield touched(outcome, self.step) if isinstance(outcome, Draft) else outcome


class StepDraw:
    """STEP files → drawn items of pictures and facts alone: a file of an engineer is no code to learn to write."""

    name = "step_draw"
    version = 2  # a mouth that the solid itself hides has no box

    class Config(Pictures, kw_only=True, tag="step_draw"):
        TAKES = frozenset({Content.STEP})

        views: Annotated[tuple[Kind, ...], Bound(min_length=1)] = ("shaded", "drawing")
        palettes: Annotated[tuple[Palette, ...], Bound(min_length=1)] = (Palette(),)  # alike files are found by pixels
        draw: DrawRules = DrawRules(look=_LOOK, edits=0, bugs=0)

        def build(self) -> "StepDraw":
            return StepDraw(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.seed)
        self._engine = CadEngine(config.limits)
        self._drawer = Drawer(self._engine, None, config.draw, self.name)

    def open(self) -> None:
        self._drawer.open()

    def close(self) -> None:
        self._drawer.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("step_draw takes STEP files; put it first in `stages`")
        meta = item.meta(source_sha256=hashlib.sha256(item.body).hexdigest())
        meta = msgspec.structs.replace(meta, title=item.title or PurePosixPath(item.address).stem.replace("_", " "))
        views = self.config.settings(meta.source_id, "")
        self._engine.expect(views.values())
        files = {"part.step": item.body}
        outcome = self._drawer.item(item, meta=meta, code="", language="", files=files, views=views, shown=False)
        yield touched(outcome, self.step) if isinstance(outcome, Draft) else outcome
