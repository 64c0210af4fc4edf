"""RMSNorm, plain and with a sigmoid output gate a head (K3 report, equation 6)."""

from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.gated_norm.reference import gated_norm_reference, rms_norm_reference
from trivium.kernels.gated_norm.torch_norm import GatedNorm, RMSNorm
from trivium.kernels.packed import expect
from trivium.kernels.precision import without_autocast

__all__ = ["gated_norm", "gated_norm_reference", "rms_norm", "rms_norm_reference"]

MAX_WIDTH = 16384  # a row lies in the registers of one Triton program


@without_autocast
def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """x · rsqrt(mean x² + eps) · weight over the last dimension, in x's dtype; statistics in fp32 (fp64 of fp64).

    Raises ValueError for a weight of another width, device, or without a floating-point dtype.
    """
    expect({"W": x.shape[-1]}, x, [("weight", "W", weight)])
    if use_triton("rms_norm", x, fits=x.shape[-1] <= MAX_WIDTH):
        from trivium.kernels.gated_norm.triton_norm import TritonNorm

        return TritonNorm.apply(x, None, weight, eps)
    return RMSNorm.apply(x, weight, eps)


@without_autocast
def gated_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """σ(gate) ⊙ RMSNorm(x) · weight over the last dimension (one head wide), in the gate's dtype.

    Raises ValueError for a gate or weight of another shape, device, or without a floating-point dtype.
    """
    expect({"W": x.shape[-1]}, x, [("weight", "W", weight)])
    if gate.shape != x.shape or gate.device != x.device:
        raise ValueError(
            f"gate must have x's shape and device, {list(x.shape)} on {x.device}; "
            f"found {list(gate.shape)} on {gate.device}"
        )
    if use_triton("gated_norm", x, fits=x.shape[-1] <= MAX_WIDTH):
        from trivium.kernels.gated_norm.triton_norm import TritonNorm

        return TritonNorm.apply(x, gate, weight, eps)
    return GatedNorm.apply(x, gate, weight, eps)
