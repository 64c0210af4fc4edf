"""Newton–Schulz orthogonalisation of many equal blocks at once, for Muon.

Blocks of more than MOST_ROWS rows take the library's products on a GPU too. Kernels that compute half the tiles of the
symmetric products were tried for them and were slower on an H200: 0.98 ms beside 0.83 for 96 blocks of 192 × 1536, 6.96
beside 6.59 for 36 of 1024 × 3584; only 12 of 3072 × 3584 took less, 18.4 beside 19.5.
"""

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.newton_schulz.reference import STEPS, newton_schulz_reference
from trivium.kernels.newton_schulz.torch_newton_schulz import by_torch
from trivium.kernels.precision import without_autocast

__all__ = ["MOST_ROWS", "STEPS", "newton_schulz_reference", "orthogonalize"]

MOST_ROWS = 128  # of a block that the kernels take: one program holds a Gram matrix of it in its registers


@torch.no_grad()
@without_autocast
def orthogonalize(x_BMN: Tensor, steps: int = STEPS) -> Tensor:
    """Each block with its singular values pressed into 0.68 to 1.21; rows may outnumber columns. Zero stays zero;
    a block whose norm the working type can't hold becomes NaN, as one with an infinite number does.

    Works in bf16 on a GPU and in the input's own precision on a CPU; returns the input's type. No gradient.
    Raises ValueError for less than one step and for another number of dimensions.
    """
    if x_BMN.dim() != 3:
        raise ValueError(f"blocks must be [B, M, N]; found {list(x_BMN.shape)}")
    if steps < 1:
        raise ValueError(f"steps must be 1 or more; found {steps}")
    if x_BMN.shape[-2] > x_BMN.shape[-1]:
        return orthogonalize(x_BMN.mT, steps).mT
    if use_triton("newton_schulz", x_BMN, fits=x_BMN.shape[-2] <= MOST_ROWS):
        from trivium.kernels.newton_schulz.triton_gram import by_gram

        return by_gram(x_BMN, steps, half=True)
    return by_torch(x_BMN, steps)
