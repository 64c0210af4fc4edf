"""What a piece of a document does to a state, S ↦ M S + Z, and the fold over such pieces.

The ranks of context parallelism exchange [Z | M]: K·(V + K) numbers a head, whatever the length (K3 report, section
5.1.2). Queries have no part in either.
D documents, T tokens in the row, H heads, S pieces in order, K key width, V value width.
"""

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.kda.operands import expect_bound, expect_operands
from trivium.kernels.kda.plan import ChunkPlan
from trivium.kernels.kda.torch_chunk import ChunkedKDA
from trivium.kernels.precision import without_autocast

__all__ = ["fold", "kda_segment", "kda_segment_gradient"]


def _takes_triton(q_THK: Tensor, v_THV: Tensor) -> bool:
    widths = {q_THK.shape[-1], v_THV.shape[-1]}
    return use_triton("kda_segment", q_THK, dtypes=(torch.bfloat16,), fits=len(widths) == 1 and widths <= {64, 128})


@without_autocast
@torch.no_grad()
def kda_segment(
    k_THK: Tensor,
    v_THV: Tensor,
    gate_THK: Tensor,
    beta_TH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    cu_seqlens: Tensor,
    *,
    lower_bound: float = -5.0,
    plan: ChunkPlan | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (state from zero Z [D, H, K, V], transition M [D, H, K, K]) of each document in fp32 (fp64 of fp64).

    Operands as `kda` takes them. An empty document is (0, identity). No gradient passes: `kda_segment_gradient` and a
    fold backwards take its place. Raises ValueError as `kda` does.
    """
    (T, H, K), V = expect_operands(k_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK), v_THV.shape[-1]
    expect_bound(lower_bound)
    plan = ChunkPlan.of(plan, cu_seqlens, T, k_THK.device)
    dtype = torch.promote_types(v_THV.dtype, torch.float32)
    identity = torch.eye(K, dtype=dtype, device=k_THK.device).expand(plan.documents, H, K, K)
    if _takes_triton(k_THK, v_THV):
        from trivium.kernels.kda.factors import Operands
        from trivium.kernels.kda.triton_chunk import launcher

        operands = (part.contiguous() for part in (k_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK))
        x, cuts = Operands(*operands, lower_bound, 1.0), plan.cuts(k_THK.device)
        kernels = launcher(x)
        states, transitions = identity.new_zeros(plan.documents, H, K, V), identity.contiguous()
        kernels.segment_states(x.v_THV, kernels.prepare(x, cuts), cuts, states, transitions)
        return states, transitions
    both_THX = torch.cat(
        [v_THV, v_THV.new_zeros(T, H, K)], -1
    )  # the transition runs beside, on columns without a value
    initial = torch.cat([identity.new_zeros(plan.documents, H, K, V), identity], -1)
    _, final = ChunkedKDA.apply(
        k_THK, k_THK, both_THX, gate_THK, beta_TH, A_log_H, dt_bias_HK, initial, plan, lower_bound, 1.0, True
    )
    return final[..., :V].contiguous(), final[..., V:].contiguous()


@without_autocast
def kda_segment_gradient(
    do_THV: Tensor,
    q_THK: Tensor,
    k_THK: Tensor,
    gate_THK: Tensor,
    beta_TH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    cu_seqlens: Tensor,
    *,
    lower_bound: float = -5.0,
    scale: float | None = None,
    plan: ChunkPlan | None = None,
) -> Tensor:
    """Gradient [D, H, K, V] of the state that enters each document, by its outputs alone, fp32 (fp64 of fp64).

    It doesn't depend on v, nor on the state itself. Behind a piece lies what `fold` with `reverse` makes of these.
    Raises ValueError as `kda` does.
    """
    (T, H, K), V = expect_operands(q_THK, k_THK, do_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK), do_THV.shape[-1]
    expect_bound(lower_bound)
    plan = ChunkPlan.of(plan, cu_seqlens, T, q_THK.device)
    scale = K**-0.5 if scale is None else scale
    dtype = torch.promote_types(do_THV.dtype, torch.float32)
    zero = torch.zeros(plan.documents, H, K, V, dtype=dtype, device=q_THK.device)
    operands = tuple(part.detach() for part in (q_THK, k_THK, do_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK))
    if _takes_triton(q_THK, do_THV):
        from trivium.kernels.kda.factors import Operands
        from trivium.kernels.kda.triton_chunk import launcher

        x, cuts = Operands(*(part.contiguous() for part in operands), lower_bound, scale), plan.cuts(q_THK.device)
        kernels = launcher(x)
        kernels.segment_gradients(x.v_THV, kernels.prepare(x, cuts), cuts, zero)
        return zero
    with torch.enable_grad():
        zero.requires_grad_()
        o_THV, _ = ChunkedKDA.apply(*operands, zero, plan, lower_bound, scale, False)
        return torch.autograd.grad(o_THV, zero, do_THV)[0]


@without_autocast
@torch.no_grad()
def fold(
    states_SHKV: Tensor, transitions_SHKK: Tensor, initial_HKV: Tensor | None = None, *, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """Return (the state entering each piece [S, H, K, V], the one leaving the last [H, K, V]), in fp32 or fp64.

    S ← M S + Z in order, from `initial_HKV` or zero. `reverse`: dS ← Mᵀ dS + dZ from the last piece to the first: the
    gradients leaving each piece, and the one entering the first.
    """
    dtype = torch.promote_types(states_SHKV.dtype, torch.float32)
    out = torch.empty_like(states_SHKV, dtype=dtype)
    S_HKV = out.new_zeros(out.shape[1:]) if initial_HKV is None else initial_HKV.to(dtype)
    order = range(len(out))
    for piece in reversed(order) if reverse else order:
        out[piece] = S_HKV
        M_HKK = transitions_SHKK[piece].to(dtype)
        S_HKV = torch.baddbmm(states_SHKV[piece].to(dtype), M_HKK.transpose(1, 2) if reverse else M_HKK, S_HKV)
    return out, S_HKV
