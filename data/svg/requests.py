"""What the builder and the guarded renderer say to each other; imports neither engine."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

TASK = "trivium.data.svg.render:render"
Side = Annotated[int, Meta(ge=1, le=4096)]
_SIZE = re.compile(r' width="([^"]*)" height="([^"]*)"')


class RenderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`svg` as the sanitiser wrote it, to be drawn `width` × `height` pixels on an opaque `background` (r, g, b)."""

    svg: str
    width: Side
    height: Side
    background: tuple[int, int, int] = (255, 255, 255)
    check: bool = True
    fonts: bool = False  # the machine's fonts are loaded only for a file that holds text

    def sized(self) -> str:
        """The code with the picture's size in place of its own; the view box makes it fit."""
        return _SIZE.sub(f' width="{self.width}" height="{self.height}"', self.svg, count=1)


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """`png` is opaque RGB. `ink` is the share of pixels unlike the background, `varied` says that not all are alike,
    `difference` is the mean grey difference (0 to 255) of the two engines, -1 when not checked."""

    png: bytes
    width: int
    height: int
    ink: float
    varied: bool
    difference: float


def request_for(code: str, pixels: int, background: tuple[int, int, int], *, check: bool = True) -> RenderRequest:
    """A request that fits canonical code inside `pixels` × `pixels`, its longer side filling it."""
    match = _SIZE.search(code)
    if match is None:
        raise ValueError("not the sanitiser's canonical form: no width and height")
    sides = [float(side) for side in match.groups()]
    width, height = (max(1, round(pixels * side / max(sides))) for side in sides)
    return RenderRequest(
        svg=code, width=width, height=height, background=background, check=check, fonts="<text" in code
    )
