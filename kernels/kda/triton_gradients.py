"""All gradients of a chunk of KDA, once the states and their gradients are known: one program a chunk and head.

With delta = solve (v − kg S), the scan gave dv = solveᵀ ddelta, and everything else is a product with what is at hand:
d kg = −dv Sᵀ, d A = −dv deltaᵀ below the diagonal, dβ = dv · delta / β²; the gradient of the inverse needs no term.
Norm, gate and cumulative decay are taken anew from the inputs. Tiles keep their anchor in the middle: gradients depend
on later rows anyway, and half the range saves tiny ones at the bound.
T tokens in the row, H heads, N chunks, C rows a chunk, K key width, V value width.
"""

import triton
import triton.language as tl

from trivium.kernels.kda.triton_decay import level_anchor, log2_decay, rows_at, rstd_of, score_mask

__all__ = ["gradients"]

BLOCK = tl.constexpr(32)  # channels at a time: wider pieces spill more registers


@triton.jit
def _level(
    d_qk, d_kk, q_low, k_row, k_column, to_row, to_column, dq, gains, losses, dG, PRECISION: tl.constexpr
):  # fmt: skip
    """Add a level's products to the gradients of query rows, key rows, key columns and of the rows' log decay.

    A pair of rows enters the last one twice, with opposite signs: by the operands as they were rounded for the
    products, so that it leaves nothing where both lie behind a decay.
    """
    product = tl.dot(d_qk, k_column, input_precision=PRECISION)
    dG += q_low.to(tl.float32) * product
    dq += product * to_row
    product = tl.dot(d_kk, k_column, input_precision=PRECISION)
    dG += k_row.to(tl.float32) * product
    gains += product * to_row
    product = tl.dot(tl.trans(d_qk), q_low, input_precision=PRECISION)
    product = tl.dot(tl.trans(d_kk), k_row, product, input_precision=PRECISION)
    dG -= k_column.to(tl.float32) * product
    losses += product * to_column
    return dq, gains, losses, dG


