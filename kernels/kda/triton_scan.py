"""The two passes of KDA along a document: states forwards, gradients of states backwards.

One program carries some columns of one head's state through a document in fp32, chunk by chunk; columns are independent
in both directions. With P = kg S: delta = solve (v − P), o = qg S + scores delta, S ← e^G_C S + ktᵀ delta.
D documents, T tokens in the row, H heads, N chunks, C rows a chunk, K key width, V value width, B columns a program.
"""

import triton
import triton.language as tl

__all__ = ["scan_backward", "scan_forward"]


@triton.jit
def scan_forward(
    v, kg, qg, kt, scores, solve, decay, documents, initial, final, o, states, deltas, T, H, V: tl.constexpr,
    K: tl.constexpr, C: tl.constexpr, B: tl.constexpr, dtype: tl.constexpr, OUTPUT: tl.constexpr,
    SAVE: tl.constexpr, TRANSITION: tl.constexpr, HAS_INITIAL: tl.constexpr, HAS_FINAL: tl.constexpr,
    STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """OUTPUT writes o [T, H, V]; SAVE writes the states entering chunks [N, H, K, V] and deltas [H, T, V].

    TRANSITION: v is 0 and the initial state is the identity (V = K), so the final one is what the document does to it.
    """
    h = tl.program_id(1)
    d = documents + 4 * tl.program_id(2)
    document, start, stop, first = tl.load(d), tl.load(d + 1), tl.load(d + 2), tl.load(d + 3)
    i_C, c_K, c_B = tl.arange(0, C), tl.arange(0, K), tl.program_id(0) * B + tl.arange(0, B)
    at_KB = c_K[:, None] * V + c_B[None, :]
    S_KB = tl.zeros([K, B], tl.float32)
    if TRANSITION:
        S_KB += tl.where(c_K[:, None] == c_B[None, :], 1.0, 0.0)
    if HAS_INITIAL:
        S_KB += tl.load(initial + (document.to(tl.int64) * H + h) * K * V + at_KB).to(tl.float32)
    for i in tl.range(0, tl.cdiv(stop - start, C), num_stages=STAGES):
        t_C = (start + i * C).to(tl.int64) + i_C
        ok_C1 = (t_C < stop)[:, None]
        head_C = h.to(tl.int64) * T + t_C
        in_CK = head_C[:, None] * K + c_K[None, :]
        in_CC = head_C[:, None] * C + i_C[None, :]
        row_CB = t_C[:, None] * H * V + h * V + c_B[None, :]
        place = (first + i).to(tl.int64) * H + h
        S_low = S_KB.to(dtype)
        kg_CK = tl.load(kg + in_CK, mask=ok_C1, other=0.0)
        if TRANSITION:
            v_CB = tl.zeros([C, B], tl.float32)
        else:
            v_CB = tl.load(v + row_CB, mask=ok_C1, other=0.0).to(tl.float32)
        v_CB -= tl.dot(kg_CK, S_low, input_precision=PRECISION)
        solve_CC = tl.load(solve + in_CC, mask=ok_C1, other=0.0)
        delta_CB = tl.dot(solve_CC, v_CB.to(dtype), input_precision=PRECISION).to(dtype)
        if SAVE:
            tl.store(states + place * K * V + at_KB, S_low)
            tl.store(deltas + head_C[:, None] * V + c_B[None, :], delta_CB, mask=ok_C1)
        if OUTPUT:
            o_CB = tl.dot(tl.load(qg + in_CK, mask=ok_C1, other=0.0), S_low, input_precision=PRECISION)
            scores_CC = tl.load(scores + in_CC, mask=ok_C1, other=0.0)
            o_CB = tl.dot(scores_CC, delta_CB, o_CB, input_precision=PRECISION)
            tl.store(o + row_CB, o_CB, mask=ok_C1)
        kt_CK = tl.load(kt + in_CK, mask=ok_C1, other=0.0)
        S_KB *= tl.load(decay + place * K + c_K)[:, None]
        S_KB = tl.dot(tl.trans(kt_CK), delta_CB, S_KB, input_precision=PRECISION)
    if HAS_FINAL:
        tl.store(final + (document.to(tl.int64) * H + h) * K * V + at_KB, S_KB)


@triton.jit
def scan_backward(
    do, kg, qg, kt, scores, solve, decay, documents, dfinal, dinitial, dv, dstates, T, H, V: tl.constexpr,
    K: tl.constexpr, C: tl.constexpr, B: tl.constexpr, dtype: tl.constexpr, SAVE: tl.constexpr,
    HAS_FINAL: tl.constexpr, HAS_INITIAL: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """From the last chunk to the first: dS ← e^G_C dS + qgᵀ do − kgᵀ dv.

    Before it ddelta = scoresᵀ do + kt dS and dv = solveᵀ ddelta.
    SAVE writes dv [T, H, V] and the gradients of the states that leave chunks [N, H, K, V].
    """
    h = tl.program_id(1)
    d = documents + 4 * tl.program_id(2)
    document, start, stop, first = tl.load(d), tl.load(d + 1), tl.load(d + 2), tl.load(d + 3)
    i_C, c_K, c_B = tl.arange(0, C), tl.arange(0, K), tl.program_id(0) * B + tl.arange(0, B)
    at_KB = c_K[:, None] * V + c_B[None, :]
    state = (document.to(tl.int64) * H + h) * K * V
    dS_KB = tl.zeros([K, B], tl.float32)
    if HAS_FINAL:
        dS_KB += tl.load(dfinal + state + at_KB).to(tl.float32)
    chunks = tl.cdiv(stop - start, C)
    for back in tl.range(0, chunks, num_stages=STAGES):
        i = chunks - 1 - back
        t_C = (start + i * C).to(tl.int64) + i_C
        ok_C1 = (t_C < stop)[:, None]
        head_C = h.to(tl.int64) * T + t_C
        in_CK = head_C[:, None] * K + c_K[None, :]
        in_CC = head_C[:, None] * C + i_C[None, :]
        row_CB = t_C[:, None] * H * V + h * V + c_B[None, :]
        place = (first + i).to(tl.int64) * H + h
        dS_low = dS_KB.to(dtype)
        if SAVE:
            tl.store(dstates + place * K * V + at_KB, dS_low)
        do_CB = tl.load(do + row_CB, mask=ok_C1, other=0.0)
        scores_CC = tl.load(scores + in_CC, mask=ok_C1, other=0.0)
        ddelta_CB = tl.dot(tl.trans(scores_CC), do_CB, input_precision=PRECISION)
        kt_CK = tl.load(kt + in_CK, mask=ok_C1, other=0.0)
        ddelta_CB = tl.dot(kt_CK, dS_low, ddelta_CB, input_precision=PRECISION)
        solve_CC = tl.load(solve + in_CC, mask=ok_C1, other=0.0)
        dv_CB = tl.dot(tl.trans(solve_CC), ddelta_CB.to(dtype), input_precision=PRECISION)
        if SAVE:
            tl.store(dv + row_CB, dv_CB, mask=ok_C1)
        qg_CK = tl.load(qg + in_CK, mask=ok_C1, other=0.0)
        kg_CK = tl.load(kg + in_CK, mask=ok_C1, other=0.0)
        dS_KB *= tl.load(decay + place * K + c_K)[:, None]
        dS_KB = tl.dot(tl.trans(qg_CK), do_CB, dS_KB, input_precision=PRECISION)
        dS_KB = tl.dot(tl.trans(kg_CK), (-dv_CB).to(dtype), dS_KB, input_precision=PRECISION)
    if HAS_INITIAL:
        tl.store(dinitial + state + at_KB, dS_KB)
