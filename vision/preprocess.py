"""A picture's bytes to normalised patches (spec, 6.2: the released processor's procedure); pixels are cut in `pixels`.

N patches, C = 588 numbers a patch (channel, row, column).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trivium.data.patches import Fit, PictureRules
from trivium.vision.pixels import MAX_PIXELS, Bytes, picture_patches

CACHED = 256  # patches that are normalised at once: 600 kB of floats stay in the cache between the passes


@dataclass(frozen=True, slots=True)
class Patches:
    """One picture ready for the tower: float32 [N, 588] in row-major order of its grid, and the grid."""

    patches_NC: Tensor
    grid: tuple[int, int, int]  # frames (1), rows, columns
    fit: Fit


def load_patches(payload: bytes, rules: PictureRules, *, max_pixels: int = MAX_PIXELS) -> Patches:
    """Decodes, resizes, composites, pads, cuts and normalises one picture.

    Raises InputError when the bytes are no picture, are cut short, or decode to more than `max_pixels` pixels.
    """
    patches_NC, size = picture_patches(payload, rules, max_pixels=max_pixels)
    return Patches(normalise(patches_NC), (1, size.grid_h, size.grid_w), size)


def normalise(patches_NC: Bytes, out_NC: Tensor | None = None) -> Tensor:
    """uint8 numbers to float32 (x / 255 − 0.5) / 0.5, into `out_NC` (contiguous, of the same shape) where given."""
    out_NC = torch.empty(patches_NC.shape, dtype=torch.float32) if out_NC is None else out_NC
    into = out_NC.numpy()
    for start in range(0, len(patches_NC), CACHED):
        part = into[start : start + CACHED]
        np.copyto(part, patches_NC[start : start + CACHED])
        np.divide(part, np.float32(255), out=part)
        np.subtract(part, np.float32(0.5), out=part)
        np.add(part, part, out=part)  # twice is exactly the division by 0.5
    return out_NC
