"""Packed attention in Triton, backwards: what the output's gradient brings, then queries, then keys and values.

Tiles, parts of a row and descriptors as in triton_tiles.py. Queries and keys have a pass each: one pass would add the
queries' gradient by atomics, in another order each time.
Odd: a row behind the document's end has lse = +inf, which makes its weights 0. The output's gradient is rounded to the
operands' dtype before delta = Σ dO ⊙ O is taken with the exact output, so that the products' and delta's share of a
score's gradient cancel where they should.
So the keys' pass needs no mask where not CAUSAL: queries behind the end have no weight, and keys behind it fill rows of
their own, infinite perhaps, that are not stored.
T tokens in the row, H heads, V value width, X = query and key width − V, C rows a tile, S rows of the other side.
"""

import triton
import triton.language as tl

from trivium.kernels.mla.triton_tiles import open_of, place_of, seen_of

__all__ = ["key_gradients", "output_gradients", "query_gradients"]


@triton.jit(do_not_specialize=["T"])
def output_gradients(
    dy, y, rest, gate, do, dgate, delta, T, H, DT, DH, GT, GH, V: tl.constexpr, C: tl.constexpr, GATED: tl.constexpr
):
    """do [T, H, V] in the operands' dtype and delta [H, T] of C rows of T · H; gated also dgate [T, H, V].

    `do` None: dy is that already. Gated: the exact output is (y + rest) / σ, dgate = dy (y + rest) (1 − σ).
    """
    r_C, c_V = tl.program_id(0).to(tl.int64) * C + tl.arange(0, C), tl.arange(0, V)
    ok_C, t_C, h_C = r_C < T.to(tl.int64) * H, r_C // H, r_C % H
    ok_CV, at_CV = ok_C[:, None], r_C[:, None] * V + c_V[None, :]
    dy_CV = tl.load(dy + (t_C * DT + h_C * DH)[:, None] + c_V[None, :], mask=ok_CV, other=0.0).to(tl.float32)
    o_CV = tl.load(y + at_CV, mask=ok_CV, other=0.0).to(tl.float32)
    if GATED:
        if rest is not None:
            o_CV += tl.load(rest + at_CV, mask=ok_CV, other=0.0).to(tl.float32)
        g_CV = tl.load(gate + (t_C * GT + h_C * GH)[:, None] + c_V[None, :], mask=ok_CV, other=0.0).to(tl.float32)
        open_CV = open_of(g_CV)
        tl.store(dgate + at_CV, (dy_CV * o_CV * open_of(-g_CV)).to(dgate.dtype.element_ty), mask=ok_CV)
        dy_CV = dy_CV * open_CV
        o_CV = o_CV / open_CV
    do_CV = dy_CV
    if do is not None:
        do_CV = dy_CV.to(do.dtype.element_ty)
        tl.store(do + at_CV, do_CV, mask=ok_CV)
    tl.store(delta + h_C * T + t_C, tl.sum(do_CV.to(tl.float32) * o_CV, 1), mask=ok_C)


@triton.jit
def _score_gradients(
    q_CV, q_CX, do_CV, lse_C, delta_C, k_SV, k_SX, v_SV, scale, seen_CS, PRECISION: tl.constexpr
):  # fmt: skip
    """Of C queries with S keys, in the operands' dtype; `seen` is None where every query sees every key."""
    scores_CS = tl.dot(q_CV, tl.trans(k_SV), input_precision=PRECISION)
    if q_CX is not None:
        scores_CS = tl.dot(q_CX, tl.trans(k_SX), scores_CS, input_precision=PRECISION)
    if seen_CS is not None:
        scores_CS = tl.where(seen_CS, scores_CS, float("-inf"))
    weights_CS = tl.exp2(scores_CS * scale - lse_C[:, None])
    dweights_CS = tl.dot(do_CV, tl.trans(v_SV), input_precision=PRECISION)
    return (weights_CS * (dweights_CS - delta_C[:, None])).to(k_SV.dtype)


