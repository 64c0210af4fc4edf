"""The definitions of RMSNorm and of the sigmoid-gated RMSNorm over the last dimension (K3 report, equation 6)."""

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["gated_norm_reference", "rms_norm_reference"]


def rms_norm_reference(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """x · rsqrt(mean x² + eps) · weight, statistics in fp32."""
    dtype = accumulation_dtype(x, weight)
    x_high = x.to(dtype)
    y = x_high * torch.rsqrt(x_high.square().mean(-1, keepdim=True) + eps) * weight.to(dtype)
    return y.to(x.dtype)


def gated_norm_reference(x: Tensor, gate: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    """σ(gate) ⊙ RMSNorm(x) · weight; x is one head wide ([…, V])."""
    dtype = accumulation_dtype(x, gate, weight)
    return (torch.sigmoid(gate.to(dtype)) * rms_norm_reference(x.to(dtype), weight, eps)).to(gate.dtype)
