"""A picture's bytes to normalised patches (spec, 6.2: the released processor's procedure); pixels are cut in `pixels`.

N patches, C = 588 numbers a patch (channel, row, column).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trivium.data.patches import Fit, PictureRules
from trivium.vision.pixels import MAX_PIXELS, Bytes, picture_patches


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
    into = out_NC.numpy()  # one memory; numpy's division reads bytes without a float copy of them
    np.divide(patches_NC, np.float32(255), out=into, dtype=np.float32)
    np.subtract(into, np.float32(0.5), out=into)
    np.divide(into, np.float32(0.5), out=into)
    return out_NC
