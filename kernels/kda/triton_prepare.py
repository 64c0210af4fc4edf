"""What a chunk of KDA needs before any state: one program for each chunk and head, all chunks at once.

Norm, gate, β and the cumulative decay happen in registers; out go, in the operands' dtype, the factors that the scan
multiplies. Scores with decays come from plain products of 64 rows: at level 32 rows of the second half meet columns of
the first around their middle row, at level 16 the same in each half, and what is left are tiles of 16 rows around their
first row (K3 report, section 2.1.1). At a level one factor, e^−|G − G_anchor| ≤ 1, serves rows and columns; in the
tiles it is e^(G_i − G_a) and its inverse, legal because the decay is bounded. No row meets an anchor behind it.
T tokens in the row, H heads, N chunks, C rows a chunk, K key width, B channels at a time.
"""

import triton
import triton.language as tl

from trivium.kernels.kda.triton_decay import level_anchor, log2_decay, rows_at, rstd_of, score_mask

__all__ = ["prepare"]

BLOCK = tl.constexpr(64)  # channels at a time: whole rows of 128 would spill registers


@triton.jit
def _product(x, y_t, PRECISION: tl.constexpr):
    return tl.dot(x, tl.trans(y_t), input_precision=PRECISION)


@triton.jit
def _inverse(A_CC, C: tl.constexpr, dtype: tl.constexpr, PRECISION: tl.constexpr):
    """(I + A)^−1 of a strictly lower A, by doubling the inverted blocks: a stable way.

    No entry exceeds 1 for a delta rule, so fp16 operands are safe, and as exact as TF32.
    """
    i_C = tl.arange(0, C)
    X_CC = tl.where(i_C[:, None] == i_C[None, :], 1.0, 0.0) - tl.where(score_mask(1, C), A_CC, 0.0)
    for level in tl.static_range(1, 6):
        off_CC = tl.where(score_mask(2**level, C), A_CC, 0.0).to(dtype)
        X_low = X_CC.to(dtype)
        left_CC = tl.dot(X_low, off_CC, input_precision=PRECISION).to(dtype)
        X_CC -= tl.dot(left_CC, X_low, input_precision=PRECISION)
    return X_CC


@triton.jit
def prepare(
    q, k, gate, beta, A_log, bias, chunks, kg, qg, kt, scores, solve, decay, T, H, lower_bound, scale,
    K: tl.constexpr, C: tl.constexpr, dtype: tl.constexpr, solve_dtype: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """kg = k e^G, qg = scale q e^G, kt = k e^(G_C − G): [H, T, K]; scores, solve = (I + β A)^−1 β: [H, T, C]."""
    h, n = tl.program_id(0), tl.program_id(1)
    start, rows = tl.load(chunks + 2 * n).to(tl.int64), tl.load(chunks + 2 * n + 1)
    i_C = tl.arange(0, C)
    valid_C = i_C < rows
    ok_C1 = valid_C[:, None]
    first, at_C = start * H * K + h * K, i_C * H * K
    q, k, gate = q + first, k + first, gate + first
    head = h.to(tl.int64) * T + start
    kg, qg, kt, scores, solve = kg + head * K, qg + head * K, kt + head * K, scores + head * C, solve + head * C
    rstd_q_C, rstd_k_C = rstd_of(q, at_C, valid_C, K) * scale, rstd_of(k, at_C, valid_C, K)
    A = tl.exp(tl.minimum(tl.load(A_log + h).to(tl.float32), 60.0))
    tile = (i_C // 16)[:, None] == (i_C // 16)[None, :]
    qk_CC, kk_CC = tl.zeros([C, C], tl.float32), tl.zeros([C, C], tl.float32)
    for block in tl.range(K // BLOCK, num_stages=1):  # unrolled, its loads would be hoisted and registers spill
        c_B = block * BLOCK + tl.arange(0, BLOCK)
        bias_B = tl.load(bias + h * K + c_B).to(tl.float32)
        g_CB, _, _ = log2_decay(gate, bias_B, A, at_C, valid_C, c_B, lower_bound)
        q_CB = rows_at(q, at_C, valid_C, c_B) * rstd_q_C[:, None]
        k_CB = rows_at(k, at_C, valid_C, c_B) * rstd_k_C[:, None]
        G_CB, last_B = tl.cumsum(g_CB, 0), tl.sum(g_CB, 0)
        growth_CB, out_CB = tl.exp2(G_CB), i_C[:, None] * K + c_B[None, :]
        tl.store(kg + out_CB, k_CB * growth_CB, mask=ok_C1)
        tl.store(qg + out_CB, q_CB * growth_CB, mask=ok_C1)
        tl.store(kt + out_CB, k_CB * tl.exp2(last_B[None, :] - G_CB), mask=ok_C1)
        tl.store(decay + (n.to(tl.int64) * H + h) * K + c_B, tl.exp2(last_B))

        rise_CB = tl.exp2(G_CB - level_anchor(G_CB, 16, 0, C, BLOCK))
        below = (k_CB / rise_CB).to(dtype)
        qk_CC += tl.where(tile, _product((q_CB * rise_CB).to(dtype), below, PRECISION), 0.0)
        kk_CC += tl.where(tile, _product((k_CB * rise_CB).to(dtype), below, PRECISION), 0.0)
        for level in tl.static_range(2):
            fall_CB = tl.exp2(-tl.abs(G_CB - level_anchor(G_CB, 32 << level, 16 << level, C, BLOCK)))
            k_low = (k_CB * fall_CB).to(dtype)
            pairs = score_mask(16 << level, C)
            qk_CC += tl.where(pairs, _product((q_CB * fall_CB).to(dtype), k_low, PRECISION), 0.0)
            kk_CC += tl.where(pairs, _product(k_low, k_low, PRECISION), 0.0)

    beta_C = tl.sigmoid(tl.load(beta + start * H + h + i_C * H, mask=valid_C, other=0.0).to(tl.float32))
    beta_C = tl.where(valid_C, beta_C, 0.0)
    out_CC = i_C[:, None] * C + i_C[None, :]
    tl.store(scores + out_CC, tl.where(i_C[:, None] >= i_C[None, :], qk_CC, 0.0), mask=ok_C1)
    A_CC = tl.where(i_C[:, None] > i_C[None, :], kk_CC * beta_C[:, None], 0.0)
    X_CC = _inverse(A_CC, C, solve_dtype, PRECISION)
    tl.store(solve + out_CC, X_CC * beta_C[None, :], mask=ok_C1)
