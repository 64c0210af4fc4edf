"""Newton–Schulz orthogonalisation of many equal blocks at once, for Muon."""

from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.newton_schulz.reference import STEPS, newton_schulz_reference
from trivium.kernels.newton_schulz.torch_newton_schulz import by_torch
from trivium.kernels.precision import without_autocast

__all__ = ["STEPS", "newton_schulz_reference", "orthogonalize"]


@without_autocast
def orthogonalize(x_BMN: Tensor, steps: int = STEPS) -> Tensor:
    """Each block with its singular values pressed into 0.68 to 1.21; rows may outnumber columns. Zero stays zero.

    Works in bf16 on a GPU and in the input's own precision on a CPU; returns the input's type. No gradient.
    Raises ValueError for less than one step.
    """
    if steps < 1:
        raise ValueError(f"steps must be 1 or more; found {steps}")
    if x_BMN.shape[-2] > x_BMN.shape[-1]:
        return orthogonalize(x_BMN.mT, steps).mT
    if use_triton("newton_schulz", x_BMN):
        from trivium.kernels.newton_schulz.triton_newton_schulz import by_kernels

        return by_kernels(x_BMN, steps)
    return by_torch(x_BMN, steps)
