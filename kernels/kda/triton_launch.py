"""Launches of the portable Triton kernels: any GPU, and the interpreter.

D documents, T tokens in the row, H heads, N chunks, C rows a chunk, K key width, V value width.
"""

from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from trivium.kernels.kda.factors import Factors, Operands
from trivium.kernels.kda.plan import CHUNK, Cuts
from trivium.kernels.kda.triton_gradients import gradients as _gradients
from trivium.kernels.kda.triton_prepare import prepare as _prepare
from trivium.kernels.kda.triton_scan import scan_backward, scan_forward

__all__ = ["backward", "forward", "gradients", "prepare", "replay", "segment_gradients", "segment_states"]

# Measured on an H200 (kernels/README.md). At four warps products of the gradients read outside shared memory (Triton
# 3.6): a change here needs compute-sanitizer.
PREPARE_WARPS, GRADIENT_WARPS = 4, 8


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


def prepare(x: Operands, cuts: Cuts) -> Factors:
    q = x.q_THK
    T, H, K = q.shape
    N = len(cuts.chunks_N2)
    factors = Factors(
        *(q.new_empty(H, T, K) for _ in range(3)), *(q.new_empty(H, T, CHUNK) for _ in range(2)), None,
        q.new_empty(N, H, K, dtype=torch.float32),
    )  # fmt: skip
    if N:
        _prepare[(H, N)](
            q, x.k_THK, x.gate_THK, x.beta_TH, x.A_log_H, x.bias_HK, cuts.chunks_N2, *factors.all(), T, H,
            x.lower_bound, x.scale, K=K, C=CHUNK, num_warps=PREPARE_WARPS,
            solve_dtype=tl.float16 if q.dtype == torch.bfloat16 else tl.float32, **_dot(q),
        )  # fmt: skip
    return factors


def forward(
    v_THV: Tensor, factors: Factors, cuts: Cuts, initial: Tensor | None, final: Tensor | None, out: Tensor | None = None
) -> Tensor:
    """o_THV (`out`, when given); `final` [D, H, K, V] is filled."""
    (T, H, V), K, documents = v_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    o_THV = torch.empty_like(v_THV) if out is None else out
    if documents:
        config = _scan(v_THV, documents)
        scan_forward[(V // config["B"], H, documents)](
            v_THV, *factors.all(), cuts.documents_D4, initial, final, o_THV, None, None, T, H, V=V, K=K, C=CHUNK,
            OUTPUT=True, SAVE=False, TRANSITION=False, HAS_INITIAL=initial is not None, HAS_FINAL=final is not None,
            **_dot(v_THV), **config,
        )  # fmt: skip
    return o_THV


def replay(
    v_THV: Tensor, factors: Factors, cuts: Cuts, initial: Tensor | None, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """(states entering chunks [N, H, K, V], deltas [H, T, V]), in v's dtype (`out`, when given)."""
    (T, H, V), K, documents = v_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    states, deltas = out or (v_THV.new_empty(len(cuts.chunks_N2), H, K, V), v_THV.new_empty(H, T, V))
    if documents:
        config = _scan(v_THV, documents, save=True)
        scan_forward[(V // config["B"], H, documents)](
            v_THV, *factors.all(), cuts.documents_D4, initial, None, None, states, deltas, T, H, V=V, K=K, C=CHUNK,
            OUTPUT=False, SAVE=True, TRANSITION=False, HAS_INITIAL=initial is not None, HAS_FINAL=False,
            **_dot(v_THV), **config,
        )  # fmt: skip
    return states, deltas


def segment_states(v_THV: Tensor, factors: Factors, cuts: Cuts, states: Tensor, transitions: Tensor) -> None:
    """Fill the states from zero [D, H, K, V] and the transitions [D, H, K, K] of documents, both fp32."""
    (T, H, V), K, documents = v_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    config = _scan(v_THV, documents)
    for final, width in ((states, V), (transitions, K)) if documents else ():
        config["B"] = min(config["B"], width)
        scan_forward[(width // config["B"], H, documents)](
            v_THV, *factors.all(), cuts.documents_D4, None, final, None, None, None, T, H, V=width, K=K, C=CHUNK,
            OUTPUT=False, SAVE=False, TRANSITION=final is transitions, HAS_INITIAL=False, HAS_FINAL=True,
            **_dot(v_THV), **config,
        )  # fmt: skip


def backward(
    do_THV: Tensor, factors: Factors, cuts: Cuts, _deltas: Tensor, dfinal: Tensor | None, dinitial: Tensor | None,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dv_THV, gradients of the states that leave chunks [N, H, K, V], nothing) (`out`, when given); `dinitial` is
    filled. Hopper's kernels sum dv · delta here; these do it with the gradients.
    """
    _, H, V = do_THV.shape
    K = factors.kg_HTK.shape[-1]
    if out is None:
        out = torch.empty_like(do_THV), do_THV.new_empty(len(cuts.chunks_N2), H, K, V), do_THV.new_empty(0)
    _backward(do_THV, factors, cuts, dfinal, dinitial, *out[:2])
    return out


def segment_gradients(do_THV: Tensor, factors: Factors, cuts: Cuts, dinitial: Tensor) -> None:
    """Fill the gradients of the states that enter documents [D, H, K, V], where those that leave have none."""
    _backward(do_THV, factors, cuts, None, dinitial, None, None)


def _backward(
    do_THV: Tensor, factors: Factors, cuts: Cuts, dfinal: Tensor | None, dinitial: Tensor | None,
    dv_THV: Tensor | None, dstates: Tensor | None,
) -> None:  # fmt: skip
    (T, H, V), K, documents = do_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    if documents:
        config = _scan(do_THV, documents)
        scan_backward[(V // config["B"], H, documents)](
            do_THV, *factors.all(), cuts.documents_D4, dfinal, dinitial, dv_THV, dstates, T, H, V=V, K=K, C=CHUNK,
            SAVE=dv_THV is not None, HAS_FINAL=dfinal is not None, HAS_INITIAL=dinitial is not None, **_dot(do_THV),
            **config,
        )  # fmt: skip


def gradients(
    x: Operands, cuts: Cuts, states: Tensor, deltas: Tensor, dstates: Tensor, do_THV: Tensor, dv_THV: Tensor,
    _dots: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(dq, dk, dgate [T, H, K], dbeta [T, H], parts of dA [N, H] and of dbias [N, H, K] in fp32)."""
    (T, H, K), V, N = x.q_THK.shape, do_THV.shape[-1], len(cuts.chunks_N2)
    out = [torch.empty_like(y) for y in (x.q_THK, x.k_THK, x.gate_THK, x.beta_TH)]
    out += [x.q_THK.new_empty(N, H, *tail, dtype=torch.float32) for tail in ((), (K,))]
    if N:
        _gradients[(H, N)](
            x.q_THK, x.k_THK, x.gate_THK, x.beta_TH, x.A_log_H, x.bias_HK, cuts.chunks_N2, states, dstates, deltas,
            do_THV, dv_THV, *out, T, H, x.lower_bound, x.scale, K=K, V=V, C=CHUNK, num_warps=GRADIENT_WARPS,
            **_dot(x.q_THK),
        )  # fmt: skip
    return tuple(out)
