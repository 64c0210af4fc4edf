"""Packed attention in Triton, forwards: causal, or of all tokens of a document by all (CAUSAL of the kernels).

A document is cut into tiles from its own first token; a program takes one tile of queries of one head and walks over
the keys that it meets: first those that all its rows see, without a mask, then its own (causal) or the last step, which
the document's end may cut (not causal). What it computes depends on its document alone. Scores are kept in powers of
two; a query and key row lies in two parts, as wide as a value row and what is left (128 + 64), so that nothing is
padded; where nothing is left (X = 0) the second part is None throughout.
Odd: a program makes its descriptors itself, each ending where its document ends: what lies behind is read as 0, so that
nothing of another document, a NaN included, ever enters a product. A key of zeros still has a weight: not causal, the
last step is masked.
T tokens in the row, H heads, V value width, X = query and key width − V, C rows a tile, S keys at a time.
"""

import triton
import triton.language as tl

__all__ = ["forward", "open_of", "place_of", "seen_of"]


@triton.jit
def place_of(tiles, N, H, HEADS: tl.constexpr):
    """(head, tile, its first token, its document's first and the token behind its last) of a program.

    HEADS heads run at a time, each tile of all of them before the next tile: their keys stay in the L2 cache.
    """
    group = tl.program_id(0) // (HEADS * N)
    within = tl.program_id(0) % (HEADS * N)
    width = tl.minimum(H - group * HEADS, HEADS)
    place = within // width
    h = (group * HEADS + within % width).to(tl.int64)
    return h, place, tl.load(tiles + 3 * place), tl.load(tiles + 3 * place + 1), tl.load(tiles + 3 * place + 2)


@triton.jit
def seen_of(key_S, t_C, stop, CAUSAL: tl.constexpr):
    """Which keys of a step the queries see [C, S]: those up to themselves, or [1, S]: all of the document."""
    return key_S[None, :] <= t_C[:, None] if CAUSAL else (key_S < stop)[None, :]


@triton.jit
def open_of(gate):
    """σ in fp32; a gate below −80 counts as −80 (2e-35), so that what went through it can be divided by σ again."""
    return tl.sigmoid(tl.maximum(gate.to(tl.float32), -80.0))


@triton.jit
def _meet(q_CV, q_CX, k_SV, k_SX, v_SV, o_CV, most_C, total_C, scale, seen_CS, PRECISION: tl.constexpr):
    """One step of the softmax's walk; `seen` is None where every query sees every key."""
    scores_CS = tl.dot(q_CV, tl.trans(k_SV), input_precision=PRECISION)
    if q_CX is not None:
        scores_CS = tl.dot(q_CX, tl.trans(k_SX), scores_CS, input_precision=PRECISION)
    if seen_CS is not None:
        scores_CS = tl.where(seen_CS, scores_CS, float("-inf"))
    higher_C = tl.maximum(most_C, tl.max(scores_CS, 1) * scale)
    shrink_C = tl.exp2(most_C - higher_C)
    weights_CS = tl.exp2(scores_CS * scale - higher_C[:, None])
    total_C = total_C * shrink_C + tl.sum(weights_CS, 1)
    o_CV = tl.dot(weights_CS.to(v_SV.dtype), v_SV, o_CV * shrink_C[:, None], input_precision=PRECISION)
    return o_CV, higher_C, total_C


@triton.jit(do_not_specialize=["T", "N"])
def forward(
    q, k, v, tiles, gate, o, rest, lse, top, T, N, H, QT, QH, KT, KH, VT, VH, GT, GH, scale,
    V: tl.constexpr, X: tl.constexpr, C: tl.constexpr, S: tl.constexpr, HEADS: tl.constexpr, GATED: tl.constexpr,
    STAGES: tl.constexpr, PRECISION: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """o [T, H, V] in its own dtype, log2 Σ exp2 [H, T] in fp32; the largest score of each tile and head [tiles, H].

    `top` None: no largest scores. GATED: o is y = o · σ(gate) in the operands' dtype, `rest` what y lost to rounding
    (None: nothing).
    """
    h, place, first, start, stop = place_of(tiles, N, H, HEADS)
    qV = tl.make_tensor_descriptor(q + h * QH, [stop, V + X], [QT, 1], [C, V])
    qX = tl.make_tensor_descriptor(q + h * QH, [stop, V + X], [QT, 1], [C, X]) if X else None
    kV = tl.make_tensor_descriptor(k + h * KH, [stop, V + X], [KT, 1], [S, V])
    kX = tl.make_tensor_descriptor(k + h * KH, [stop, V + X], [KT, 1], [S, X]) if X else None
    vV = tl.make_tensor_descriptor(v + h * VH, [stop, V], [VT, 1], [S, V])
    t_C = first + tl.arange(0, C)
    q_CV = qV.load([first, 0])
    q_CX = qX.load([first, V]) if X else None
    most_C = tl.full([C], float("-inf"), tl.float32)
    total_C = tl.zeros([C], tl.float32)
    o_CV = tl.zeros([C, V], tl.float32)
    masked = first if CAUSAL else stop - (stop - start) % S
    for s in tl.range(start, masked, S, num_stages=STAGES):
        o_CV, most_C, total_C = _meet(
            q_CV, q_CX, kV.load([s, 0]), kX.load([s, V]) if X else None, vV.load([s, 0]), o_CV, most_C, total_C, scale,
            None, PRECISION,
        )  # fmt: skip
    for s in tl.range(masked, tl.minimum(first + C, stop) if CAUSAL else stop, S, num_stages=STAGES if CAUSAL else 1):
        seen_CS = seen_of(s + tl.arange(0, S), t_C, stop, CAUSAL)
        o_CV, most_C, total_C = _meet(
            q_CV, q_CX, kV.load([s, 0]), kX.load([s, V]) if X else None, vV.load([s, 0]), o_CV, most_C, total_C, scale,
            seen_CS, PRECISION,
        )  # fmt: skip
    ok_C, c_V = t_C < stop, tl.arange(0, V)
    row_C = t_C.to(tl.int64)
    at_CV = ((row_C * H + h) * V)[:, None] + c_V[None, :]
    o_CV = o_CV / total_C[:, None]
    if GATED:
        at_gate_CV = (row_C * GT + h * GH)[:, None] + c_V[None, :]
        o_CV = o_CV * open_of(tl.load(gate + at_gate_CV, mask=ok_C[:, None], other=0.0))
        y_CV = o_CV.to(o.dtype.element_ty)
        tl.store(o + at_CV, y_CV, mask=ok_C[:, None])
        if rest is not None:
            tl.store(rest + at_CV, (o_CV - y_CV.to(tl.float32)).to(rest.dtype.element_ty), mask=ok_C[:, None])
    else:
        tl.store(o + at_CV, o_CV, mask=ok_C[:, None])
    tl.store(lse + h * T + row_C, most_C + tl.log2(total_C), mask=ok_C)
    if top is not None:
        tl.store(top + place * H + h, tl.max(tl.where(ok_C, most_C, float("-inf")), 0))
