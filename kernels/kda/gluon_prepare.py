"""What a chunk of KDA needs before any state, for Hopper: the results of `triton_prepare`, from fewer instructions.

Scores of a tile of rows with a tile of columns d tiles before it: rows take `rise` of their own tile, columns `fall` of
theirs times the leaps between; so one operand serves all rows, and four serve the columns (d = 0 … 3).
T tokens in the row, H heads, N chunks, C = 64 rows a chunk, J tiles, K key width.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait

from trivium.kernels.kda.gluon_decay import (
    LOG2_E,
    channels_of,
    chunk_layout,
    decay_of,
    exp2,
    mma_layout,
    operand,
    reciprocal,
    rows_of,
    rstd_of,
    sigmoid,
    sums_around,
    tile_table,
    totals_of,
)

__all__ = ["prepare"]


@gluon.jit
def _halves(x_RN):
    """The left and the right columns; registers change their names only."""
    return x_RN.reshape([x_RN.shape[0], 2, x_RN.shape[1] // 2]).permute((0, 2, 1)).split()


@gluon.jit
def _beside(a_RN, b_RN):
    return gl.join(a_RN, b_RN).permute((0, 2, 1)).reshape([a_RN.shape[0], 2 * a_RN.shape[1]])


@gluon.jit
def _product(x_RK, y_NK, R: gl.constexpr, N: gl.constexpr, WARPS: gl.constexpr):
    zero = gl.zeros([R, N], gl.float32, mma_layout(R, N, WARPS))
    return warpgroup_mma(x_RK, y_NK.permute((1, 0)), zero, use_acc=False, is_async=True)


@gluon.jit
def _scores(operands, columns, C: gl.constexpr, L: gl.constexpr, WARPS: gl.constexpr):
    """Scores of the rows of `operands` with those of their chunk, from products with the columns of each distance."""
    R: gl.constexpr = operands.shape[0]
    near = _product(operands, columns.slice(0, 2 * C), R, 2 * C, WARPS)
    far = _product(operands, columns.slice(2 * C, 32), R, 32, WARPS)
    c30 = _product(operands, columns.slice(3 * C, 16), R, 16, WARPS)
    near, far, c30 = warpgroup_mma_wait(0, (near, far, c30))
    own, next = _halves(near)
    own_l, own_r = _halves(own)
    next_l, next_r = _halves(next)
    c00, c11 = _halves(own_l)  # from here on: row of the tile, column of the tile
    c22, c33 = _halves(own_r)
    c10, c21 = _halves(next_l)
    c32, _ = _halves(next_r)
    c20, c31 = _halves(far)
    S: gl.constexpr = c00.type.layout
    c20, c31, c30 = gl.convert_layout(c20, S, True), gl.convert_layout(c31, S, True), gl.convert_layout(c30, S, True)
    tile_R1 = (gl.arange(0, R, gl.SliceLayout(1, S)) % C // 16)[:, None]
    c0 = gl.where(tile_R1 == 0, c00, gl.where(tile_R1 == 1, c10, gl.where(tile_R1 == 2, c20, c30)))
    c1 = gl.where(tile_R1 == 1, c11, gl.where(tile_R1 == 2, c21, c31))
    c2 = gl.where(tile_R1 == 2, c22, c32)
    return gl.convert_layout(_beside(_beside(c0, c1), _beside(c2, c33)), L, True)


@gluon.jit(do_not_specialize=["T"])
def prepare(
    q, k, gate, beta, A_log, bias, chunks, kg, qg, kt, pair, opened, decay, T, H, lower_bound, scale,
    K: gl.constexpr, C: gl.constexpr, WARPS: gl.constexpr,
):  # fmt: skip
    """kg = k e^G, qg = scale q e^G, kt = k e^(G_C − G): [H, T, K]; pair: scores, β A [2, H, T, C]; opened: β [H, T]."""
    E: gl.constexpr = chunk_layout(K, WARPS)
    S: gl.constexpr = gl.SliceLayout(1, E)
    h, n = gl.program_id(0), gl.program_id(1)
    start, rows = gl.load(chunks + 2 * n).to(gl.int64), gl.load(chunks + 2 * n + 1)
    row_JR, c_K = rows_of(K, WARPS), channels_of(K, WARPS)
    valid_JR = row_JR < rows
    mask, c_11K = valid_JR[:, :, None], c_K[None, None, :]
    at_JRK = (row_JR * (H * K))[:, :, None] + c_11K
    first = start * H * K + h * K
    A = gl.exp(gl.minimum(gl.load(A_log + h).to(gl.float32), 60.0))
    bias_K = gl.load(bias + h * K + c_K).to(gl.float32)
    gate_JRK = gl.load(gate + first + at_JRK, mask, 0.0)
    q_JRK, k_JRK = gl.load(q + first + at_JRK, mask, 0.0), gl.load(k + first + at_JRK, mask, 0.0)
    c_JRK, _, _ = decay_of(gate_JRK.to(gl.float32), bias_K, A, valid_JR)
    bound = lower_bound * LOG2_E
    offset = -8.0 * bound
    rise_JRK = exp2(c_JRK * bound + offset)
    leaps = tile_table(totals_of(c_JRK, K, WARPS) * bound, K)
    tile_J1 = gl.arange(0, 4, gl.SliceLayout(1, S))[:, None]
    before_JK, after_JK = sums_around(leaps, tile_J1, K, WARPS)
    whole_JK = exp2(before_JK + after_JK)
    gl.store(decay + (n.to(gl.int64) * H + h) * K + c_K[None, :] + tile_J1 * 0, whole_JK, tile_J1 == 0)

    out_JRK = (row_JR * K)[:, :, None] + c_11K
    head = h.to(gl.int64) * T + start
    kg, qg, kt = kg + head * K, qg + head * K, kt + head * K
    grown_JRK = exp2(before_JK - offset)[:, None, :]
    operands = gl.allocate_shared_memory(gl.bfloat16, [2 * C, K], operand(K))
    x_JRK = q_JRK.to(gl.float32)
    x_JRK *= (rstd_of(x_JRK) * scale)[:, :, None] * rise_JRK
    operands.slice(0, C).store(x_JRK.to(gl.bfloat16).reshape([C, K]))
    gl.store(qg + out_JRK, (x_JRK * grown_JRK).to(gl.bfloat16), mask)
    x_JRK = k_JRK.to(gl.float32)
    x_JRK *= rstd_of(x_JRK)[:, :, None]
    up_JRK = x_JRK * rise_JRK
    operands.slice(C, C).store(up_JRK.to(gl.bfloat16).reshape([C, K]))
    gl.store(kg + out_JRK, (up_JRK * grown_JRK).to(gl.bfloat16), mask)
    down_JRK = x_JRK * reciprocal(rise_JRK)
    gl.store(kt + out_JRK, (down_JRK * exp2(after_JK + offset)[:, None, :]).to(gl.bfloat16), mask)

    # Columns for rows d tiles behind them, d = 0 … 3; the last d tiles have no such rows.
    columns = gl.allocate_shared_memory(gl.bfloat16, [256, K], operand(K))
    for d in gl.static_range(4):
        columns.slice(C * d, C).store(down_JRK.to(gl.bfloat16).reshape([C, K]))
        if d < 3:
            leap_JK = gl.zeros([4, K], gl.float32, S)
            for j in gl.static_range(3 - d):
                leap_JK = gl.where(tile_J1 == j, leaps.slice(j + d, 1).load(S), leap_JK)
            down_JRK *= exp2(leap_JK)[:, None, :]
    fence_async_shared()
    L: gl.constexpr = mma_layout(2 * C, C, WARPS)
    score_RC = _scores(operands, columns, C, L, WARPS)
    i_R, j_C = gl.arange(0, 2 * C, gl.SliceLayout(1, L)), gl.arange(0, C, gl.SliceLayout(0, L))

    i_R1, j_1C = (i_R % C)[:, None], j_C[None, :]
    F: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    i_F = gl.arange(0, 2 * C, F) % C
    beta_R = sigmoid(gl.load(beta + start * H + h + i_F * H, i_F < rows, -float("inf")).to(gl.float32))
    gl.store(opened + head + i_F, beta_R, i_F < rows)  # both halves of the rows are the same
    betas = gl.allocate_shared_memory(gl.float32, [2 * C], gl.SwizzledSharedLayout(1, 1, 1, [0]), beta_R)
    beta_R = betas.load(gl.SliceLayout(1, L))
    query_R1 = (i_R < C)[:, None]
    score_RC *= gl.where(query_R1, 1.0, beta_R[:, None])
    score_RC = gl.where((i_R1 > j_1C) | ((i_R1 == j_1C) & query_R1), score_RC, 0.0)
    # The two halves differ in their 16 bits: the scores go on as bf16, the system as fp16.
    low_RC = gl.where(
        query_R1,
        score_RC.to(gl.bfloat16).to(gl.int16, bitcast=True),
        score_RC.to(gl.float16).to(gl.int16, bitcast=True),
    )
    OUT: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [WARPS, 1], [1, 0])
    i_R, j_C = gl.arange(0, 2 * C, gl.SliceLayout(1, OUT)), gl.arange(0, C, gl.SliceLayout(0, OUT))
    out_R = (i_R // C).to(gl.int64) * H * T * C + (head + i_R % C) * C
    gl.store(pair + out_R[:, None] + j_C[None, :], gl.convert_layout(low_RC, OUT), (i_R % C < rows)[:, None])


@gluon.jit(do_not_specialize=["T"])
def invert(chunks, pair, T, H, C: gl.constexpr):
    """The system A of a chunk, strictly lower, becomes (I + A)^−1 − I: fp16 in, bf16 out, in the same place.

    Inverted blocks are doubled five times, a stable way; no entry exceeds 1 for a delta rule, so that fp16 is safe and
    as exact as TF32. Block (i, j) of X A X with a block-diagonal X is X_i A_ij X_j: a mask on the product is all that a
    level needs.
    """
    L: gl.constexpr = mma_layout(C, C, 4)
    D: gl.constexpr = gl.DotOperandLayout(0, L, 2)
    OUT: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    h, n = gl.program_id(0), gl.program_id(1)
    start, rows = gl.load(chunks + 2 * n).to(gl.int64), gl.load(chunks + 2 * n + 1)
    i_C, j_C = gl.arange(0, C, gl.SliceLayout(1, OUT)), gl.arange(0, C, gl.SliceLayout(0, OUT))
    pair += (H + h).to(gl.int64) * T * C + start * C + (i_C * C)[:, None] + j_C[None, :]
    valid_C1 = (i_C < rows)[:, None]
    A = gl.allocate_shared_memory(gl.float16, [C, C], operand(C))
    A.store(gl.load(pair, valid_C1, 0).to(gl.float16, bitcast=True))
    i_C1, j_1C = gl.arange(0, C, gl.SliceLayout(1, L))[:, None], gl.arange(0, C, gl.SliceLayout(0, L))[None, :]
    X_CC = gl.where(i_C1 == j_1C, 1.0, 0.0)
    X_CC -= gl.where((i_C1 >> 1 == j_1C >> 1) & (i_C1 > j_1C), A.load(L).to(gl.float32), 0.0)
    X = gl.allocate_shared_memory(gl.float16, [C, C], operand(C))
    zero = gl.zeros_like(X_CC)
    for level in gl.static_range(1, 6):
        low_CC = X_CC.to(gl.float16)
        X.store(low_CC)
        fence_async_shared()
        left_CC = warpgroup_mma(gl.convert_layout(low_CC, D), A, zero, use_acc=False)
        left_CC = warpgroup_mma(gl.convert_layout(left_CC.to(gl.float16), D), X, zero, use_acc=False)
        below = (i_C1 >> level + 1 == j_1C >> level + 1) & (i_C1 >> level > j_1C >> level)
        X_CC -= gl.where(below, left_CC, 0.0)
    low_CC = gl.where(i_C1 == j_1C, 0.0, X_CC).to(gl.bfloat16).to(gl.int16, bitcast=True)
    gl.store(pair, gl.convert_layout(low_CC, OUT), valid_C1)
