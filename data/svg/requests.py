"""What the builder and the guarded renderer say to each other; imports neither engine."""

import re
from typing import Annotated

import msgspec
from msgspec import Meta

TASK = "trivium.data.svg.render:render"
Side = Annotated[int, Meta(ge=1, le=4096)]
Color = tuple[int, int, int]  # red, green, blue
_BOX = re.compile(r' viewBox="\S+ \S+ (\S+) (\S+)"')
_SIZE = re.compile(r' width="([^"]*)" height="([^"]*)"')


class RenderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`svg` as the sanitiser wrote it, to be drawn `width` × `height` pixels on an opaque `background`.

    `marked` is the same drawing with each part in a flat colour of its own (part n: n + 1 as 24 bits, black paper), by
    which the renderer says where each part is seen; empty: not asked.
    """

    svg: str
    width: Side
    height: Side
    background: Color = (255, 255, 255)
    check: bool = True
    fonts: bool = False  # the machine's fonts are loaded only for a file that holds text
    font_files: tuple[str, ...] = ()  # not empty: these and no others, letters without hinting
    level: Annotated[int, Meta(ge=0, le=9)] = 6  # of the PNG's compression
    marked: str = ""
    ink: bool = True  # whether to measure what is drawn on; False: `ink` is 0 and `varied` true

    def sized(self, svg: str) -> str:
        """Canonical code with the picture's size in place of its own; the view box makes it fit."""
        return _SIZE.sub(f' width="{self.width}" height="{self.height}"', svg, count=1)


class Seen(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Where a part is seen: `box` holds left, top, right and bottom edges in pixels, `pixels` how many are its own."""

    box: tuple[int, int, int, int]
    pixels: int


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """`png` is opaque RGB. `ink` is the share of pixels unlike the background, `varied` says that not all are alike,
    `difference` is the mean grey difference (0 to 255) of the two engines, -1 when not checked. `seen` are the
    parts of `marked` by number, `unknown` characters without a glyph."""

    png: bytes
    width: int
    height: int
    ink: float
    varied: bool
    difference: float
    seen: dict[int, Seen] = {}
    unknown: str = ""


def request_for(code: str, pixels: int, background: Color, *, check: bool = True) -> RenderRequest:
    """A request that fits canonical code inside `pixels` × `pixels`, its longer side filling it."""
    width, height = size_for(code, pixels)
    return RenderRequest(
        svg=code, width=width, height=height, background=background, check=check, fonts="<text" in code
    )


def size_for(code: str, pixels: int) -> tuple[int, int]:
    """Width and height of canonical code's picture. Raises ValueError for other code."""
    match = _SIZE.search(code)
    if match is None:
        raise ValueError("not the sanitiser's canonical form: no width and height")
    sides = [float(side) for side in match.groups()]
    width, height = (max(1, round(pixels * side / max(sides))) for side in sides)
    return width, height


def unit_of(code: str, pixels: int) -> float:
    """How many pixels a user unit is long in canonical code's picture; its view box has the picture's shape."""
    match = _BOX.search(code)
    if match is None:
        raise ValueError("not the sanitiser's canonical form: no viewBox")
    return pixels / max(map(float, match.groups()))
