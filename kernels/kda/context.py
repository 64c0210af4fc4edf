"""Kimi Delta Attention over ranks that hold shares of one row (K3 report, section 5.1.2, equation 17).

Each rank tells what its last piece does to a state, [Z | M]; each folds those before it into the state that enters its
first piece. Backwards each tells the gradient that enters its first piece; those behind are folded the other way, with
the transitions that are here already. One all-gather each way, K·(V + K) and K·V numbers a head.
D pieces of a share, T tokens of it, H heads, R ranks, K key width, V value width.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.context import Share, gather
from trivium.kernels.kda import kda
from trivium.kernels.kda.plan import ChunkPlan
from trivium.kernels.kda.segments import fold, kda_segment, kda_segment_gradient
from trivium.kernels.precision import without_autocast

__all__ = ["kda_context_parallel"]


@torch.no_grad()
def _enter(
    k_THK: Tensor, v_THV: Tensor, gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor, dt_bias_HK: Tensor, share: Share,
    lower_bound: float, group: dist.ProcessGroup | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(initial states of the share's pieces [D, H, K, V], everyone's transition [R, H, K, K]); one all-gather."""
    (_, H, K), V = k_THK.shape, v_THV.shape[-1]
    dtype = torch.promote_types(v_THV.dtype, torch.float32)
    message_HKX = torch.zeros(H, K, V + K, dtype=dtype, device=k_THK.device)
    if share.ends > share.rank:
        parts = (part[share.last] for part in (k_THK, v_THV, gate_THK, beta_TH))
        length = share.last.stop - share.last.start
        states, transitions = kda_segment(
            *parts, A_log_H, dt_bias_HK, torch.tensor([0, length]), lower_bound=lower_bound
        )
        message_HKX = torch.cat([states[0], transitions[0]], -1)
    everyone_RHKX = gather(message_HKX, share, group)
    states_RHKV, transitions_RHKK = everyone_RHKX.split([V, K], -1)
    initial = everyone_RHKX.new_zeros(len(share.borders) - 1, H, K, V)
    if share.begins < share.rank:
        before = slice(share.begins, share.rank)
        initial[0] = fold(states_RHKV[before], transitions_RHKK[before])[1]
    return initial, transitions_RHKK.contiguous()


class _Leave(torch.autograd.Function):
    """Outputs as they are; the gradient of the state that leaves the share comes from the ranks behind."""

    @staticmethod
    def forward(
        ctx: Any, o_THV: Tensor, final: Tensor, transitions_RHKK: Tensor, q_THK: Tensor, k_THK: Tensor,
        gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor, dt_bias_HK: Tensor, share: Share, lower_bound: float,
        scale: float, group: dist.ProcessGroup | None,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(transitions_RHKK, q_THK, k_THK, gate_THK, beta_TH, A_log_H, dt_bias_HK)
        ctx.share, ctx.constants, ctx.group, ctx.shape = share, (lower_bound, scale), group, final.shape
        return o_THV.view_as(o_THV)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor) -> tuple[Tensor | None, ...]:
        transitions_RHKK, *operands, A_log_H, dt_bias_HK = ctx.saved_tensors
        share, (lower_bound, scale) = ctx.share, ctx.constants
        dfinal = transitions_RHKK.new_zeros(ctx.shape)
        message_HKV = dfinal.new_zeros(ctx.shape[1:])
        if share.begins < share.rank:
            parts = (part[share.first] for part in (do_THV, *operands))
            message_HKV = kda_segment_gradient(
                *parts, A_log_H, dt_bias_HK, torch.tensor([0, share.first.stop]), lower_bound=lower_bound, scale=scale
            )[0]
        everyone_RHKV = gather(message_HKV, share, ctx.group)
        if share.ends > share.rank:
            behind = slice(share.rank + 1, share.ends + 1)
            dfinal[-1] = fold(everyone_RHKV[behind], transitions_RHKK[behind], reverse=True)[1]
        return do_THV, dfinal, *([None] * 11)


@without_autocast
def kda_context_parallel(
    q_THK: Tensor,
    k_THK: Tensor,
    v_THV: Tensor,
    gate_THK: Tensor,
    beta_TH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    share: Share,
    *,
    lower_bound: float = -5.0,
    scale: float | None = None,
    plan: ChunkPlan | None = None,
    group: dist.ProcessGroup | None = None,
) -> Tensor:
    """Return o_THV of this rank's share; all ranks of `group` call it, and all go backwards through it.

    Operands as `kda` takes them, `plan` of `share.cu_seqlens`. Gradients of A and bias are the share's part of a sum.
    """
    operands = q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK
    scale = q_THK.shape[-1] ** -0.5 if scale is None else scale
    initial, transitions_RHKK = _enter(*operands[1:], share, lower_bound, group)
    o_THV, final = kda(
        *operands, share.cu_seqlens, initial_state=initial, return_state=True, lower_bound=lower_bound, scale=scale,
        plan=plan,
    )  # fmt: skip
    return _Leave.apply(
        o_THV, final, transitions_RHKK, q_THK, k_THK, gate_THK, beta_TH, A_log_H, dt_bias_HK, share, lower_bound, scale,
        group,
    )  # fmt: skip
