"""`scene_draw`: POV-Ray and OpenSCAD code and mesh files become items of code, pictures, facts and changed versions."""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta as Bound

from trivium.data.config import Strict, digest
from trivium.data.guard import Limits
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs import bundle
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.editor import Editor
from trivium.data.pairs.engine import Engine
from trivium.data.records import Step
from trivium.data.scene import openscad, povray
from trivium.data.scene.camera import view
from trivium.data.scene.closure import text_of
from trivium.data.scene.mesh import MeshEngine, MeshRules
from trivium.data.scene.openscad import OpenscadEngine, OpenscadRules
from trivium.data.scene.pov.editor import PovrayEditor
from trivium.data.scene.pov.tokens import tokens
from trivium.data.scene.povray import PovrayEngine, PovrayRules
from trivium.data.scene.scad.editor import OpenscadEditor
from trivium.data.scene.shapes import MESHES
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse, touched
from trivium.errors import GuardError

LANGUAGES = {"povray": "POV-Ray", "openscad": "OpenSCAD", "mesh": ""}
_SOLID_VIEWS = (
    "three-quarter view",
    "isometric view",
    "front view",
    "right view",
    "top view",
    "three-quarter view from behind",
)
# Colours of solids and meshes that have none of their own, so that pictures do not all look alike.
_COLORS = (
    *((143, 169, 196), (196, 160, 120), (150, 186, 150), (200, 140, 140), (170, 155, 200), (205, 185, 110)),
    *((120, 180, 185), (185, 185, 185)),
)
_CLOCKS = (0.0, 0.3, 0.65)  # of a scene that moves: what of its time is drawn
_PLAIN = "the scene"

Kind = Literal["povray", "openscad", "mesh"]


class SceneViews(Strict, kw_only=True):
    """What is drawn of one item."""

    width: Annotated[int, Bound(ge=16, le=2048)] = 320  # pixels of each picture
    height: Annotated[int, Bound(ge=16, le=2048)] = 240  # pixels of each picture
    antialias: Annotated[float, Bound(ge=0, le=3)] = 0.3  # POV-Ray's threshold; 0: none
    solid: Annotated[int, Bound(ge=1, le=6)] = 2  # views of a solid or mesh, always one from above the corner first
    moving: Annotated[int, Bound(ge=1, le=3)] = 3  # moments of a POV-Ray scene that reads the clock
    depth: bool = False  # one picture of depth and one of normals of each solid or mesh, by its first view


