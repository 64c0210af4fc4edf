"""The core of gated MLA without position encoding: packed causal attention, fp32 output (K3 report, section 2.1.2).

`mla` gives the output itself, `mla_gated` lets it go through σ(gate) before it leaves fp32.

T tokens in the row, H heads, D query and key width, V value width.
"""

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.mla.plan import BlockPlan
from trivium.kernels.mla.reference import mla_gated_reference, mla_reference
from trivium.kernels.mla.torch_blocked import BlockedAttention
from trivium.kernels.precision import without_autocast

__all__ = ["BlockPlan", "mla", "mla_gated", "mla_gated_reference", "mla_reference"]


@without_autocast
def mla(
    q_THD: Tensor,
    k_THD: Tensor,
    v_THV: Tensor,
    cu_seqlens: Tensor,
    *,
    scale: float | None = None,
    plan: BlockPlan | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (o_THV in fp32, the largest scaled logit of each head over the row [H], without gradient, for QK-clip).

    `k_THD` already expanded and joined; `scale` is D^(−1/2) when None; an empty row's largest logit is −inf. Memory is
    linear in T. `plan` (BlockPlan.build of this `cu_seqlens`) saves building it in every layer.
    Raises ValueError for a wrong `cu_seqlens`.
    """
    plan, scale = _settled(q_THD, cu_seqlens, plan, scale)
    if use_triton("mla", q_THD, dtypes=(torch.bfloat16,), fits=_fits(q_THD, k_THD, v_THV, scale)):
        from trivium.kernels.mla.triton_attention import TritonAttention

        return TritonAttention.apply(q_THD, k_THD, v_THV, plan, scale)
    return BlockedAttention.apply(q_THD, k_THD, v_THV, plan, scale)


@without_autocast
def mla_gated(
    q_THD: Tensor,
    k_THD: Tensor,
    v_THV: Tensor,
    gate_THV: Tensor,
    cu_seqlens: Tensor,
    *,
    scale: float | None = None,
    plan: BlockPlan | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (y_THV = o · σ(gate) in q's dtype, the largest scaled logit of each head [H]); `mla` for the rest.

    The product is taken in fp32 and rounded once; `gate` is the gate's logits.
    """
    plan, scale = _settled(q_THD, cu_seqlens, plan, scale)
    fits = _fits(q_THD, k_THD, v_THV, scale) and gate_THV.shape == v_THV.shape
    if use_triton("mla_gated", q_THD, dtypes=(torch.bfloat16,), fits=fits):
        from trivium.kernels.mla.triton_attention import GatedTritonAttention

        return GatedTritonAttention.apply(q_THD, k_THD, v_THV, gate_THV, plan, scale)
    o_THV, row_max_H = BlockedAttention.apply(q_THD, k_THD, v_THV, plan, scale)
    return (o_THV * torch.sigmoid(gate_THV.to(o_THV.dtype))).to(q_THD.dtype), row_max_H


def _settled(q_THD: Tensor, cu_seqlens: Tensor, plan: BlockPlan | None, scale: float | None) -> tuple[BlockPlan, float]:
    """The plan and the scale that hold where none was given."""
    T, _, D = q_THD.shape
    if plan is None:
        plan = BlockPlan.build(cu_seqlens, T, q_THD.device)
    elif plan.tokens != T:
        raise ValueError(f"the plan was built for {plan.tokens} tokens and the row has {T}; build it from this row")
    return plan, D**-0.5 if scale is None else scale


def _fits(q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, scale: float) -> bool:
    """Whether the kernels take these: one dtype, and a value row and what a query row is wider are powers of two."""
    widths = v_THV.shape[2], q_THD.shape[2] - v_THV.shape[2]
    powers = all(16 <= width <= 128 and width & (width - 1) == 0 for width in widths)
    return powers and scale > 0 and q_THD.dtype == k_THD.dtype == v_THV.dtype
