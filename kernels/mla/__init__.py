"""The core of gated MLA without position encoding: packed causal attention, fp32 output (K3 report, section 2.1).

T tokens in the row, H heads, D query and key width, V value width.
"""

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.mla.plan import BlockPlan
from trivium.kernels.mla.reference import mla_reference
from trivium.kernels.mla.torch_blocked import BlockedAttention
from trivium.kernels.precision import without_autocast

__all__ = ["BlockPlan", "mla", "mla_reference"]


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
    T, _, D = q_THD.shape
    if plan is None:
        plan = BlockPlan.build(cu_seqlens, T, q_THD.device)
    elif plan.tokens != T:
        raise ValueError(f"the plan was built for {plan.tokens} tokens and the row has {T}; build it from this row")
    scale = D**-0.5 if scale is None else scale
    if use_triton("mla", q_THD, dtypes=(torch.bfloat16,), fits=_fits(q_THD, k_THD, v_THV)):
        from trivium.kernels.mla.triton_attention import TritonAttention

        return TritonAttention.apply(q_THD, k_THD, v_THV, plan, scale)
    return BlockedAttention.apply(q_THD, k_THD, v_THV, plan, scale)


def _fits(q_THD: Tensor, k_THD: Tensor, v_THV: Tensor) -> bool:
    """Whether the kernels take these: one dtype, and a value row and what a query row is wider are powers of two."""
    widths = v_THV.shape[2], q_THD.shape[2] - v_THV.shape[2]
    powers = all(16 <= width <= 128 and width & (width - 1) == 0 for width in widths)
    return powers and q_THD.dtype == k_THD.dtype == v_THV.dtype
