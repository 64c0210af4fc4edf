"""RMSNorm and sigmoid-gated RMSNorm with their gradients; saved beside the inputs: one number a row."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.packed import accumulation_dtype

__all__ = ["GatedNorm", "RMSNorm"]


def _rstd(x: Tensor, eps: float) -> Tensor:
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return norm.square_().mul_(1 / x.shape[-1]).add_(eps).rsqrt_()


def _norm_backward(dn: Tensor, unit: Tensor, rstd: Tensor) -> Tensor:
    """Gradient through unit = x · rstd(x), in place on `dn`."""
    inner = (dn * unit).mean(-1, keepdim=True)
    return dn.addcmul_(unit, inner, value=-1).mul_(rstd)


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        dtype = accumulation_dtype(x, weight)
        x_high = x.to(dtype)
        rstd = _rstd(x_high, eps)
        ctx.save_for_backward(x, weight, rstd)
        return (x_high * rstd).mul_(weight.to(dtype)).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, rstd = ctx.saved_tensors
        dtype = rstd.dtype
        unit, dy_high = x.to(dtype) * rstd, dy.to(dtype)
        dweight = (dy_high * unit).reshape(-1, x.shape[-1]).sum(0)
        dx = _norm_backward(dy_high * weight.to(dtype), unit, rstd)
        return dx.to(x.dtype), dweight.to(weight.dtype), None


class GatedNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
        dtype = accumulation_dtype(x, gate, weight)
        x_high = x.to(dtype)
        rstd = _rstd(x_high, eps)
        ctx.save_for_backward(x, gate, weight, rstd)
        return (x_high * rstd).mul_(weight.to(dtype)).mul_(gate.to(dtype).sigmoid()).to(gate.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, gate, weight, rstd = ctx.saved_tensors
        dtype = rstd.dtype
        unit, open_gate, weight_high = x.to(dtype) * rstd, gate.to(dtype).sigmoid(), weight.to(dtype)
        dn = dy.to(dtype) * open_gate
        dn_unit = dn * unit
        dweight = dn_unit.reshape(-1, x.shape[-1]).sum(0)
        dgate = dn_unit.mul_(weight_high).mul_(1 - open_gate)
        dx = _norm_backward(dn.mul_(weight_high), unit, rstd)
        return dx.to(x.dtype), dgate.to(gate.dtype), dweight.to(weight.dtype), None
