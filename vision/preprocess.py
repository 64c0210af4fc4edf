"""A picture's bytes to normalised patches (spec, 6.2: the released processor's procedure).

Odd: pictures are taken as stored (no EXIF turn, as records hold the stored size), transparency shows an 8-pixel
chessboard of grey 255 and 180 at the resized scale, and the padding is black before normalisation, so −1 after it.

N patches, C = 588 numbers a patch (channel, row, column).
"""

import io
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from trivium.data.patches import PATCH, Fit, PictureRules, fit
from trivium.errors import InputError

SQUARE = 8  # pixels a side of a chessboard square
LIGHT, DARK = 255, 180
MAX_PIXELS = 200_000_000  # decoded size that one picture may have: 600 MB as RGB


@dataclass(frozen=True, slots=True)
class Patches:
    """One picture ready for the tower: float32 [N, 588] in row-major order of its grid, and the grid."""

    patches_NC: Tensor
    grid: tuple[int, int, int]  # frames (1), rows, columns
    fit: Fit


def load_patches(payload: bytes, rules: PictureRules, *, max_pixels: int = MAX_PIXELS) -> Patches:
    """Decodes, resizes (bicubic, never up), composites, pads, normalises and cuts one picture.

    Raises InputError when the bytes are no picture, are cut short, or decode to more than `max_pixels` pixels.
    """
    picture = _open(payload, max_pixels)
    size = fit(picture.width, picture.height, rules)
    pixels = _rgb(picture, (size.width, size.height))
    padded = np.zeros((size.padded_height, size.padded_width, 3), dtype=np.uint8)
    padded[: size.height, : size.width] = pixels
    return Patches(cut(torch.from_numpy(padded)), (1, size.grid_h, size.grid_w), size)


def cut(pixels_HW3: Tensor) -> Tensor:
    """uint8 pixels, sides multiples of 14, to float32 patches [N, 588] of (x / 255 − 0.5) / 0.5."""
    rows, columns = pixels_HW3.shape[0] // PATCH, pixels_HW3.shape[1] // PATCH
    blocks = pixels_HW3.view(rows, PATCH, columns, PATCH, 3).permute(0, 2, 4, 1, 3).reshape(rows * columns, -1)
    return (blocks.float() / 255 - 0.5) / 0.5


def _open(payload: bytes, max_pixels: int) -> Image.Image:
    try:
        with warnings.catch_warnings():
            # Pillow's own bomb warning comes at a size below our limit; its error would come above.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(payload))
            if picture.width * picture.height > max_pixels:
                raise InputError(
                    f"a picture of {picture.width}x{picture.height} pixels; at most {max_pixels:,} are decoded: leave "
                    "it out or raise the limit"
                )
            picture.load()
    except UnidentifiedImageError:
        raise InputError("not a picture in a format that is read here (png, jpg, webp, gif, bmp, …)") from None
    except Image.DecompressionBombError as error:
        raise InputError(f"a picture too large to decode ({error}); leave it out") from None
    except (OSError, SyntaxError, ValueError, EOFError, TypeError, IndexError, OverflowError, MemoryError) as error:
        # Pillow's format readers raise all of these on damaged files.
        raise InputError(f"a picture that can't be decoded ({type(error).__name__}: {error}); leave it out") from None
    return picture


def _rgb(picture: Image.Image, size: tuple[int, int]) -> np.ndarray:
    """Resized pixels [H, W, 3]; transparent ones over the chessboard."""
    transparent = "A" in picture.getbands() or "a" in picture.getbands() or "transparency" in picture.info
    if not transparent:
        return np.asarray(_resized(_opaque(picture), size))
    rgba = np.asarray(_resized(picture.convert("RGBA"), size)).astype(np.float32)
    alpha = rgba[..., 3:] / 255
    board = chessboard(size[0], size[1])[..., None]
    return np.rint(rgba[..., :3] * alpha + board * (1 - alpha)).astype(np.uint8)


def _opaque(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I;16") or picture.mode == "I":
        # 16-bit greys: Pillow would clip them to 255 instead of scaling.
        deep = np.asarray(picture).astype(np.float64)
        return Image.fromarray(np.clip(deep / 257, 0, 255).round().astype(np.uint8)).convert("RGB")
    return picture.convert("RGB")


def _resized(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    return picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC)


def chessboard(width: int, height: int) -> np.ndarray:
    """Grey levels [height, width], the light square at the top left."""
    odd = (np.arange(height)[:, None] // SQUARE + np.arange(width)[None] // SQUARE) % 2
    return np.where(odd == 1, DARK, LIGHT).astype(np.float32)
