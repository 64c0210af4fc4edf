"""Launches of the kernels for Hopper: bf16, K = V of 64 or 128. The same steps as `triton_launch`.

Saved states lie [N, H, V, K] here and deltas [N, H, V, C], as the kernels hold them.
"""

import torch
from torch import Tensor

from trivium.kernels.kda.factors import Factors, Operands
from trivium.kernels.kda.gluon_gradients import gradients as _gradients
from trivium.kernels.kda.gluon_prepare import invert
from trivium.kernels.kda.gluon_prepare import prepare as _prepare
from trivium.kernels.kda.gluon_scan import scan_backward, scan_forward
from trivium.kernels.kda.plan import CHUNK, Cuts

__all__ = ["backward", "forward", "gradients", "prepare", "replay", "segment_gradients", "segment_states"]

# Two programs of eight warps, or four of four, a multiprocessor: they wait in turn (kernels/README.md).
REGISTERS = 128
FILL = 66  # sequences from which a program takes a whole head: half the multiprocessors of an H200


def _warps(width: int) -> int:
    """A warp for each 16 channels."""
    return width // 16


def _scan(x_THV: Tensor, documents: int) -> int:
    """Warps of a scan, each with 16 columns of V: half a head where documents and heads leave processors idle."""
    _, H, V = x_THV.shape
    return _warps(V if documents * H >= FILL else 64)


def prepare(x: Operands, cuts: Cuts) -> Factors:
    q = x.q_THK
    T, H, K = q.shape
    N = len(cuts.chunks_N2)
    kg, qg, kt = (q.new_empty(H, T, K) for _ in range(3))
    pair = q.new_empty(2, H, T, CHUNK)
    beta, decay = (q.new_empty(shape, dtype=torch.float32) for shape in ((H, T), (N, H, K)))
    if N:
        bits = pair.view(torch.int16)
        _prepare[(H, N)](
            q, x.k_THK, x.gate_THK, x.beta_TH, x.A_log_H, x.bias_HK, cuts.chunks_N2, kg, qg, kt, bits, beta, decay, T,
            H, x.lower_bound, x.scale, K=K, C=CHUNK, WARPS=_warps(K), num_warps=_warps(K), maxnreg=REGISTERS,
        )  # fmt: skip
        invert[(H, N)](cuts.chunks_N2, bits, T, H, C=CHUNK, num_warps=4, maxnreg=REGISTERS)
    return Factors(kg, qg, kt, pair[0], pair[1], beta, decay)


