"""Kimi Delta Attention in Triton as one autograd function: two launches forwards, four and two sums backwards.

Nothing of the forward is kept but its operands: factors of the chunks, states and deltas are taken anew.
D documents, T tokens in the row, H heads, N chunks, K key width, V value width.
"""

from dataclasses import dataclass
from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.kda.plan import CHUNK, ChunkPlan, Cuts
from trivium.kernels.kda.triton_gradients import gradients
from trivium.kernels.kda.triton_prepare import prepare
from trivium.kernels.kda.triton_scan import scan_backward, scan_forward

__all__ = ["TritonKDA"]

# Measured on an H200 (kernels/README.md). At four warps products of the gradients read outside shared memory (Triton
# 3.6): a change here needs compute-sanitizer.
PREPARE_WARPS, GRADIENT_WARPS = 4, 8


@dataclass(frozen=True, slots=True)
class Factors:
    """What `prepare` makes of q, k, gate and β."""

    kg_HTK: Tensor
    qg_HTK: Tensor
    kt_HTK: Tensor
    scores_HTC: Tensor
    solve_HTC: Tensor
    decay_NHK: Tensor

    def all(self) -> tuple[Tensor, ...]:
        return self.kg_HTK, self.qg_HTK, self.kt_HTK, self.scores_HTC, self.solve_HTC, self.decay_NHK


def _dot(x: Tensor) -> dict[str, Any]:
    """Operands of products: bf16 as they come, fp32 by three TF32 products."""
    return {"dtype": tl.bfloat16 if x.dtype == torch.bfloat16 else tl.float32, "PRECISION": "tf32x3"}


def _scan(x_THV: Tensor, documents: int, save: bool = False) -> dict[str, int]:
    """Columns, warps and stages of a scan: fewer columns a program where documents and heads leave processors idle.

    At 128 columns two stages of bf16 operands and the state fill a multiprocessor's shared memory. The pass that saves
    states reads less a column, and half the columns are faster.
    """
    _, H, V = x_THV.shape
    if x_THV.dtype != torch.bfloat16:
        return {"B": 32, "num_warps": 4, "STAGES": 1}
    sequences = documents * H
    columns = V if sequences >= 96 and not save else min(V, 64) if sequences >= 48 else 32
    return {"B": columns, "num_warps": 8 if columns == 128 else 4, "STAGES": 2}


def _prepare(
    q: Tensor, k: Tensor, gate: Tensor, beta: Tensor, A_log: Tensor, bias: Tensor, cuts: Cuts, lower_bound: float,
    scale: float,
) -> Factors:  # fmt: skip
    T, H, K = q.shape
    N = len(cuts.chunks_N2)
    factors = Factors(
        *(q.new_empty(H, T, K) for _ in range(3)), *(q.new_empty(H, T, CHUNK) for _ in range(2)),
        q.new_empty(N, H, K, dtype=torch.float32),
    )  # fmt: skip
    if N:
        prepare[(H, N)](
            q, k, gate, beta, A_log, bias, cuts.chunks_N2, *factors.all(), T, H, lower_bound, scale, K=K, C=CHUNK,
            solve_dtype=tl.float16 if q.dtype == torch.bfloat16 else tl.float32, num_warps=PREPARE_WARPS, **_dot(q),
        )  # fmt: skip
    return factors


class TritonKDA(torch.autograd.Function):
    """Forward returns (o_THV in v's dtype, final states [D, H, K, V] in fp32, empty unless asked for)."""

    @staticmethod
    def forward(
        ctx: Any, q_THK: Tensor, k_THK: Tensor, v_THV: Tensor, gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor,
        dt_bias_HK: Tensor, initial_state: Tensor | None, plan: ChunkPlan, lower_bound: float, scale: float,
        return_state: bool,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        operands = tuple(x.contiguous() for x in (q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK))
        q, k, v, *rest = operands
        (T, H, K), V = q.shape, v.shape[-1]
        cuts = plan.cuts(q.device)
        documents = len(cuts.documents_D4)
        factors = _prepare(q, k, *rest, cuts, lower_bound, scale)
        initial = None if initial_state is None else initial_state.contiguous()
        state = v.new_empty(0, dtype=torch.float32)
        if return_state:
            shape = plan.documents, H, K, V
            state = v.new_zeros(shape, dtype=torch.float32) if initial is None else initial.float().clone()
        o_THV = torch.empty_like(v)
        if documents:
            config = _scan(v, documents)
            scan_forward[(V // config["B"], H, documents)](
                v, *factors.all(), cuts.documents_D4, initial, state, o_THV, None, None, T, H, V=V, K=K, C=CHUNK,
                OUTPUT=True, SAVE=False, HAS_INITIAL=initial is not None, HAS_FINAL=return_state, **_dot(q), **config,
            )  # fmt: skip
        ctx.save_for_backward(*operands, initial)
        ctx.cuts, ctx.lower_bound, ctx.scale, ctx.return_state = cuts, lower_bound, scale, return_state
        return o_THV, state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, dstate: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, gate, beta, A_log, bias, initial = ctx.saved_tensors
        (T, H, K), V, cuts = q.shape, v.shape[-1], ctx.cuts
        N, documents, do = len(cuts.chunks_N2), len(cuts.documents_D4), do_THV.contiguous()
        factors = _prepare(q, k, gate, beta, A_log, bias, cuts, ctx.lower_bound, ctx.scale)
        dot = _dot(q)
        states, dstates = q.new_empty(N, H, K, V), q.new_empty(N, H, K, V)
        deltas, dv = q.new_empty(H, T, V), torch.empty_like(v)
        dinitial = None
        if initial is not None:
            dinitial = dstate.to(initial.dtype).clone() if ctx.return_state else torch.zeros_like(initial)
        if documents:
            config = _scan(v, documents)
            saving = _scan(v, documents, save=True)
            scan_forward[(V // saving["B"], H, documents)](
                v, *factors.all(), cuts.documents_D4, initial, None, None, states, deltas, T, H, V=V, K=K, C=CHUNK,
                OUTPUT=False, SAVE=True, HAS_INITIAL=initial is not None, HAS_FINAL=False, **dot, **saving,
            )  # fmt: skip
            scan_backward[(V // config["B"], H, documents)](
                do, *factors.all(), cuts.documents_D4, dstate.contiguous() if ctx.return_state else None, dinitial,
                dv, dstates, T, H, V=V, K=K, C=CHUNK, HAS_FINAL=ctx.return_state, HAS_INITIAL=initial is not None,
                **dot, **config,
            )  # fmt: skip
        del factors  # a third of the backward's memory, before the gradients are made
        dq, dk, dgate, dbeta = (torch.empty_like(x) for x in (q, k, gate, beta))
        dA_NH, dbias_NHK = (q.new_empty(N, H, *tail, dtype=torch.float32) for tail in ((), (K,)))
        if N:
            gradients[(H, N)](
                q, k, gate, beta, A_log, bias, cuts.chunks_N2, states, dstates, deltas, do, dv, dq, dk, dgate, dbeta,
                dA_NH, dbias_NHK, T, H, ctx.lower_bound, ctx.scale, K=K, V=V, C=CHUNK, num_warps=GRADIENT_WARPS, **dot,
            )  # fmt: skip
        dA, dbias = dA_NH.sum(0).to(A_log.dtype), dbias_NHK.sum(0).to(bias.dtype)
        return dq, dk, dv, dgate, dbeta, dA, dbias, dinitial, None, None, None, None
