"""RMSNorm, plain and with a sigmoid output gate a head (K3 report, equation 6)."""

from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.gated_norm.reference import gated_norm_reference, rms_norm_reference
from trivium.kernels.gated_norm.torch_norm import GatedNorm, RMSNorm
from trivium.kernels.precision import without_autocast

__all__ = ["gated_norm", "gated_norm_reference", "rms_norm", "rms_norm_reference"]

MAX_WIDTH = 16384  # a row lies in the registers of one Triton program


@without_autocast
def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """x · rsqrt(mean x² + eps) · weight over the last dimension, in x's dtype; statistics in fp32."""
    if use_triton("rms_norm", x, fits=x.shape[-1] <= MAX_WIDTH):
        from trivium.kernels.gated_norm.triton_norm import TritonNorm

        return TritonNorm.apply(x, None, weight, eps)
    return RMSNorm.apply(x, weight, eps)


@without_autocast
def gated_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """σ(gate) ⊙ RMSNorm(x) · weight over the last dimension (one head wide), in the gate's dtype."""
    if use_triton("gated_norm", x, fits=x.shape[-1] <= MAX_WIDTH):
        from trivium.kernels.gated_norm.triton_norm import TritonNorm

        return TritonNorm.apply(x, gate, weight, eps)
    return GatedNorm.apply(x, gate, weight, eps)
