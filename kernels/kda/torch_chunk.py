"""The chunkwise form as one autograd function: norm, gate and β inside, gradients written out.

Where the decay falls to e^−88 and below fp32 yields denormals, which cost a CPU a factor of two; a trainer that sets
`torch.set_flush_denormal(True)` avoids it. Nothing is set here.
D documents, T tokens in the row, H heads, K key width, V value width, N chunks, C rows a chunk.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.kda.plan import ChunkPlan
from trivium.kernels.kda.torch_backward import backward
from trivium.kernels.kda.torch_forward import LOG2_E, MAX_A_LOG, Chunks, forward, gate_forward, normalise, to_chunks
from trivium.kernels.packed import accumulation_dtype

__all__ = ["ChunkedKDA"]


def _to_row(x_NHCK: Tensor, inverse: Tensor, like: Tensor) -> Tensor:
    """[N, H, C, K] → [T, H, K] in `like`'s dtype."""
    return x_NHCK.reshape(-1, x_NHCK.shape[-1]).index_select(0, inverse).view_as(like).to(like.dtype)


def _norm_backward(dy: Tensor, y: Tensor, rstd: Tensor, scale: float) -> Tensor:
    """Gradient through y = scale · x · rstd(x), in place on `dy`."""
    inner = (dy * y).sum(-1, keepdim=True).mul_(1 / scale**2)
    return dy.addcmul_(y, inner, value=-1).mul_(rstd * scale)


class ChunkedKDA(torch.autograd.Function):
    """Forward returns (o_THV in v's dtype, final states [D, H, K, V] in fp32, empty unless asked for)."""

    @staticmethod
    def forward(
        ctx: Any, q_THK: Tensor, k_THK: Tensor, v_THV: Tensor, gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor,
        dt_bias_HK: Tensor, initial_state: Tensor | None, plan: ChunkPlan, lower_bound: float, scale: float,
        return_state: bool,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        H, K, V = q_THK.shape[1], q_THK.shape[2], v_THV.shape[2]
        dtype = accumulation_dtype(q_THK, k_THK, v_THV)
        rows, inverse = plan.places(H)
        q, k, v = (to_chunks(x, rows, dtype) for x in (q_THK, k_THK, v_THV))
        rstd_q, rstd_k = normalise(q), normalise(k)
        q.mul_(scale)
        gate = gate_forward(gate_THK, A_log_H, dt_bias_HK, dtype)
        decay = to_chunks(gate.sigmoid_THK, rows, dtype).mul_(lower_bound * LOG2_E)
        beta = to_chunks(beta_TH, rows, dtype).sigmoid_()
        if plan.valid_NC is not None:
            # A padded row that writes nothing (β = 0) and forgets nothing (g = 0) leaves the state alone.
            beta.mul_(plan.valid_NC.unsqueeze(1))
            decay.mul_(plan.valid_NC[:, None, :, None])
        first = None if initial_state is None else initial_state.to(dtype).index_select(0, plan.order).view(-1, K, V)
        final = q.new_empty(len(plan.order) * H, K, V) if return_state else None
        o_BCV, chunks = forward(q, k, v, beta, decay, plan, first, final)
        state = q.new_empty(0)
        if final is not None:
            state = q.new_zeros(plan.documents, H, K, V) if initial_state is None else initial_state.to(dtype).clone()
            state.index_copy_(0, plan.order, final.view(-1, H, K, V))
        ctx.save_for_backward(
            q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK, initial_state, rstd_q, rstd_k,
            gate.sigmoid_THK, *(getattr(chunks, name) for name in Chunks.__slots__),
        )  # fmt: skip
        ctx.plan, ctx.lower_bound, ctx.scale, ctx.return_state = plan, lower_bound, scale, return_state
        return _to_row(o_BCV, inverse, v_THV), state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, dstate: Tensor) -> tuple[Tensor | None, ...]:
        q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK, initial_state, *rest = ctx.saved_tensors
        rstd_q, rstd_k, sigmoid_THK = rest[:3]
        chunks = Chunks(*rest[3:])
        plan: ChunkPlan = ctx.plan
        H, K, V = q_THK.shape[1], q_THK.shape[2], v_THV.shape[2]
        dtype = chunks.q_NHCK.dtype
        rows, inverse = plan.places(H)
        do = to_chunks(do_THV, rows, dtype)
        if plan.valid_NC is not None:
            do.mul_(plan.valid_NC[:, None, :, None])
        dfinal = dstate.to(dtype).index_select(0, plan.order).view(-1, K, V) if ctx.return_state else None
        grads = backward(chunks, do, dfinal, plan, initial_state is not None)
        dbeta = grads.beta_NHC * chunks.beta_NHC * (1 - chunks.beta_NHC)
        dq = _norm_backward(grads.q_NHCK, chunks.q_NHCK, rstd_q, ctx.scale)
        dk = _norm_backward(grads.k_NHCK, chunks.k_NHCK, rstd_k, 1.0)

        A_H1 = A_log_H.to(dtype).clamp(max=MAX_A_LOG).exp().unsqueeze(-1)
        dgate = grads.log_decay_NHCK.reshape(-1, K).index_select(0, inverse).view(-1, H, K)
        # s (1 − s) first: it is 0 where the gate is saturated, and e^A may be huge.
        dgate.mul_(sigmoid_THK).mul_(1 - sigmoid_THK).mul_(A_H1 * ctx.lower_bound)
        z_THK = gate_THK.to(dtype) + dt_bias_HK.to(dtype)
        dA_log = (dgate * z_THK).sum((0, 2)).to(A_log_H.dtype)
        dinitial = None
        if initial_state is not None:
            dinitial = torch.zeros_like(initial_state) if dfinal is None else dstate.to(initial_state.dtype).clone()
            if grads.first is not None:
                dinitial.index_copy_(0, plan.order, grads.first.view(-1, H, K, V).to(dinitial.dtype))
        return (
            _to_row(dq, inverse, q_THK), _to_row(dk, inverse, k_THK), _to_row(grads.v_NHCV, inverse, v_THV),
            dgate.to(gate_THK.dtype), _to_row(dbeta.unsqueeze(-1), inverse, beta_TH), dA_log,
            dgate.sum(0).to(dt_bias_HK.dtype), dinitial, None, None, None, None,
        )  # fmt: skip
