"""Packed causal attention in Triton: the forward pass and the two passes of its backward.

A document is cut into tiles of C rows from its own first token; a program takes one tile of one head and walks over the
tiles that it meets. What it computes depends on its document alone. Scores are kept in powers of two; a query and key
row lies in two parts, as wide as a value row and what is left (128 + 64), so that nothing is padded.
Odd: a row behind the document's end has lse = +inf, which makes its weights 0.
T tokens in the row, H heads, V value width, X = query and key width − V, C rows a tile, S queries.
"""

import triton
import triton.language as tl

__all__ = ["forward", "key_gradients", "query_gradients"]


@triton.jit
def _row(x, t_C, stride, c_W, ok_C):
    """Rows t of one head, columns c; 0 behind the document's end."""
    return tl.load(x + t_C[:, None] * stride + c_W[None, :], mask=ok_C[:, None], other=0.0)


@triton.jit
def forward(
    q, k, v, tiles, o, lse, top, H, QT, QH, KT, KH, VT, VH, scale, V: tl.constexpr, X: tl.constexpr, C: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """o [T, H, V] and log2 Σ exp2 [T, H] in fp32; the largest score of each tile and head [tiles, H]."""
    h, place = (tl.program_id(0) % H).to(tl.int64), tl.program_id(0) // H
    first, start, stop = tl.load(tiles + 3 * place), tl.load(tiles + 3 * place + 1), tl.load(tiles + 3 * place + 2)
    i_C, c_V, c_X = tl.arange(0, C), tl.arange(0, V), V + tl.arange(0, X)
    t_C = first.to(tl.int64) + i_C
    ok_C = t_C < stop
    q_CV, q_CX = _row(q + h * QH, t_C, QT, c_V, ok_C), _row(q + h * QH, t_C, QT, c_X, ok_C)
    most_C = tl.full([C], float("-inf"), tl.float32)
    total_C = tl.zeros([C], tl.float32)
    o_CV = tl.zeros([C, V], tl.float32)
    for i in range((first - start) // C + 1):
        s_C = (start + i * C).to(tl.int64) + i_C
        k_CV, k_CX = _row(k + h * KH, s_C, KT, c_V, s_C < stop), _row(k + h * KH, s_C, KT, c_X, s_C < stop)
        scores_CC = tl.dot(q_CV, tl.trans(k_CV), input_precision=PRECISION)
        scores_CC = tl.dot(q_CX, tl.trans(k_CX), scores_CC, input_precision=PRECISION) * scale
        scores_CC = tl.where(s_C[None, :] <= t_C[:, None], scores_CC, float("-inf"))
        higher_C = tl.maximum(most_C, tl.max(scores_CC, 1))
        shrink_C = tl.exp2(most_C - higher_C)
        weights_CC = tl.exp2(scores_CC - higher_C[:, None])
        total_C = total_C * shrink_C + tl.sum(weights_CC, 1)
        v_CV = _row(v + h * VH, s_C, VT, c_V, s_C < stop)
        o_CV = tl.dot(weights_CC.to(v_CV.dtype), v_CV, o_CV * shrink_C[:, None], input_precision=PRECISION)
        most_C = higher_C
    at_C = t_C * H + h
    tl.store(o + at_C[:, None] * V + c_V[None, :], o_CV / total_C[:, None], mask=ok_C[:, None])
    tl.store(lse + at_C, most_C + tl.log2(total_C), mask=ok_C)
    tl.store(top + place * H + h, tl.max(tl.where(ok_C, most_C, float("-inf")), 0))


@triton.jit
def query_gradients(
    q, k, v, tiles, do, lse, delta, dq, H, QT, QH, KT, KH, VT, VH, scale, factor, V: tl.constexpr, X: tl.constexpr,
    C: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dq [T, H, V + X] of a tile of queries; `factor` is the scale of natural logits, `do` and `dq` are contiguous."""
    h, place = (tl.program_id(0) % H).to(tl.int64), tl.program_id(0) // H
    first, start, stop = tl.load(tiles + 3 * place), tl.load(tiles + 3 * place + 1), tl.load(tiles + 3 * place + 2)
    i_C, c_V, c_X = tl.arange(0, C), tl.arange(0, V), V + tl.arange(0, X)
    t_C = first.to(tl.int64) + i_C
    ok_C, at_C = t_C < stop, t_C * H + h
    q_CV, q_CX = _row(q + h * QH, t_C, QT, c_V, ok_C), _row(q + h * QH, t_C, QT, c_X, ok_C)
    do_CV = _row(do, at_C, V, c_V, ok_C)
    lse_C = tl.load(lse + at_C, mask=ok_C, other=float("inf"))
    delta_C = tl.load(delta + at_C, mask=ok_C, other=0.0)
    dq_CV = tl.zeros([C, V], tl.float32)
    dq_CX = tl.zeros([C, X], tl.float32)
    for i in range((first - start) // C + 1):
        s_C = (start + i * C).to(tl.int64) + i_C
        k_CV, k_CX = _row(k + h * KH, s_C, KT, c_V, s_C < stop), _row(k + h * KH, s_C, KT, c_X, s_C < stop)
        v_CV = _row(v + h * VH, s_C, VT, c_V, s_C < stop)
        scores_CC = tl.dot(q_CV, tl.trans(k_CV), input_precision=PRECISION)
        scores_CC = tl.dot(q_CX, tl.trans(k_CX), scores_CC, input_precision=PRECISION) * scale
        scores_CC = tl.where(s_C[None, :] <= t_C[:, None], scores_CC, float("-inf"))
        weights_CC = tl.exp2(scores_CC - lse_C[:, None])
        dweights_CC = tl.dot(do_CV, tl.trans(v_CV), input_precision=PRECISION)
        dscores_CC = (weights_CC * (dweights_CC - delta_C[:, None])).to(k_CV.dtype)
        dq_CV = tl.dot(dscores_CC, k_CV, dq_CV, input_precision=PRECISION)
        dq_CX = tl.dot(dscores_CC, k_CX, dq_CX, input_precision=PRECISION)
    to_C1 = at_C[:, None] * (V + X)
    tl.store(dq + to_C1 + c_V[None, :], dq_CV * factor, mask=ok_C[:, None])
    tl.store(dq + to_C1 + c_X[None, :], dq_CX * factor, mask=ok_C[:, None])


@triton.jit
def key_gradients(
    q, k, v, tiles, do, lse, delta, dk, dv, H, QT, QH, KT, KH, VT, VH, scale, factor, V: tl.constexpr, X: tl.constexpr,
    C: tl.constexpr, S: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dk [T, H, V + X] and dv [T, H, V] of a tile of keys, S queries at a time; scores stand with keys as rows."""
    h, place = (tl.program_id(0) % H).to(tl.int64), tl.program_id(0) // H
    first, stop = tl.load(tiles + 3 * place), tl.load(tiles + 3 * place + 2)
    i_C, c_V, c_X = tl.arange(0, C), tl.arange(0, V), V + tl.arange(0, X)
    s_C = first.to(tl.int64) + i_C
    own_C = s_C < stop
    k_CV, k_CX = _row(k + h * KH, s_C, KT, c_V, own_C), _row(k + h * KH, s_C, KT, c_X, own_C)
    v_CV = _row(v + h * VH, s_C, VT, c_V, own_C)
    dk_CV = tl.zeros([C, V], tl.float32)
    dk_CX = tl.zeros([C, X], tl.float32)
    dv_CV = tl.zeros([C, V], tl.float32)
    for i in range(tl.cdiv(stop - first, S)):
        t_S = (first + i * S).to(tl.int64) + tl.arange(0, S)
        ok_S, at_S = t_S < stop, t_S * H + h
        q_SV, q_SX = _row(q + h * QH, t_S, QT, c_V, ok_S), _row(q + h * QH, t_S, QT, c_X, ok_S)
        do_SV = _row(do, at_S, V, c_V, ok_S)
        lse_S = tl.load(lse + at_S, mask=ok_S, other=float("inf"))
        delta_S = tl.load(delta + at_S, mask=ok_S, other=0.0)
        scores_CS = tl.dot(k_CV, tl.trans(q_SV), input_precision=PRECISION)
        scores_CS = tl.dot(k_CX, tl.trans(q_SX), scores_CS, input_precision=PRECISION) * scale
        scores_CS = tl.where(s_C[:, None] <= t_S[None, :], scores_CS, float("-inf"))
        weights_CS = tl.exp2(scores_CS - lse_S[None, :])
        dv_CV = tl.dot(weights_CS.to(do_SV.dtype), do_SV, dv_CV, input_precision=PRECISION)
        dweights_CS = tl.dot(v_CV, tl.trans(do_SV), input_precision=PRECISION)
        dscores_CS = (weights_CS * (dweights_CS - delta_S[None, :])).to(q_SV.dtype)
        dk_CV = tl.dot(dscores_CS, q_SV, dk_CV, input_precision=PRECISION)
        dk_CX = tl.dot(dscores_CS, q_SX, dk_CX, input_precision=PRECISION)
    row_C1 = (s_C * H + h)[:, None]
    tl.store(dk + row_C1 * (V + X) + c_V[None, :], dk_CV * factor, mask=own_C[:, None])
    tl.store(dk + row_C1 * (V + X) + c_X[None, :], dk_CX * factor, mask=own_C[:, None])
    tl.store(dv + row_C1 * V + c_V[None, :], dv_CV, mask=own_C[:, None])
