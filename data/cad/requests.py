"""What the builder and the guarded CAD child say to each other; imports no engine."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trivium.data.config import Strict
from trivium.data.pairs.facts import Box, Facts
from trivium.data.scene.camera import Shot
from trivium.data.scene.shapes import Mesh

TASK = "trivium.data.cad.task:work"
Kind = Literal["shaded", "isometric", "front", "top", "right", "drawing"]
# What each kind of picture shows, in words.
SHOWN: dict[str, str] = {
    "shaded": "shaded isometric view",
    "isometric": "isometric line drawing",
    "front": "front view with hidden lines",
    "top": "top view with hidden lines",
    "right": "right view with hidden lines",
    "drawing": "dimensioned drawing in three views",
}
Color = Annotated[str, Meta(pattern=r"^#[0-9a-f]{6}$")]


class CadSettings(Strict, frozen=True):
    """One picture of a solid, `width` × `height` pixels; `ink` on `paper` where lines are drawn.

    `check`: prove a script's solid first (closed, valid, the same after a round trip through STEP). `grid`: axes along
    which its bounding box must have whole-millimetre sizes.
    """

    view: Kind
    width: Annotated[int, Meta(ge=64, le=2048)] = 448
    height: Annotated[int, Meta(ge=64, le=2048)] = 448
    color: Color = "#8fa9c4"  # of the shaded solid, where it has none of its own
    paper: Color = "#ffffff"
    ink: Color = "#000000"
    check: bool = True
    grid: Annotated[str, Meta(pattern="^x?y?z?$")] = ""
    written: bool = False  # a dimensioned drawing stands beside this picture: its numbers can be read
    most_faces: Annotated[int, Meta(ge=1, le=100_000)] = 4000  # more is `too_large`


class CadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A script, or else the bytes of a STEP file, and the pictures to draw of its solid."""

    settings: tuple[CadSettings, ...]
    code: str = ""
    file: bytes = b""


class CadAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, or for shaded views the triangles to draw and how: then a surface `pN` belongs to part N of the facts.

    `rims`: where the mouth of a hole lies in the shaded picture, by the number of its part.
    """

    facts: Facts | None = None
    png: bytes = b""
    mesh: Mesh | None = None
    shot: Shot | None = None
    rims: dict[int, Box] = {}
