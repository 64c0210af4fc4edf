"""Kimi Delta Attention in Triton as one autograd function: two or three launches forwards, four or five backwards.

Documents that leave processors idle are cut into segments (`segment_plan`): three launches more, two backwards.
Nothing of the forward is kept but its operands: factors of the chunks, states and deltas are taken anew.
D documents, T tokens in the row, H heads, K key width, V value width.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.dispatch import takes_gluon
from trivium.kernels.kda import segment_passes, segment_plan, triton_launch
from trivium.kernels.kda.factors import Operands
from trivium.kernels.kda.plan import ChunkPlan

__all__ = ["TritonKDA", "launcher"]

HOPPER_BOUND = -5.4  # 16 rows at this log decay, counted from their middle, stay within fp32 with room for a product


def launcher(x: Operands) -> ModuleType:
    """Hopper's kernels or the portable ones (also by `TRIVIUM_KERNELS=portable`); both have the same steps."""
    q = x.q_THK
    special = q.dtype == torch.bfloat16 and q.shape == x.v_THV.shape and x.lower_bound >= HOPPER_BOUND
    if not special or not takes_gluon(q.device):
        return triton_launch
    from trivium.kernels.kda import gluon_launch

    return gluon_launch


class TritonKDA(torch.autograd.Function):
    """Forward returns (o_THV in v's dtype, final states [D, H, K, V] in fp32, empty unless asked for)."""

    @staticmethod
    def forward(
        ctx: Any, q_THK: Tensor, k_THK: Tensor, v_THV: Tensor, gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor,
        dt_bias_HK: Tensor, initial_state: Tensor | None, plan: ChunkPlan, lower_bound: float, scale: float,
        return_state: bool,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        operands = tuple(x.contiguous() for x in (q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK))
        x = Operands(*operands, lower_bound, scale)
        (_, H, K), V = q_THK.shape, v_THV.shape[-1]
        cuts, kernels = plan.cuts(q_THK.device), launcher(x)
        initial = None if initial_state is None else initial_state.contiguous()
        state = v_THV.new_empty(0, dtype=torch.float32)
        if return_state:
            shape = plan.documents, H, K, V
            state = v_THV.new_zeros(shape, dtype=torch.float32) if initial is None else initial.float().clone()
        factors, final = kernels.prepare(x, cuts), state if return_state else None
        segments = segment_plan.cut(plan, H, V, q_THK.device)
        between: tuple[Tensor, ...] = ()
        if segments is None:
            o_THV = kernels.forward(x.v_THV, factors, cuts, initial, final)
        else:
            o_THV, kept = segment_passes.forward(kernels, x.v_THV, factors, segments, initial, final)
            between = kept.entering_SHKV, kept.transitions_SHKK
        ctx.save_for_backward(*operands, initial, *between)
        ctx.cuts, ctx.segments, ctx.constants, ctx.return_state = cuts, segments, (lower_bound, scale), return_state
        return o_THV, state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, dstate: Tensor) -> tuple[Tensor | None, ...]:
        *operands, initial = ctx.saved_tensors[:8]
        x, cuts, do_THV = Operands(*operands, *ctx.constants), ctx.cuts, do_THV.contiguous()
        kernels = launcher(x)
        dinitial = None
        if initial is not None:
            dinitial = dstate.to(initial.dtype).clone() if ctx.return_state else torch.zeros_like(initial)
        factors = kernels.prepare(x, cuts)
        dfinal = dstate.contiguous() if ctx.return_state else None
        if ctx.segments is None:
            states, deltas = kernels.replay(x.v_THV, factors, cuts, initial)
            dv_THV, dstates, dots = kernels.backward(do_THV, factors, cuts, deltas, dfinal, dinitial)
        else:
            between = segment_passes.Between(*ctx.saved_tensors[8:])
            states, deltas, dv_THV, dstates, dots = segment_passes.backward(
                kernels, x.v_THV, do_THV, factors, ctx.segments, initial, between, dfinal, dinitial
            )
        del factors  # a third of the backward's memory, before the gradients are made
        dq, dk, dgate, dbeta, dA_NH, dbias_NHK = kernels.gradients(
            x, cuts, states, deltas, dstates, do_THV, dv_THV, dots
        )
        dA, dbias = dA_NH.sum(0).to(x.A_log_H.dtype), dbias_NHK.sum(0).to(x.bias_HK.dtype)
        return dq, dk, dv_THV, dgate, dbeta, dA, dbias, dinitial, None, None, None, None