@triton.jit(do_not_specialize=["T", "N"])
def query_gradients(
    q, k, v, tiles, do, lse, delta, dq, T, N, H, QT, QH, KT, KH, VT, VH, scale, factor,
    V: tl.constexpr, X: tl.constexpr, C: tl.constexpr, S: tl.constexpr, HEADS: tl.constexpr, STAGES: tl.constexpr,
    PRECISION: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """dq [T, H, V + X] of a tile of queries; `factor` is the scale of natural logits, `do` and `dq` are contiguous."""
    h, _, first, start, stop = place_of(tiles, N, H, HEADS)
    qV = tl.make_tensor_descriptor(q + h * QH, [stop, V + X], [QT, 1], [C, V])
    qX = tl.make_tensor_descriptor(q + h * QH, [stop, V + X], [QT, 1], [C, X]) if X else None
    doV = tl.make_tensor_descriptor(do + h * V, [stop, V], [H * V, 1], [C, V])
    kV = tl.make_tensor_descriptor(k + h * KH, [stop, V + X], [KT, 1], [S, V])
    kX = tl.make_tensor_descriptor(k + h * KH, [stop, V + X], [KT, 1], [S, X]) if X else None
    vV = tl.make_tensor_descriptor(v + h * VH, [stop, V], [VT, 1], [S, V])
    t_C = first + tl.arange(0, C)
    ok_C, row_C = t_C < stop, t_C.to(tl.int64)
    q_CV = qV.load([first, 0])
    q_CX = qX.load([first, V]) if X else None
    do_CV = doV.load([first, 0])
    lse_C = tl.load(lse + h * T + row_C, mask=ok_C, other=float("inf"))
    delta_C = tl.load(delta + h * T + row_C, mask=ok_C, other=0.0)
    dq_CV = tl.zeros([C, V], tl.float32)
    dq_CX = tl.zeros([C, X], tl.float32) if X else None
    masked = first if CAUSAL else stop - (stop - start) % S
    for s in tl.range(start, masked, S, num_stages=STAGES):
        k_SV = kV.load([s, 0])
        k_SX = kX.load([s, V]) if X else None
        dscores_CS = _score_gradients(
            q_CV, q_CX, do_CV, lse_C, delta_C, k_SV, k_SX, vV.load([s, 0]), scale, None, PRECISION
        )
        dq_CV = tl.dot(dscores_CS, k_SV, dq_CV, input_precision=PRECISION)
        if X:
            dq_CX = tl.dot(dscores_CS, k_SX, dq_CX, input_precision=PRECISION)
    for s in tl.range(masked, tl.minimum(first + C, stop) if CAUSAL else stop, S, num_stages=STAGES):
        seen_CS = seen_of(s + tl.arange(0, S), t_C, stop, CAUSAL)
        k_SV = kV.load([s, 0])
        k_SX = kX.load([s, V]) if X else None
        dscores_CS = _score_gradients(
            q_CV, q_CX, do_CV, lse_C, delta_C, k_SV, k_SX, vV.load([s, 0]), scale, seen_CS, PRECISION
        )
        dq_CV = tl.dot(dscores_CS, k_SV, dq_CV, input_precision=PRECISION)
        if X:
            dq_CX = tl.dot(dscores_CS, k_SX, dq_CX, input_precision=PRECISION)
    to_C1 = ((row_C * H + h) * (V + X))[:, None]
    tl.store(dq + to_C1 + tl.arange(0, V)[None, :], (dq_CV * factor).to(dq.dtype.element_ty), mask=ok_C[:, None])
    if X:
        c_X = V + tl.arange(0, X)[None, :]
        tl.store(dq + to_C1 + c_X, (dq_CX * factor).to(dq.dtype.element_ty), mask=ok_C[:, None])


@triton.jit(do_not_specialize=["T", "N"])
def key_gradients(
    q, k, v, tiles, do, lse, delta, dk, dv, T, N, H, QT, QH, KT, KH, VT, VH, scale, factor,
    V: tl.constexpr, X: tl.constexpr, C: tl.constexpr, S: tl.constexpr, HEADS: tl.constexpr, STAGES: tl.constexpr,
    PRECISION: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """dk [T, H, V + X] and dv [T, H, V] of a tile of keys, S queries at a time; scores stand with keys as rows.

    A tile's second number is the first query to walk from. One masked loop: two would hold two copies of five products,
    and the accumulators fill the registers.
    """
    h, _, first, query, stop = place_of(tiles, N, H, HEADS)
    qV = tl.make_tensor_descriptor(q + h * QH, [stop, V + X], [QT, 1], [S, V])
    qX = tl.make_tensor_descriptor(q + h * QH, [stop, V + X], [QT, 1], [S, X]) if X else None
    doV = tl.make_tensor_descriptor(do + h * V, [stop, V], [H * V, 1], [S, V])
    kV = tl.make_tensor_descriptor(k + h * KH, [stop, V + X], [KT, 1], [C, V])
    kX = tl.make_tensor_descriptor(k + h * KH, [stop, V + X], [KT, 1], [C, X]) if X else None
    vV = tl.make_tensor_descriptor(v + h * VH, [stop, V], [VT, 1], [C, V])
    k_CV = kV.load([first, 0])
    k_CX = kX.load([first, V]) if X else None
    v_CV = vV.load([first, 0])
    dk_CV = tl.zeros([C, V], tl.float32)
    dk_CX = tl.zeros([C, X], tl.float32) if X else None
    dv_CV = tl.zeros([C, V], tl.float32)
    for t in tl.range(query, stop, S, num_stages=STAGES):
        t_S = t + tl.arange(0, S)
        q_SV = qV.load([t, 0])
        q_SX = qX.load([t, V]) if X else None
        do_SV = doV.load([t, 0])
        lse_S = tl.load(lse + h * T + t_S, mask=t_S < stop, other=float("inf"))
        delta_S = tl.load(delta + h * T + t_S, mask=t_S < stop, other=0.0)
        scores_CS = tl.dot(k_CV, tl.trans(q_SV), input_precision=PRECISION)
        if X:
            scores_CS = tl.dot(k_CX, tl.trans(q_SX), scores_CS, input_precision=PRECISION)
        powers_CS = scores_CS * scale - lse_S[None, :]
        if CAUSAL:
            powers_CS = tl.where((first + tl.arange(0, C))[:, None] <= t_S[None, :], powers_CS, float("-inf"))
        weights_CS = tl.exp2(powers_CS)
        dv_CV = tl.dot(weights_CS.to(do_SV.dtype), do_SV, dv_CV, input_precision=PRECISION)
        dweights_CS = tl.dot(v_CV, tl.trans(do_SV), input_precision=PRECISION)
        dscores_CS = (weights_CS * (dweights_CS - delta_S[None, :])).to(q_SV.dtype)
        dk_CV = tl.dot(dscores_CS, q_SV, dk_CV, input_precision=PRECISION)
        if X:
            dk_CX = tl.dot(dscores_CS, q_SX, dk_CX, input_precision=PRECISION)
    row_C = (first + tl.arange(0, C)).to(tl.int64)
    own_C1, at_C1 = (row_C < stop)[:, None], (row_C * H + h)[:, None]
    c_V = tl.arange(0, V)[None, :]
    tl.store(dk + at_C1 * (V + X) + c_V, (dk_CV * factor).to(dk.dtype.element_ty), mask=own_C1)
    if X:
        c_X = V + tl.arange(0, X)[None, :]
        tl.store(dk + at_C1 * (V + X) + c_X, (dk_CX * factor).to(dk.dtype.element_ty), mask=own_C1)
    tl.store(dv + at_C1 * V + c_V, dv_CV.to(dv.dtype.element_ty), mask=own_C1)