@triton.jit
def _channels(
    q_CB, k_CB, G_CB, last_B, S_BV, dS_BV, do_CV, dv_CV, delta_CV, dqk_CC, dkk_CC, own_C, C: tl.constexpr,
    dtype: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Gradients of some channels of normalised queries (scaled) and keys, and of the log decay of each row."""
    i_C = tl.arange(0, C)
    growth_CB = tl.exp2(G_CB)
    dq_CB = tl.dot(do_CV, tl.trans(S_BV), input_precision=PRECISION) * growth_CB
    gains_CB = -tl.dot(dv_CV, tl.trans(S_BV), input_precision=PRECISION) * growth_CB
    losses_CB = tl.dot(delta_CV, tl.trans(dS_BV), input_precision=PRECISION) * tl.exp2(last_B[None, :] - G_CB)
    dlast_B = tl.sum(S_BV.to(tl.float32) * dS_BV.to(tl.float32), 1) * tl.exp2(last_B) + tl.sum(k_CB * losses_CB, 0)
    # A difference of nearly equal terms: it stays in fp32.
    dG_CB = q_CB * dq_CB + k_CB * (gains_CB - losses_CB)
    tile = (i_C // 16)[:, None] == (i_C // 16)[None, :]
    low_qk = tl.where(tile & (i_C[:, None] > i_C[None, :]), dqk_CC, 0.0).to(dtype)
    low_kk = tl.where(tile & (i_C[:, None] > i_C[None, :]), dkk_CC, 0.0).to(dtype)
    rise_CB = tl.exp2(G_CB - level_anchor(G_CB, 16, 8, C, BLOCK))
    dq_CB, gains_CB, losses_CB, dG_CB = _level(
        low_qk, low_kk, (q_CB * rise_CB).to(dtype), (k_CB * rise_CB).to(dtype), (k_CB / rise_CB).to(dtype), rise_CB,
        1 / rise_CB, dq_CB, gains_CB, losses_CB, dG_CB, PRECISION,
    )  # fmt: skip
    for level in tl.static_range(2):
        fall_CB = tl.exp2(-tl.abs(G_CB - level_anchor(G_CB, 32 << level, 16 << level, C, BLOCK)))
        pairs = score_mask(16 << level, C)
        low_qk = tl.where(pairs, dqk_CC, 0.0).to(dtype)
        low_kk = tl.where(pairs, dkk_CC, 0.0).to(dtype)
        k_low = (k_CB * fall_CB).to(dtype)
        dq_CB, gains_CB, losses_CB, dG_CB = _level(
            low_qk, low_kk, (q_CB * fall_CB).to(dtype), k_low, k_low, fall_CB, fall_CB, dq_CB, gains_CB, losses_CB,
            dG_CB, PRECISION,
        )  # fmt: skip
    dG_CB += tl.where((i_C == C - 1)[:, None], dlast_B[None, :], 0.0)
    # A row meets itself without decay: kept out of dG, its large equal terms leave no rounding there.
    dq_CB += own_C[:, None] * k_CB
    return dq_CB, gains_CB + losses_CB + own_C[:, None] * q_CB, tl.cumsum(dG_CB, 0, reverse=True)


@triton.jit
def _norm_gradient(dx, x, dot_C, rstd_C, at_C, valid_C, c_B):
    """Turn dy, stored in dx, into (dy − y (dy · y)) / |x| with y = x / |x|; `dot_C` = dy · y."""
    y_CB = rows_at(x, at_C, valid_C, c_B) * rstd_C[:, None]
    dx_CB = (rows_at(dx, at_C, valid_C, c_B) - y_CB * dot_C[:, None]) * rstd_C[:, None]
    tl.store(dx + (at_C[:, None] + c_B[None, :]), dx_CB, mask=valid_C[:, None])


@triton.jit
def gradients(
    q, k, gate, beta, A_log, bias, chunks, states, dstates, deltas, do, dv, dq, dk, dgate, dbeta, dA, dbias, T, H,
    lower_bound, scale, K: tl.constexpr, V: tl.constexpr, C: tl.constexpr, dtype: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Writes dq, dk, dgate [T, H, K], dbeta [T, H] and the chunk's parts of dA [N, H] and dbias [N, H, K]."""
    h, n = tl.program_id(0), tl.program_id(1)
    start, rows = tl.load(chunks + 2 * n).to(tl.int64), tl.load(chunks + 2 * n + 1)
    i_C, c_V = tl.arange(0, C), tl.arange(0, V)
    valid_C = i_C < rows
    ok_C1 = valid_C[:, None]
    place = n.to(tl.int64) * H + h
    first, at_C = start * H * K + h * K, i_C * H * K
    q, k, gate, dq, dk, dgate = q + first, k + first, gate + first, dq + first, dk + first, dgate + first
    first_v, at_CV = start * H * V + h * V, i_C[:, None] * H * V + c_V[None, :]
    do, dv, deltas = do + first_v, dv + first_v, deltas + (h.to(tl.int64) * T + start) * V
    states, dstates = states + place * K * V, dstates + place * K * V
    beta, dbeta = beta + start * H + h, dbeta + start * H + h
    do_CV = tl.load(do + at_CV, mask=ok_C1, other=0.0)
    dv_CV = tl.load(dv + at_CV, mask=ok_C1, other=0.0)
    delta_CV = tl.load(deltas + (i_C[:, None] * V + c_V[None, :]), mask=ok_C1, other=0.0)
    dqk_CC = tl.dot(do_CV, tl.trans(delta_CV), input_precision=PRECISION)
    dkk_CC = -tl.dot(dv_CV, tl.trans(delta_CV), input_precision=PRECISION)
    own_C = tl.sum(do_CV.to(tl.float32) * delta_CV.to(tl.float32), 1)
    beta_C = tl.sigmoid(tl.load(beta + i_C * H, mask=valid_C, other=0.0).to(tl.float32))
    dot_C = tl.sum(dv_CV.to(tl.float32) * delta_CV.to(tl.float32), 1)
    dbeta_C = dot_C / tl.maximum(beta_C, 1e-30) * (1 - beta_C)  # β = 0 leaves no delta
    tl.store(dbeta + i_C * H, dbeta_C, mask=valid_C)

    rstd_q_C, rstd_k_C = rstd_of(q, at_C, valid_C, K), rstd_of(k, at_C, valid_C, K)
    A = tl.exp(tl.minimum(tl.load(A_log + h).to(tl.float32), 60.0))
    dot_q_C, dot_k_C, dA_C = tl.zeros([C], tl.float32), tl.zeros([C], tl.float32), tl.zeros([C], tl.float32)
    for block in tl.range(K // BLOCK, num_stages=1):  # unrolled, its loads would be hoisted and registers spill
        c_B = block * BLOCK + tl.arange(0, BLOCK)
        bias_B = tl.load(bias + h * K + c_B).to(tl.float32)
        g_CB, s_CB, z_CB = log2_decay(gate, bias_B, A, at_C, valid_C, c_B, lower_bound)
        q_CB = rows_at(q, at_C, valid_C, c_B) * (rstd_q_C * scale)[:, None]
        k_CB = rows_at(k, at_C, valid_C, c_B) * rstd_k_C[:, None]
        at_BV = c_B[:, None] * V + c_V[None, :]
        dq_CB, dk_CB, dg_CB = _channels(
            q_CB, k_CB, tl.cumsum(g_CB, 0), tl.sum(g_CB, 0), tl.load(states + at_BV), tl.load(dstates + at_BV), do_CV,
            dv_CV, delta_CV, dqk_CC, dkk_CC, own_C, C, dtype, PRECISION,
        )  # fmt: skip
        # s (1 − s) first: it is 0 where the gate is saturated, and e^A may be huge.
        dz_CB = tl.where(ok_C1, dg_CB * (s_CB * (1 - s_CB) * A * lower_bound), 0.0)
        at_CB = at_C[:, None] + c_B[None, :]
        tl.store(dgate + at_CB, dz_CB, mask=ok_C1)
        tl.store(dbias + place * K + c_B, tl.sum(dz_CB, 0))
        tl.store(dq + at_CB, dq_CB * scale, mask=ok_C1)
        tl.store(dk + at_CB, dk_CB, mask=ok_C1)
        dA_C += tl.sum(dz_CB * z_CB, 1)
        dot_q_C += tl.sum(dq_CB * q_CB, 1)  # the scale of q_CB makes up for the one that dq_CB lacks
        dot_k_C += tl.sum(dk_CB * k_CB, 1)
    tl.store(dA + place, tl.sum(dA_C, 0))
    tl.debug_barrier()  # what other threads stored is read next
    for block in tl.range(K // BLOCK, num_stages=1):
        c_B = block * BLOCK + tl.arange(0, BLOCK)
        _norm_gradient(dq, q, dot_q_C, rstd_q_C, at_C, valid_C, c_B)
        _norm_gradient(dk, k, dot_k_C, rstd_k_C, at_C, valid_C, c_B)
