"""Canonical SVG to pixels by cairosvg, proved by resvg; imported only inside a guarded child.

Odd: both engines get the same explicit width and height beside the view box, since they fit a forced size differently.
"""

import io

import numpy as np
import resvg_py
from cairosvg.surface import PNGSurface
from numpy.typing import NDArray
from PIL import Image

from trivium.data.svg.requests import Picture, RenderRequest

_VISIBLE = 8.0  # grey levels from which two pixels count as different


class _Pixels(PNGSurface):  # type: ignore[misc]
    """A cairosvg surface that gives its raw pixels (BGRA), not an encoded PNG that we would decode again."""

    def finish(self) -> None:
        self.cairo.flush()
        self.output.write(bytes(self.cairo.get_data()))
        self.cairo.finish()


def render(request: RenderRequest) -> Picture:
    """The guarded task. Raises what the engines raise; the guard turns it into a reject."""
    svg = request.sized()
    paper = "#{:02x}{:02x}{:02x}".format(*request.background)
    raw = _Pixels.convert(bytestring=svg.encode(), background_color=paper)
    pixels = np.frombuffer(raw, np.uint8).reshape(request.height, request.width, 4)[..., 2::-1]
    grey = _grey(pixels)
    difference = -1.0
    if request.check:
        png = resvg_py.svg_to_bytes(svg_string=svg, background=paper, skip_system_fonts=not request.fonts)
        with Image.open(io.BytesIO(png)) as other:
            difference = float(np.abs(_grey(np.asarray(other.convert("RGB"))) - grey).mean())
    blank = _grey(np.array(request.background, np.uint8).reshape(1, 1, 3))
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG", compress_level=6)
    return Picture(
        png=buffer.getvalue(),
        width=request.width,
        height=request.height,
        ink=float((np.abs(grey - blank) >= _VISIBLE).mean()),
        varied=bool(np.ptp(grey) >= _VISIBLE),
        difference=round(difference, 4),
    )


def _grey(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Luma (ITU-R BT.601) of [height, width, 3]."""
    red, green, blue = (pixels[..., channel].astype(np.int32) for channel in range(3))
    luma: NDArray[np.float64] = (299 * red + 587 * green + 114 * blue) / 1000.0
    return luma
