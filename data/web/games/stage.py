"""`game_draw`: the code of a page that moves becomes an item of code, a clip, facts and changed versions."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta as Bound

from trivium.data.config import digest
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs import bundle
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.records import Meta, Step
from trivium.data.stage import Content, Draft, Item, Outcome, Raw, StageConfig, refuse, touched
from trivium.data.web.games import play
from trivium.data.web.games.editor import GameEditor
from trivium.data.web.games.engine import GameEngine
from trivium.data.web.games.kinds import Known, kinds, recognise
from trivium.data.web.games.settings import GameSettings, Input
from trivium.data.web.screen import BROWSER_LIMITS

Side = Annotated[int, Bound(ge=64, le=2048)]


class GameDraw:
    """A page, alone or in a bundle with its files → drawn item. Each page runs in a browser process of its own."""

    name = "game_draw"
    version = 2  # no change too faint to be seen

    class Config(StageConfig, kw_only=True, tag="game_draw"):
        """A clip has `seconds` × `fps` frames, of a window `width` × `height` (pages of our generator: their canvas's).
        Who plays is chance from `seed` and the page's source id; `inputs: false` leaves pages alone. A changed version
        costs as many clips as the page itself; only a share of `changed` of the pages gets some.
        """

        TAKES = frozenset({Content.GAMES, Content.RECORDS})
        GIVES = Content.DRAWN
        EXECUTES = True

        seconds: Annotated[float, Bound(gt=0, le=60)] = 3.0
        fps: Annotated[int, Bound(ge=1, le=30)] = 8
        width: Side = 480
        height: Side = 360
        skip: Annotated[int, Bound(ge=1, le=60_000)] = 500  # milliseconds before the first frame of a stranger's page
        inputs: bool = True  # keys and mouse, so that games move
        max_bytes: Annotated[int, Bound(ge=1)] = 200_000  # of a page's own text; a larger one is `too_large`
        draw: DrawRules = DrawRules()  # what is refused, how many changed versions
        changed: Annotated[float, Bound(ge=0, le=1)] = 1.0  # of the pages, those that get changed versions
        seed: int = 0  # chance inside pages, and what players do
        wall_seconds: Annotated[float, Bound(ge=1, le=3600)] = 60.0  # for one clip

        def build(self) -> "GameDraw":
            return GameDraw(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.seed)
        limits = msgspec.structs.replace(BROWSER_LIMITS, wall_seconds=config.wall_seconds)
        self._editor = GameEditor()
        self._drawer = Drawer(GameEngine(limits), self._editor, config.draw, self.name)

    def open(self) -> None:
        self._drawer.open()

    def close(self) -> None:
        self._drawer.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("game_draw takes pages as they were read; put it first")
        main, files = "index.html", {}
        body = item.body
        if item.mime == bundle.MIME:
            unpacked = bundle.unpack(item.body)
            main, body = unpacked.main, unpacked.files[unpacked.main]
            files = {path: content for path, content in unpacked.files.items() if path != main}
        if len(body) > self.config.max_bytes:
            detail = f"the page itself has {len(body)} bytes, at most {self.config.max_bytes} are taken"
            yield refuse(item, self.name, "too_large", detail)
            return
        try:
            code = body.decode("utf-8-sig")
        except UnicodeDecodeError:
            yield refuse(item, self.name, "not_utf8", "the page is not UTF-8")
            return
        yield self._item(item, main, code, files)

    def _item(self, raw: Raw, main: str, code: str, files: Mapping[str, bytes]) -> Outcome:
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest())
        settings = self.settings(code, main, meta)
        length = f"{settings.frames / settings.fps:g} s of play" if settings.inputs else "as it runs by itself"
        lucky = Dice(self.config.seed, "changed", meta.source_id).share() < self.config.changed
        self._drawer.editor = self._editor if lucky else None
        drawn = self._drawer.item(
            raw, meta=meta, code=code, language="HTML", files=files, views={length: settings.canonical()}
        )
        return touched(drawn, self.step) if isinstance(drawn, Draft) else drawn

    def settings(self, code: str, main: str, meta: Meta) -> GameSettings:
        """How this page is filmed and played."""
        config = self.config
        dice = Dice(config.seed, "play", meta.source_id)
        known = recognise(code)
        frames = max(2, round(config.seconds * config.fps))
        base = GameSettings(
            main=main,
            width=config.width,
            height=config.height,
            seed=dice.below(1 << 31),
            skip=config.skip,
            fps=config.fps,
            frames=frames,
        )
        length = round(config.seconds * 1000)
        if known is None:
            acts: tuple[Input, ...] = ()
            if config.inputs:
                acts = play.stranger(config.width, config.height, config.skip + length, dice)
            return msgspec.structs.replace(base, inputs=acts)
        width, height = _size(known)
        how = kinds()[known.kind].play
        acts = play.inputs(how, length, dice) if how is not None and config.inputs else ()
        return msgspec.structs.replace(base, width=width, height=height, skip=125, capture="canvas", inputs=acts)


def _size(known: Known) -> tuple[int, int]:
    return int(known.constants["WIDTH"]), int(known.constants["HEIGHT"])