class SceneDraw:
    """Bundles → drawn items, each by its engine: one sandboxed run a scene, meshes in a lasting guarded child."""

    name = "scene_draw"
    version = 4  # no change too faint to be seen; whether the report of a mistake suffices

    class Config(StageConfig, kw_only=True, tag="scene_draw"):
        """`kinds`: the engines that are opened; items of others are refused."""

        TAKES = frozenset({Content.SCENES})
        GIVES = Content.DRAWN
        EXECUTES = True

        kinds: Annotated[tuple[Kind, ...], Bound(min_length=1)] = ("povray", "openscad", "mesh")
        views: SceneViews = SceneViews()  # sizes and number of pictures
        max_chars: Annotated[int, Bound(ge=1)] = 60_000  # of code; longer is refused (`too_long`)
        max_triangles: Annotated[int, Bound(ge=1, le=5_000_000)] = 300_000  # of a mesh or solid
        seconds: Annotated[int, Bound(ge=1, le=3600)] = 20  # of processor that one run of a program may take
        draw: DrawRules = DrawRules()  # what is refused, how many changed versions
        seed: int = 0  # which views a solid gets beside the first

        def build(self) -> "SceneDraw":
            return SceneDraw(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.seed)
        self._openscad = OpenscadEngine(_within(openscad.LIMITS, config.seconds))
        engines: dict[str, tuple[Engine, Editor | None]] = {
            "povray": (PovrayEngine(_within(povray.LIMITS, config.seconds)), PovrayEditor()),
            "openscad": (self._openscad, OpenscadEditor()),
            "mesh": (MeshEngine(), None),
        }
        self._drawers = {kind: Drawer(*engines[kind], config.draw, self.name) for kind in config.kinds}

    def open(self) -> None:
        for drawer in self._drawers.values():
            drawer.open()

    def close(self) -> None:
        for drawer in self._drawers.values():
            drawer.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError("scene_draw takes raw scenes; put it first in `stages`")
        outcome = self._item(item)
        yield outcome if isinstance(outcome, Drop) else touched(outcome, self.step)

    def _item(self, raw: Raw) -> Draft | Drop:
        packed = bundle.unpack(raw.body)
        kind = _kind(packed.main)
        if kind not in self._drawers:
            return refuse(raw, self.name, "unknown_kind", f"{packed.main} is of no kind that this stage draws")
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest())
        meta = msgspec.structs.replace(meta, title=raw.title)
        files = {path: content for path, content in packed.files.items() if path != packed.main}
        code = "" if kind == "mesh" else text_of(packed.files[packed.main])
        if len(code) > self.config.max_chars:
            return refuse(raw, self.name, "too_long", f"{len(code):,} characters of code", excerpt=code)
        if kind == "povray":
            folder = posixpath.dirname(packed.main)
            outside = [path for path in files if folder and not path.startswith(f"{folder}/")]
            if outside:
                return refuse(raw, self.name, "external_reference", f"{outside[0]} lies above the scene", excerpt=code)
            files = {posixpath.relpath(path, folder or "."): content for path, content in files.items()}
        if kind == "mesh":
            files = packed.files
        try:
            views = self._views(kind, code, files, packed.main, raw.source_id)
        except GuardError as error:
            return refuse(raw, self.name, error.reason, str(error)[:300], excerpt=code)
        return self._drawers[kind].item(
            raw, meta=meta, code=code, language=LANGUAGES[kind], files=files, views=views
        )  # fmt: skip

    def _views(self, kind: str, code: str, files: Mapping[str, bytes], main: str, key: str) -> dict[str, str]:
        rules, most = self.config.views, self.config.max_triangles
        dice = Dice(self.config.seed, "views", key)
        size: dict[str, object] = {"width": rules.width, "height": rules.height}
        if kind == "povray":
            moving = any(token.text == "clock" for token in tokens(code))
            clocks = _CLOCKS[: rules.moving] if moving else (0.0,)
            found = {f"clock {clock:g}" if moving else _PLAIN: clock for clock in clocks}
            return {
                name: _canonical(PovrayRules(**size, antialias=rules.antialias, clock=clock))  # type: ignore[arg-type]
                for name, clock in found.items()
            }
        size["color"] = dice.pick(_COLORS)
        if kind == "openscad":
            first = _canonical(OpenscadRules(**size, main=main, most=most))  # type: ignore[arg-type]
            if self._openscad.flat(code, files, first):
                return {"top view": self._solid("top view", OpenscadRules, size, main)}
        made: type[OpenscadRules | MeshRules] = OpenscadRules if kind == "openscad" else MeshRules
        others = dice.sample(_SOLID_VIEWS[1:], rules.solid - 1)
        views = {name: self._solid(name, made, size, main) for name in (_SOLID_VIEWS[0], *others)}
        if rules.depth:
            for shows, name in (("depth", "depth"), ("normals", "surface normals")):
                views[name] = self._solid(_SOLID_VIEWS[0], made, {**size, "shows": shows}, main)
        return views

    def _solid(
        self, name: str, made: "type[OpenscadRules | MeshRules]", changes: Mapping[str, object], main: str
    ) -> str:
        shot = view(name, **changes)
        fields = {key: getattr(shot, key) for key in shot.__struct_fields__}
        return _canonical(made(**fields, main=main, most=self.config.max_triangles))


def _within(limits: Limits, seconds: int) -> Limits:
    """Processor time is what counts; the clock is far behind it, since a busy machine is no fault of a scene."""
    return msgspec.structs.replace(limits, cpu_seconds=seconds, wall_seconds=min(3600.0, 30.0 * seconds))


def _kind(main: str) -> str:
    extension = posixpath.splitext(main.lower())[1]
    if extension in MESHES:
        return "mesh"
    return {".pov": "povray", ".scad": "openscad"}.get(extension, "")


def _canonical(rules: Strict) -> str:
    return msgspec.json.encode(rules, order="sorted").decode()
