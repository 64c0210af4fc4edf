"""What draws code: one engine a language, found by name, so that a record can be drawn again years later."""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

import msgspec

from trivium.data.pairs.facts import Facts
from trivium.errors import ShardError

# Where each engine lives; a module is imported when its engine is asked for.
ENGINES = {
    "svg": "trivium.data.svg.engine:SvgEngine",
    "page": "trivium.data.web.engine:PageEngine",
    "game": "trivium.data.web.games.engine:GameEngine",
    "build123d": "trivium.data.cad.engine:CadEngine",
    "mesh": "trivium.data.scene.mesh:MeshEngine",
    "povray": "trivium.data.scene.povray:PovrayEngine",
    "openscad": "trivium.data.scene.openscad:OpenscadEngine",
}
# Those that run code of strangers and not only markup: refused where the guard has no namespaces.
EXECUTING = frozenset({"game", "build123d", "povray", "openscad"})


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """One picture (PNG) or clip, as the engine's guarded child gave it; `facts` are those of the first view."""

    payload: bytes
    mime: str
    width: int
    height: int
    facts: Facts | None = None
    frames: int = 0  # of a clip
    fps: float = 0.0


class Engine(Protocol):
    """Draws code behind the guard. A pure function of (code, files, settings, environment)."""

    name: str

    def open(self) -> None: ...

    def close(self) -> None: ...

    def environment(self) -> str:
        """Versions of all that decides pixels, one line: "cairosvg 2.9.1, cairo 1.16.0, fonts 3f2a…"."""
        ...

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        """`settings` is canonical JSON as in `Drawn`. Raises GuardError with the reason when it can't be drawn."""
        ...


def engine(name: str) -> Engine:
    """A new engine, not yet opened. Raises ShardError for a name that this release does not know."""
    if name not in ENGINES:
        raise ShardError(
            f"a picture was drawn by {name!r}, which this code does not know (it knows {', '.join(ENGINES)})"
        )
    module, _, attribute = ENGINES[name].partition(":")
    made: Engine = getattr(import_module(module), attribute)()
    return made
