"""Kimi Delta Attention: a gated delta rule whose decay has one value a channel (K3 report, section 2.1).

D documents, T tokens in the row, H heads, K key width, V value width.
"""

from typing import Any

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.kda.draft import KDADrafts, kda_draft
from trivium.kernels.kda.operands import expect_bound, expect_operands
from trivium.kernels.kda.plan import ChunkPlan
from trivium.kernels.kda.reference import kda_gate, kda_reference
from trivium.kernels.kda.segments import fold, kda_segment, kda_segment_gradient
from trivium.kernels.kda.step import kda_step
from trivium.kernels.kda.torch_chunk import ChunkedKDA
from trivium.kernels.kda.unbounded import unbounded_kda
from trivium.kernels.packed import expect
from trivium.kernels.precision import without_autocast

__all__ = [
    "ChunkPlan",
    "KDADrafts",
    "fold",
    "kda",
    "kda_draft",
    "kda_gate",
    "kda_reference",
    "kda_segment",
    "kda_segment_gradient",
    "kda_step",
]


@without_autocast
def kda(
    q_THK: Tensor,
    k_THK: Tensor,
    v_THV: Tensor,
    gate_THK: Tensor,
    beta_TH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    cu_seqlens: Tensor,
    *,
    initial_state: Tensor | None = None,
    return_state: bool = False,
    lower_bound: float | None = -5.0,
    scale: float | None = None,
    plan: ChunkPlan | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return o_THV in v's dtype, and with `return_state` the final states [D, H, K, V] in fp32 (fp64 of fp64).

    q, k as they leave the convolution (the L2 norm is inside), `gate_THK` the raw z without bias, `beta_TH` logits;
    g = lower_bound · σ(e^A (z + bias)), the natural log of a token's decay (`kda_gate`; K3 report, equations 1, 2, 5).
    `lower_bound` None is Kimi Linear's older gate without a bound, in PyTorch alone. `scale` of the queries, K^−½ when
    None. `initial_state` [D, H, K, V] enters the documents, zero when None; gradients reach it, and come from the final
    ones. `cu_seqlens` [D + 1]: borders as integers, best on the CPU (else the host waits); empty documents hand their
    state on. `plan` (ChunkPlan.build of this `cu_seqlens`) saves building it in every layer.
    On a GPU bf16 with K and V of 64 or 128 has Triton kernels; other dtypes and widths take PyTorch, much slower: the
    logger trivium.kernels.dispatch says which, once, at level INFO.
    Editing a token changes no earlier output, not by one bit, and a document's outputs don't depend on its neighbours.
    Raises ValueError for shapes, dtypes and devices that don't fit, a wrong `cu_seqlens`, a plan of another row, and a
    bound that 16 rows can't hold in fp32.
    """
    operands = q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK
    T, H, K = expect_operands(*operands)
    expect_bound(lower_bound)
    plan = ChunkPlan.of(plan, cu_seqlens, T, q_THK.device)
    sizes = {"D": plan.documents, "H": H, "K": K, "V": v_THV.shape[-1]}
    expect(sizes, q_THK, [("initial_state", "DHKV", initial_state)])
    scale = K**-0.5 if scale is None else scale
    if lower_bound is None:
        o_THV, state = unbounded_kda(
            q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK, initial_state, plan, scale
        )
        return (o_THV.to(v_THV.dtype), state) if return_state else o_THV.to(v_THV.dtype)
    function: Any = ChunkedKDA
    if use_triton("kda", q_THK, dtypes=(torch.bfloat16,), fits={K, v_THV.shape[-1]} <= {64, 128}):
        from trivium.kernels.kda.triton_chunk import TritonKDA

        function = TritonKDA
    o_THV, state = function.apply(
        q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK.view(H, K), initial_state, plan, lower_bound,
        scale, return_state,
    )  # fmt: skip
    return (o_THV, state) if return_state else o_THV
