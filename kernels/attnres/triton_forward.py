"""Attention Residuals forwards in Triton: the mixture and, where wanted, the norm that reads it, in one pass.

A program takes whole rows, cut into pieces of columns, and reads each source once. N sources, T tokens, W model width,
R rows of a program, C columns of a piece; tuples run over pieces or sources.
"""

import triton
import triton.language as tl

__all__ = ["dots", "forward", "piece", "vector"]


@triton.jit
def vector(x, j, W: tl.constexpr, C: tl.constexpr):
    """Piece j of a vector, 0 behind its end."""
    c_C = j * C + tl.arange(0, C)
    return tl.load(x + c_C, mask=c_C < W, other=0.0).to(tl.float32)


@triton.jit
def piece(x, r_R, ok_R, j, W: tl.constexpr, C: tl.constexpr):
    """Piece j of the rows, as they are stored; 0 behind the last row and column."""
    c_C = j * C + tl.arange(0, C)
    return tl.load(x + r_R[:, None] * W + c_C[None, :], mask=ok_R[:, None] & (c_C < W)[None, :], other=0.0)


@triton.jit
def _add_two(a, b, c, d):
    return a + c, b + d


@triton.jit
def dots(a_RC, b_RC):
    """Two sums over columns in one exchange between warps."""
    return tl.reduce((a_RC, b_RC), 1, _add_two)


@triton.jit
def _keys(v, a, eps, W: tl.constexpr):
    """(logit, rstd) of a source's pieces."""
    squares_RC, along_RC = 0.0, 0.0
    for j in tl.static_range(len(v)):
        x_RC = v[j].to(tl.float32)
        squares_RC += x_RC * x_RC
        along_RC += x_RC * a[j][None, :]
    squares_R, along_R = dots(squares_RC, along_RC)
    rstd_R = tl.rsqrt(squares_R / W + eps)
    return along_R * rstd_R, rstd_R


@triton.jit(do_not_specialize=["T"])
def forward(
    sources, query, gamma, weight, y, stats, T, eps, norm_eps, NORM: tl.constexpr, N: tl.constexpr,
    W: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Softmax online, source by source; each one's logit and rstd, [T, 2, N], are kept."""
    J: tl.constexpr = (W + C - 1) // C
    r_R = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    ok_R = r_R < T
    a = ()
    h = ()
    for j in tl.static_range(J):
        a += (vector(query, j, W, C) * vector(gamma, j, W, C),)
        h += (tl.zeros([R, C], tl.float32),)
    most_R = tl.full([R], float("-inf"), tl.float32)
    total_R = tl.zeros([R], tl.float32)
    for i in tl.static_range(N):
        v = ()
        for j in tl.static_range(J):
            v += (piece(sources[i], r_R, ok_R, j, W, C),)
        logit_R, rstd_R = _keys(v, a, eps, W)
        tl.store(stats + r_R * (2 * N) + i, logit_R, mask=ok_R)
        tl.store(stats + r_R * (2 * N) + N + i, rstd_R, mask=ok_R)
        higher_R = tl.maximum(most_R, logit_R)
        shrink_R, weight_R = tl.exp(most_R - higher_R), tl.exp(logit_R - higher_R)
        mixed = ()
        for j in tl.static_range(J):
            mixed += (h[j] * shrink_R[:, None] + v[j].to(tl.float32) * weight_R[:, None],)
        h = mixed
        total_R = total_R * shrink_R + weight_R
        most_R = higher_R
    squares_RC = tl.zeros([R, C], tl.float32)
    mixed = ()
    for j in tl.static_range(J):
        # Divided at the end and rightly rounded: with equal logits the result is the mean, bit for bit.
        h_RC = tl.div_rn(h[j], total_R[:, None] + h[j] * 0)
        squares_RC += h_RC * h_RC
        mixed += (h_RC,)
    scale_R = total_R
    if NORM:
        scale_R = tl.rsqrt(tl.sum(squares_RC, 1) / W + norm_eps)
    for j in tl.static_range(J):
        h_RC = mixed[j]
        if NORM:
            h_RC = h_RC * scale_R[:, None] * vector(weight, j, W, C)[None, :]
        c_C = j * C + tl.arange(0, C)
        tl.store(y + r_R[:, None] * W + c_C[None, :], h_RC, mask=ok_R[:, None] & (c_C < W)[None, :])
