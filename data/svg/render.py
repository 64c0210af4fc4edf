"""Canonical SVG to pixels by cairosvg, proved by resvg; imported only inside a guarded child.

Odd: both engines get the same explicit width and height beside the view box, since they fit a forced size differently.
"""

import io
from typing import Any

import cairocffi
import numpy as np
import resvg_py
from cairosvg import surface
from cairosvg.surface import PNGSurface
from numpy.typing import NDArray
from PIL import Image

from trivium.data.svg.requests import Color, Picture, RenderRequest, Seen

_VISIBLE = 8.0  # grey levels from which two pixels count as different
_UNKERNED = "text,tspan{font-kerning:none}"  # as cairosvg sets letters


class _Pixels(PNGSurface):  # type: ignore[misc]
    """A cairosvg surface that gives its raw pixels (BGRA), not an encoded PNG that we would decode again."""

    def finish(self) -> None:
        self.cairo.flush()
        self.output.write(bytes(self.cairo.get_data()))
        self.cairo.finish()


class _Plain(_Pixels):
    """Letters as their outlines say, at the places that their widths say: no hinting, whatever the machine prefers."""

    words = "plain"
    shapes = ""
    unknown = ""  # characters that a face has no glyph for, of all that was drawn

    def draw(self, node: Any) -> None:
        if node.tag in ("text", "tspan"):
            node["text-rendering"] = self.words
            _Plain.unknown += _without_glyph(node)
        if self.shapes:
            node["shape-rendering"] = self.shapes
        super().draw(node)


class _Marked(_Plain):
    """No pixel of two colours."""

    words = "marked"
    shapes = "crispEdges"


# Values of text-rendering that cairosvg does not know by itself (geometricPrecision would be drawn for one kind of
# screen only).
surface.TEXT_ANTIALIAS.update(plain=cairocffi.ANTIALIAS_GRAY, marked=cairocffi.ANTIALIAS_NONE)
for _word in ("plain", "marked"):
    surface.TEXT_HINT_STYLE[_word] = cairocffi.HINT_STYLE_NONE
    surface.TEXT_HINT_METRICS[_word] = cairocffi.HINT_METRICS_OFF


def _without_glyph(node: Any) -> str:
    text = "".join((node.text or "").split())
    bold = cairocffi.FONT_WEIGHT_BOLD if node.get("font-weight") == "bold" else cairocffi.FONT_WEIGHT_NORMAL
    face = cairocffi.ToyFontFace(node.get("font-family", "sans-serif"), cairocffi.FONT_SLANT_NORMAL, bold)
    glyphs = cairocffi.ScaledFont(face).text_to_glyphs(0, 0, text, with_clusters=False) if text else []
    return "".join(character for character, glyph in zip(text, glyphs, strict=True) if glyph[0] == 0)


def render(request: RenderRequest) -> Picture:
    """The guarded task. Raises what the engines raise; the guard turns it into a reject."""
    _Plain.unknown = ""
    kind = _Plain if request.font_files else _Pixels
    pixels = _paint(request, request.svg, request.background, kind)
    difference, ink, varied = -1.0, 0.0, True
    if request.check or request.ink:
        grey = _grey(pixels)
        difference = float(np.abs(_grey(_second(request)) - grey).mean()) if request.check else -1.0
        blank = _grey(np.array(request.background, np.uint8).reshape(1, 1, 3))
        ink, varied = float((np.abs(grey - blank) >= _VISIBLE).mean()), bool(np.ptp(grey) >= _VISIBLE)
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG", compress_level=request.level)
    return Picture(
        png=buffer.getvalue(),
        width=request.width,
        height=request.height,
        ink=ink,
        varied=varied,
        difference=round(difference, 4),
        seen=_seen(_paint(request, request.marked, (0, 0, 0), _Marked)) if request.marked else {},
        unknown="".join(sorted(set(_Plain.unknown))),
    )


def _paint(request: RenderRequest, svg: str, background: Color, kind: type[_Pixels]) -> NDArray[np.uint8]:
    """[height, width, 3] by cairosvg."""
    raw = kind.convert(bytestring=request.sized(svg).encode(), background_color=_paper(background))
    return np.frombuffer(raw, np.uint8).reshape(request.height, request.width, 4)[..., 2::-1]


def _second(request: RenderRequest) -> NDArray[np.uint8]:
    """[height, width, 3] by resvg."""
    fonts: dict[str, Any] = {"skip_system_fonts": not request.fonts}
    if request.font_files:
        fonts = {"skip_system_fonts": True, "font_files": list(request.font_files), "style_sheet": _UNKERNED}
    svg, paper = request.sized(request.svg), _paper(request.background)
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, background=paper, **fonts))) as other:
        return np.asarray(other.convert("RGB"))


def _paper(background: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*background)


def _seen(pixels: NDArray[np.uint8]) -> dict[int, Seen]:
    """Where each part's colour is; black is paper."""
    parts = (pixels.astype(np.uint32) << np.array([16, 8, 0], np.uint32)).sum(axis=2)
    rows, columns = np.nonzero(parts)
    owners = parts[rows, columns]
    found = {}
    for owner in np.unique(owners):
        mine = owners == owner
        top, bottom, left, right = rows[mine][0], rows[mine][-1], columns[mine].min(), columns[mine].max()
        box = (int(left), int(top), int(right) + 1, int(bottom) + 1)
        found[int(owner) - 1] = Seen(box=box, pixels=int(mine.sum()))
    return found


def _grey(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Luma (ITU-R BT.601) of [height, width, 3]."""
    red, green, blue = (pixels[..., channel].astype(np.int32) for channel in range(3))
    luma: NDArray[np.float64] = (299 * red + 587 * green + 114 * blue) / 1000.0
    return luma