def forward(
    v_THV: Tensor, factors: Factors, cuts: Cuts, initial: Tensor | None, final: Tensor | None, out: Tensor | None = None
) -> Tensor:
    """o_THV (`out`, when given); `final` [D, H, K, V] is filled."""
    (T, H, V), K, documents = v_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    o_THV = torch.empty_like(v_THV) if out is None else out
    if documents:
        warps = _scan(v_THV, documents)
        scan_forward[(V // (16 * warps), H, documents)](
            v_THV, *factors.all(), cuts.documents_D4, initial, final, o_THV, None, None, T, H, V=V, K=K, C=CHUNK,
            WARPS=warps, OUTPUT=True, SAVE=False, TRANSITION=False, HAS_INITIAL=initial is not None,
            HAS_FINAL=final is not None, num_warps=warps,
        )  # fmt: skip
    return o_THV


def replay(
    v_THV: Tensor, factors: Factors, cuts: Cuts, initial: Tensor | None, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """(states entering chunks, deltas) (`out`, when given)."""
    (T, H, V), K, documents = v_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    N = len(cuts.chunks_N2)
    states, deltas = out or (v_THV.new_empty(N, H, V, K), v_THV.new_empty(N, H, V, CHUNK))
    if documents:
        warps = _scan(v_THV, documents)
        scan_forward[(V // (16 * warps), H, documents)](
            v_THV, *factors.all(), cuts.documents_D4, initial, None, None, states, deltas, T, H, V=V, K=K, C=CHUNK,
            WARPS=warps, OUTPUT=False, SAVE=True, TRANSITION=False, HAS_INITIAL=initial is not None, HAS_FINAL=False,
            num_warps=warps,
        )  # fmt: skip
    return states, deltas


def segment_states(v_THV: Tensor, factors: Factors, cuts: Cuts, states: Tensor, transitions: Tensor) -> None:
    """Fill the states from zero [D, H, K, V] and the transitions [D, H, K, K] of documents, both fp32 (V = K)."""
    (T, H, V), documents = v_THV.shape, len(cuts.documents_D4)
    if not documents:
        return
    warps = _scan(v_THV, documents)
    for final in (states, transitions):
        scan_forward[(V // (16 * warps), H, documents)](
            v_THV, *factors.all(), cuts.documents_D4, None, final, None, None, None, T, H, V=V, K=V, C=CHUNK,
            WARPS=warps, OUTPUT=False, SAVE=False, TRANSITION=final is transitions, HAS_INITIAL=False, HAS_FINAL=True,
            num_warps=warps,
        )  # fmt: skip


def segment_gradients(do_THV: Tensor, factors: Factors, cuts: Cuts, dinitial: Tensor) -> None:
    """Fill the gradients of the states that enter documents [D, H, K, V], where those that leave have none."""
    _backward(do_THV, factors, cuts, None, None, dinitial, None)


def backward(
    do_THV: Tensor, factors: Factors, cuts: Cuts, deltas: Tensor, dfinal: Tensor | None, dinitial: Tensor | None,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dv_THV, gradients of the states that leave chunks [N, H, V, K], dv · delta / β in parts [P, H, T]) (`out`,
    when given); `dinitial` is filled.
    """
    T, H, V = do_THV.shape
    if out is None:
        dstates = do_THV.new_empty(len(cuts.chunks_N2), H, V, factors.kg_HTK.shape[-1])
        # Parts that a wide program doesn't write stay 0.
        dots = do_THV.new_zeros(V // 64, H, T, dtype=torch.float32)
        out = torch.empty_like(do_THV), dstates, dots
    _backward(do_THV, factors, cuts, deltas, dfinal, dinitial, out)
    return out


def _backward(
    do_THV: Tensor, factors: Factors, cuts: Cuts, deltas: Tensor | None, dfinal: Tensor | None,
    dinitial: Tensor | None, out: tuple[Tensor, Tensor, Tensor] | None,
) -> None:  # fmt: skip
    (T, H, V), K, documents = do_THV.shape, factors.kg_HTK.shape[-1], len(cuts.documents_D4)
    dv_THV, dstates, dots = out or (None, None, None)
    if documents:
        warps = _scan(do_THV, documents)
        scan_backward[(V // (16 * warps), H, documents)](
            do_THV, *factors.all(), cuts.documents_D4, deltas, dfinal, dinitial, dv_THV, dstates, dots, T, H, V=V, K=K,
            C=CHUNK, WARPS=warps, SAVE=out is not None, HAS_FINAL=dfinal is not None,
            HAS_INITIAL=dinitial is not None, num_warps=warps,
        )  # fmt: skip


def gradients(
    x: Operands, cuts: Cuts, states: Tensor, deltas: Tensor, dstates: Tensor, do_THV: Tensor, dv_THV: Tensor,
    dots_PHT: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(dq, dk, dgate [T, H, K], dbeta [T, H], parts of dA [N, H] and of dbias [N, H, K] in fp32)."""
    (T, H, K), N = x.q_THK.shape, len(cuts.chunks_N2)
    out = [torch.empty_like(y) for y in (x.q_THK, x.k_THK, x.gate_THK, x.beta_TH)]
    out += [x.q_THK.new_empty(N, H, *tail, dtype=torch.float32) for tail in ((), (K,))]
    if N:
        _gradients[(H, N)](
            x.q_THK, x.k_THK, x.gate_THK, x.beta_TH, x.A_log_H, x.bias_HK, cuts.chunks_N2, states, dstates, deltas,
            do_THV, dv_THV, dots_PHT, *out, T, H, x.lower_bound, x.scale, K=K, C=CHUNK, WARPS=_warps(K),
            num_warps=_warps(K),
        )  # fmt: skip
    return tuple(out)
