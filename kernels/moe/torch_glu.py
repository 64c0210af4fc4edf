"""The experts' gated units, SiTU-GLU (K3 report, equation 12) and the baseline's SwiGLU, with their gradients.

Both are constant · a · σ(g) · b: SiTU has a = tanh(g/β1), b = tanh(u/β2) and the constant β1 β2, SwiGLU a = g, b = u.
Odd: the constant stays out of `glu`, as every caller has a factor of its own to put it into.
R rows, F expert hidden width.
"""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.moe.reference import BETA_GATE, BETA_UP
from trivium.kernels.packed import accumulation_dtype

__all__ = [
    "CONSTANT",
    "Activation",
    "Parts",
    "SiTUGLU",
    "glu",
    "glu_backward",
    "product",
    "weighted_glu",
    "weighted_glu_backward",
]

Activation = Literal["situ", "swiglu"]
Parts = tuple[Tensor, Tensor, Tensor]  # a, b, σ(g): what the backward needs
CONSTANT: dict[Activation, float] = {"situ": BETA_GATE * BETA_UP, "swiglu": 1.0}


def glu(g: Tensor, u: Tensor, activation: Activation) -> tuple[Tensor, Parts]:
    """Return (a σ(g) b, its parts)."""
    if activation == "situ":
        parts = torch.tanh(g / BETA_GATE), torch.tanh(u / BETA_UP), torch.sigmoid(g)
    else:
        parts = g, u, torch.sigmoid(g)
    return product(parts), parts


def product(parts: Parts) -> Tensor:
    a, b, sigmoid = parts
    return (a * sigmoid).mul_(b)


def _complement(x: Tensor, beta: float) -> Tensor:
    """(1 − x²) / β."""
    return torch.addcmul(torch.full((), 1 / beta, dtype=x.dtype, device=x.device), x, x, value=-1 / beta)


def glu_backward(dy: Tensor, parts: Parts, activation: Activation, dg: Tensor, du: Tensor) -> None:
    """Fill dg and du; `dy` carries the constant.

    SiTU: ∂f/∂g = β2 t_u σ ((1 − t_g²) + β1 t_g (1 − σ)), ∂f/∂u = β1 t_g σ (1 − t_u²).
    """
    a, b, sigmoid = parts
    common = dy * sigmoid
    if activation == "situ":
        slope = _complement(a, BETA_GATE).addcmul_(a, 1 - sigmoid)
        torch.mul(slope.mul_(common), b, out=dg)
        torch.mul(_complement(b, BETA_UP).mul_(common), a, out=du)
    else:
        slope = torch.addcmul(torch.ones((), dtype=a.dtype, device=a.device), a, 1 - sigmoid)
        torch.mul(slope.mul_(common), b, out=dg)
        torch.mul(common, a, out=du)


def weighted_glu(g_RF: Tensor, u_RF: Tensor, p_R: Tensor, activation: Activation) -> Tensor:
    """p · glu(g, u) in the dtype of g, computed in p's."""
    value_RF, _ = glu(g_RF.to(p_R.dtype), u_RF.to(p_R.dtype), activation)
    return value_RF.mul_(p_R.mul(CONSTANT[activation]).unsqueeze(1)).to(g_RF.dtype)


def weighted_glu_backward(
    g_RF: Tensor, u_RF: Tensor, p_R: Tensor, dy_RF: Tensor, activation: Activation
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (the gradients of g and of u, p · glu again, the gradient of p: ⟨glu, dy⟩)."""
    value_RF, parts = glu(g_RF.to(p_R.dtype), u_RF.to(p_R.dtype), activation)
    scale_R1 = p_R.mul(CONSTANT[activation]).unsqueeze(1)
    dp_R = (value_RF * dy_RF).sum(-1).mul_(CONSTANT[activation])
    dg_RF, du_RF = (torch.empty_like(x, dtype=p_R.dtype) for x in (g_RF, u_RF))
    glu_backward(dy_RF * scale_R1, parts, activation, dg_RF, du_RF)
    dtype = g_RF.dtype
    return dg_RF.to(dtype), du_RF.to(dtype), value_RF.mul_(scale_R1).to(dtype), dp_R


class SiTUGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, g: Tensor, u: Tensor) -> Tensor:
        dtype = accumulation_dtype(g, u)
        value, parts = glu(g.to(dtype), u.to(dtype), "situ")
        ctx.save_for_backward(*parts)  # half again as much as g and u, but tanh is most of the work
        ctx.dtypes = g.dtype, u.dtype
        return value.mul_(CONSTANT["situ"]).to(g.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        a, b, sigmoid = ctx.saved_tensors
        dg, du = torch.empty_like(a), torch.empty_like(b)
        glu_backward(dy.to(sigmoid.dtype) * CONSTANT["situ"], (a, b, sigmoid), "situ", dg, du)
        return dg.to(ctx.dtypes[0]), du.to(ctx.dtypes[1])
