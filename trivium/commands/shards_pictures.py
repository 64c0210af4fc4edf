"""Pictures of records in a terminal: in pixels where it can draw them (sixel, kitty), else as half blocks.

Odd: whether a terminal draws is asked of the terminal itself, by `textual-image` if that is installed, and only when
standard output is one.
"""

import io
import os
import sys
from typing import Any

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text as RichText

MOST_PIXELS = 64_000_000  # a larger picture is named, not decoded
MOST_COLUMNS = 80


def picture(payload: bytes, columns: int) -> tuple[RenderableType, bool]:
    """The picture for a terminal of so many columns, and whether it is drawn in pixels, which no frame may surround."""
    drawn_by = _graphics()
    if drawn_by is None:
        return half_blocks(payload, columns), False
    layer = decoded(payload)
    if isinstance(layer, RichText):
        return layer, False
    width = max(1, min(columns, MOST_COLUMNS, -(-layer.width // 8)))  # a cell is about 8 pixels wide
    return drawn_by(layer, width=width, height="auto"), True


def _graphics() -> Any:
    """The renderable for pixels that this terminal understands, or None."""
    try:
        if sys.__stdout__ is None or 0 in os.get_terminal_size(sys.__stdout__.fileno()):
            return None  # a terminal that does not know its size can't be told where a picture ends
    except OSError:  # no terminal
        return None
    try:
        from textual_image.renderable import Image, SixelImage, TGPImage
    except ImportError:
        return None
    return Image if Image in (SixelImage, TGPImage) else None


def decoded(payload: bytes) -> Any:
    """The picture as RGBA, or a remark on why there is none."""
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(payload), formats=("PNG", "JPEG", "WEBP", "GIF", "BMP")) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return RichText(f"({opened.width} × {opened.height} pixels: too large to show)", style="dim")
            return opened.convert("RGBA")
    except Exception as error:  # Pillow raises many kinds for damaged files
        return RichText(f"(can't be shown: {type(error).__name__})", style="dim")


def half_blocks(payload: bytes, columns: int) -> RichText:
    """A picture as `▀` cells, two pixels each, at most `columns` wide and 40 lines high, on white."""
    import PIL.Image

    layer = decoded(payload)
    if isinstance(layer, RichText):
        return layer
    scale = min(1.0, min(columns, MOST_COLUMNS) / layer.width, 80 / layer.height)
    layer = layer.resize((max(1, int(layer.width * scale)), max(1, int(layer.height * scale))))
    canvas = PIL.Image.new("RGBA", (layer.width, layer.height + layer.height % 2), "white")
    canvas.alpha_composite(layer)
    shown = RichText()
    for top in range(0, canvas.height, 2):
        for x in range(canvas.width):
            upper, lower = (canvas.getpixel((x, y)) for y in (top, top + 1))
            style = Style(color=_rgb(upper), bgcolor=_rgb(lower))
            shown.append("▀", style)
        shown.append("\n")
    shown.rstrip()
    return shown


def _rgb(pixel: Any) -> str:
    return f"#{pixel[0]:02x}{pixel[1]:02x}{pixel[2]:02x}"
