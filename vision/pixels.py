"""A picture's bytes to uint8 patches, with Pillow and numpy alone: the half of preprocessing that worker processes run.

Odd: pictures are taken as stored (no EXIF turn, as records hold the stored size), transparency shows an 8-pixel
chessboard of grey 255 and 180 at the resized scale, and the padding is black before normalisation. Patches stay uint8
here: a quarter of the bytes to hand over and to keep; `preprocess.normalise` makes the floats.

N patches, C = 588 numbers a patch (channel, row, column).
"""

import io
import warnings

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from trivium.data.patches import PATCH, Fit, PictureRules, fit
from trivium.errors import GuardError, InputError

SQUARE = 8  # pixels a side of a chessboard square
LIGHT, DARK = 255, 180
MAX_PIXELS = 200_000_000  # decoded size that one picture may have: 800 MB in Pillow's four bytes a pixel
CHANNELS = 3

Bytes = NDArray[np.uint8]


class Request(msgspec.Struct, frozen=True):
    """One picture for `decode`, as it crosses to a worker process."""

    payload: bytes
    rules: PictureRules
    max_pixels: int = MAX_PIXELS


class Reply(msgspec.Struct, frozen=True):
    """Its patches, uint8 [rows · columns, 588] in one piece, its grid in patches, and its stored size in pixels."""

    patches: memoryview
    rows: int
    columns: int
    width: int
    height: int


def decode(request: Request) -> Reply:
    """`picture_patches` for a guarded worker. Raises GuardError with reason `picture` where that raises InputError."""
    try:
        patches_NC, size, stored = _patches(request.payload, request.rules, request.max_pixels)
    except InputError as error:
        raise GuardError("picture", str(error)) from None
    return Reply(memoryview(patches_NC).cast("B"), size.grid_h, size.grid_w, *stored)


def picture_patches(payload: bytes, rules: PictureRules, *, max_pixels: int = MAX_PIXELS) -> tuple[Bytes, Fit]:
    """Decodes, resizes (bicubic, never up), composites, pads and cuts one picture: uint8 [N, 588] and its sizes.

    Raises InputError when the bytes are no picture, are cut short, or decode to more than `max_pixels` pixels.
    """
    return _patches(payload, rules, max_pixels)[:2]


def _patches(payload: bytes, rules: PictureRules, max_pixels: int) -> tuple[Bytes, Fit, tuple[int, int]]:
    """Patches, sizes, and the stored width and height."""
    picture = _open(payload, max_pixels)
    stored = picture.size
    size = fit(*stored, rules)
    return cut_bytes(padded(_rgb(picture, (size.width, size.height)), size)), size, stored


def frame_patches(pixels_HW3: Bytes, size: Fit) -> Bytes:
    """A clip's frame, resized as a picture would be: uint8 [size.patches, 588]."""
    resized = np.asarray(_resized(Image.fromarray(pixels_HW3), (size.width, size.height)))
    return cut_bytes(padded(resized, size))


def padded(pixels_HW3: Bytes, size: Fit) -> Bytes:
    """Black to the right and below, up to whole tokens."""
    if (size.padded_width, size.padded_height) == (size.width, size.height):
        return pixels_HW3
    whole = np.zeros((size.padded_height, size.padded_width, CHANNELS), dtype=np.uint8)
    whole[: size.height, : size.width] = pixels_HW3
    return whole


def cut_bytes(pixels_HW3: Bytes) -> Bytes:
    """uint8 pixels, sides multiples of 14, to uint8 patches [N, 588].

    One row of patches at a time, first block by block and then channel by channel: what is touched stays in the cache,
    where one transposition of the whole picture would go through memory byte by byte.
    """
    rows, columns = pixels_HW3.shape[0] // PATCH, pixels_HW3.shape[1] // PATCH
    patches = np.empty((rows, columns, CHANNELS, PATCH * PATCH), dtype=np.uint8)
    blocks = np.empty((columns, PATCH, PATCH * CHANNELS), dtype=np.uint8)
    by_channel = blocks.reshape(columns, PATCH * PATCH, CHANNELS).transpose(0, 2, 1)
    strips = pixels_HW3.reshape(rows, PATCH, columns, PATCH * CHANNELS)
    for row in range(rows):
        blocks[...] = strips[row].transpose(1, 0, 2)
        patches[row] = by_channel
    return patches.reshape(rows * columns, -1)


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


def _rgb(picture: Image.Image, size: tuple[int, int]) -> Bytes:
    """Resized pixels [H, W, 3]; transparent ones over the chessboard."""
    transparent = "A" in picture.getbands() or "a" in picture.getbands() or "transparency" in picture.info
    if not transparent:
        return np.asarray(_resized(_opaque(picture), size))
    rgba = np.asarray(_resized(picture.convert("RGBA"), size)).astype(np.float32)
    alpha = rgba[..., 3:] / 255
    board = chessboard(size[0], size[1])[..., None]
    return np.rint(rgba[..., :3] * alpha + board * (1 - alpha)).astype(np.uint8)


def _opaque(picture: Image.Image) -> Image.Image:
    if picture.mode == "RGB":
        return picture  # convert would copy it
    if picture.mode.startswith("I;16") or picture.mode == "I":
        # 16-bit greys: Pillow would clip them to 255 instead of scaling.
        deep = np.asarray(picture).astype(np.float64)
        return Image.fromarray(np.clip(deep / 257, 0, 255).round().astype(np.uint8)).convert("RGB")
    return picture.convert("RGB")


def _resized(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    return picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC)


def chessboard(width: int, height: int) -> NDArray[np.float32]:
    """Grey levels [height, width], the light square at the top left."""
    odd = (np.arange(height)[:, None] // SQUARE + np.arange(width)[None] // SQUARE) % 2
    return np.where(odd == 1, DARK, LIGHT).astype(np.float32)
