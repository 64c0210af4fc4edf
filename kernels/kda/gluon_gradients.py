"""All gradients of a chunk of KDA for Hopper, once the states and their gradients are known: the results of
`triton_gradients`, one program a chunk and head (408 bytes of its stack at K = 128: kernels/README.md counts them).

The sums over tiles of rows and columns go by Horner's rule: an accumulator counts its decay from the beginning of one
tile, takes that tile's product, and leaps to the next. So plain `rise` and `fall` serve as operands, and one triangle
of score gradients, never masked by level. Keys are stored with their sign turned for the sum over rows.
The formulas are those of `torch_backward`, chunk by chunk (Kimi Linear, arXiv 2510.26692, section 3).
T tokens in the row, H heads, N chunks, C = 64 rows a chunk, J tiles, K = V head width.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma

from trivium.kernels.kda.gluon_decay import (
    LOG2_E,
    add,
    bring,
    channels_of,
    chunk_layout,
    copy_layout,
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

__all__ = ["gradients"]


@gluon.jit
def _copy(x, stride, rows, ROWS: gl.constexpr, COLUMNS: gl.constexpr, WARPS: gl.constexpr):
    """Begin to bring [ROWS, COLUMNS] into shared memory; rows from `rows` on are 0."""
    here = gl.allocate_shared_memory(gl.bfloat16, [ROWS, COLUMNS], operand(COLUMNS))
    bring(here, x, stride, rows, ROWS, COLUMNS, WARPS)
    return here


@gluon.jit
def _triangle(score_CC, C: gl.constexpr, L: gl.constexpr):
    """(diagonal; what lies below it, by columns and by rows) of score gradients: tiles of either are 16 rows."""
    i_C1, j_1C = gl.arange(0, C, gl.SliceLayout(1, L))[:, None], gl.arange(0, C, gl.SliceLayout(0, L))[None, :]
    own_C = gl.sum(gl.where(i_C1 == j_1C, score_CC, 0.0), 1)
    low_CC = gl.where(i_C1 > j_1C, score_CC, 0.0).to(gl.bfloat16)
    by_rows = gl.allocate_shared_memory(gl.bfloat16, [C, C], operand(C), low_CC)
    by_columns = gl.allocate_shared_memory(gl.bfloat16, [C, C], operand(C), low_CC.permute((1, 0)))
    return own_C, by_columns, by_rows


@gluon.jit
def _leap(sum_CK, leaps, TILE: gl.constexpr, LATER: gl.constexpr, C: gl.constexpr, L: gl.constexpr):
    """Rows of tiles behind TILE (LATER) or up to it go on by its whole decay."""
    tile_C1 = (gl.arange(0, C, gl.SliceLayout(1, L)) // 16)[:, None]
    leap_1K = leaps.slice(TILE, 1).load(L)
    return sum_CK * gl.where((tile_C1 > TILE) if LATER else (tile_C1 <= TILE), leap_1K, 1.0)


@gluon.jit
def _spread(x_C, C: gl.constexpr, K: gl.constexpr, WARPS: gl.constexpr):
    """A value a row, from an accumulator's rows to [4, 16]."""
    table = gl.allocate_shared_memory(
        gl.float32, [4, 16], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]), x_C.reshape([4, 16])
    )
    return table.load(gl.SliceLayout(2, chunk_layout(K, WARPS)))


@gluon.jit
def _operand(x_CK, K: gl.constexpr, WARPS: gl.constexpr):
    """An operand as it was rounded for products, back in the layout of the chunk."""
    B: gl.constexpr = gl.BlockedLayout([4, K // (2 * WARPS)], [4, 8], [4, WARPS // 4], [1, 0])
    x_JRK = x_CK.load(B).to(gl.float32).reshape([4, 16, K])
    return gl.convert_layout(x_JRK, chunk_layout(K, WARPS), True)


@gluon.jit
def _rows_sum(
    d_CV, S_VK, triangle, column_CK, leaps, shrink, C: gl.constexpr, K: gl.constexpr, L: gl.constexpr, E: gl.constexpr
):
    """What a row's gradient gathers from the state and from the columns before it, to be multiplied by `rise`."""
    sum_CK = warpgroup_mma(d_CV, S_VK, gl.zeros([C, K], gl.float32, L), use_acc=False) * shrink
    for j in gl.static_range(4):
        if j:
            sum_CK = _leap(sum_CK, leaps, j - 1, True, C, L)
        sum_CK = warpgroup_mma(triangle.slice(16 * j, 16).permute((1, 0)), column_CK.slice(16 * j, 16), sum_CK)
    return gl.convert_layout(sum_CK.reshape([4, 16, K]), E)


@gluon.jit(do_not_specialize=["T"])
def gradients(
    q, k, gate, beta, A_log, bias, chunks, states, dstates, deltas, do, dv, dots, dq, dk, dgate, dbeta, dA, dbias, T,
    H, lower_bound, scale, K: gl.constexpr, C: gl.constexpr, WARPS: gl.constexpr,
):  # fmt: skip
    """Writes dq, dk, dgate [T, H, K], dbeta [T, H] and the chunk's parts of dA [N, H] and dbias [N, H, K]."""
    E: gl.constexpr = chunk_layout(K, WARPS)
    S: gl.constexpr = gl.SliceLayout(1, E)
    L: gl.constexpr = mma_layout(C, K, WARPS)
    LC: gl.constexpr = mma_layout(C, C, WARPS)
    h, n = gl.program_id(0), gl.program_id(1)
    start, rows = gl.load(chunks + 2 * n).to(gl.int64), gl.load(chunks + 2 * n + 1)
    place = n.to(gl.int64) * H + h
    first = start * H * K + h * K
    do_CV = _copy(do + first, H * K, rows, C, K, WARPS)
    dv_CV = _copy(dv + first, H * K, rows, C, K, WARPS)
    delta_VC = _copy(deltas + place * K * C, C, K, K, C, WARPS)
    async_copy.commit_group()
    S_VK = _copy(states + place * K * K, K, K, K, K, WARPS)
    dS_VK = _copy(dstates + place * K * K, K, K, K, K, WARPS)
    async_copy.commit_group()
    row_JR, c_K = rows_of(K, WARPS), channels_of(K, WARPS)
    valid_JR = row_JR < rows
    mask = valid_JR[:, :, None]
    at_JRK = (row_JR * (H * K))[:, :, None] + c_K[None, None, :]
    q, k, gate, dq, dk, dgate = q + first, k + first, gate + first, dq + first, dk + first, dgate + first
    A = gl.exp(gl.minimum(gl.load(A_log + h).to(gl.float32), 60.0))
    bias_K = gl.load(bias + h * K + c_K).to(gl.float32)
    c_JRK, _, _ = decay_of(gl.load(gate + at_JRK, mask, 0.0).to(gl.float32), bias_K, A, valid_JR)
    bound = lower_bound * LOG2_E
    offset = -8.0 * bound
    rise_JRK = exp2(c_JRK * bound + offset)
    total_JK = totals_of(c_JRK, K, WARPS) * bound
    sums, leaps = tile_table(total_JK, K), tile_table(exp2(total_JK), K)
    x_JRK = gl.load(q + at_JRK, mask, 0.0).to(gl.float32)
    rstd_q_JR = rstd_of(x_JRK)
    x_JRK *= (rstd_q_JR * scale)[:, :, None] * rise_JRK
    q_CK = gl.allocate_shared_memory(gl.bfloat16, [C, K], operand(K), x_JRK.to(gl.bfloat16).reshape([C, K]))
    x_JRK = gl.load(k + at_JRK, mask, 0.0).to(gl.float32)
    rstd_k_JR = rstd_of(x_JRK)
    x_JRK *= rstd_k_JR[:, :, None]
    k_CK = gl.allocate_shared_memory(
        gl.bfloat16, [C, K], operand(K), (-x_JRK * rise_JRK).to(gl.bfloat16).reshape([C, K])
    )
    x_JRK *= reciprocal(rise_JRK)
    column_CK = gl.allocate_shared_memory(gl.bfloat16, [C, K], operand(K), x_JRK.to(gl.bfloat16).reshape([C, K]))
    async_copy.wait_group(1)
    fence_async_shared()
    zero_CC, zero_CK = gl.zeros([C, C], gl.float32, LC), gl.zeros([C, K], gl.float32, L)
    dqk_CC = warpgroup_mma(do_CV, delta_VC, zero_CC, use_acc=False)
    own_C, dqk_columns, dqk = _triangle(dqk_CC, C, LC)
    dkk_CC = warpgroup_mma(dv_CV, delta_VC, zero_CC, use_acc=False)
    _, dkk_columns, dkk = _triangle(dkk_CC, C, LC)
    i_C = gl.arange(0, C, gl.SliceLayout(1, LC))
    beta_C = sigmoid(gl.load(beta + start * H + h + i_C * H, i_C < rows, 0.0).to(gl.float32))
    dbeta_C = gl.zeros([C], gl.float32, gl.SliceLayout(1, LC))
    for part in gl.static_range(K // 64):
        dbeta_C += gl.load(dots + (part * H + h).to(gl.int64) * T + start + i_C, i_C < rows, 0.0)
    gl.store(dbeta + start * H + h + i_C * H, (dbeta_C * (1 - beta_C)).to(dbeta.dtype.element_ty), i_C < rows)
    async_copy.wait_group(0)
    fence_async_shared()
    # What the chunk's whole decay does: to the state that enters, and (below) to what is written.
    B: gl.constexpr = copy_layout(K, WARPS)
    held_1K = gl.sum(S_VK.load(B).to(gl.float32) * dS_VK.load(B).to(gl.float32), 0).reshape([1, K])
    held = gl.allocate_shared_memory(gl.float32, [1, K], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]), held_1K)
    # A pair of rows enters the decay's gradient twice, with opposite signs: by equal operands, so that nothing is left
    # of it. Keys are taken as rounded for the products; what rounding took of queries is an operand where `do` lay.
    dq_JRK = _rows_sum(do_CV, S_VK, dqk_columns, column_CK, leaps, exp2(-offset), C, K, L, E)
    x_JRK = gl.load(q + at_JRK, mask, 0.0).to(gl.float32) * (rstd_q_JR * scale)[:, :, None] * rise_JRK
    dG_JRK = x_JRK * dq_JRK
    x_JRK -= _operand(q_CK, K, WARPS)
    rest_CK = gl.allocate_shared_memory(gl.bfloat16, [C, K], operand(K), x_JRK.to(gl.bfloat16).reshape([C, K]))
    fence_async_shared()
    dq_JRK *= rise_JRK
    x_JRK = _rows_sum(dv_CV, S_VK, dkk_columns, column_CK, leaps, exp2(-offset), C, K, L, E)
    dG_JRK += _operand(k_CK, K, WARPS) * x_JRK
    dk_JRK = x_JRK * -rise_JRK
    tile_J1 = gl.arange(0, 4, gl.SliceLayout(1, S))[:, None]
    before_JK, after_JK = sums_around(sums, tile_J1, K, WARPS)
    sum_CK = warpgroup_mma(delta_VC.permute((1, 0)), dS_VK, zero_CK, use_acc=False)
    x_JRK = gl.convert_layout(sum_CK.reshape([4, 16, K]), E) * exp2(after_JK + offset)[:, None, :]
    written = tile_table(gl.sum(_operand(column_CK, K, WARPS) * x_JRK, 1), K)
    sum_CK = zero_CK
    for j in gl.static_range(3, -1, -1):
        if j < 3:
            sum_CK = _leap(sum_CK, leaps, j, False, C, L)
        dqk_t = dqk.slice(16 * j, 16).permute((1, 0))
        sum_CK = warpgroup_mma(dqk_t, q_CK.slice(16 * j, 16), sum_CK, is_async=True)
        sum_CK = warpgroup_mma(dqk_t, rest_CK.slice(16 * j, 16), sum_CK, is_async=True)
        sum_CK = warpgroup_mma(dkk.slice(16 * j, 16).permute((1, 0)), k_CK.slice(16 * j, 16), sum_CK)
    x_JRK += gl.convert_layout(sum_CK.reshape([4, 16, K]), E)
    dG_JRK -= _operand(column_CK, K, WARPS) * x_JRK  # once more: held over the sum, it would spill
    dk_JRK += x_JRK * reciprocal(rise_JRK)
    # A row meets itself without decay: kept out of dG, its large equal terms leave no rounding there.
    own_JR1 = _spread(own_C, C, K, WARPS)[:, :, None]
    k_JRK = gl.load(k + at_JRK, mask, 0.0).to(gl.float32) * rstd_k_JR[:, :, None]
    q_JRK = gl.load(q + at_JRK, mask, 0.0).to(gl.float32) * (rstd_q_JR * scale)[:, :, None]
    dq_JRK += own_JR1 * k_JRK
    dk_JRK += own_JR1 * q_JRK
    dot_JR1 = gl.sum(dk_JRK * k_JRK, 2)[:, :, None]
    gl.store(dk + at_JRK, ((dk_JRK - k_JRK * dot_JR1) * rstd_k_JR[:, :, None]).to(gl.bfloat16), mask)
    dot_JR1 = gl.sum(dq_JRK * q_JRK, 2)[:, :, None] / (scale * scale)  # q is scaled here, dq not
    gl.store(dq + at_JRK, ((dq_JRK - q_JRK * dot_JR1) * (rstd_q_JR * scale)[:, :, None]).to(gl.bfloat16), mask)

    # From a row to the chunk's end: the sums of tiles, its own among them, without what lies before the row.
    c_JRK = gl.associative_scan(dG_JRK, 1, add)
    moved = tile_table(totals_of(c_JRK, K, WARPS), K)
    end_1K = held.load(S) * exp2(before_JK + after_JK)
    for j in gl.static_range(4):
        end_1K += written.slice(j, 1).load(S) + gl.where(tile_J1 <= j, moved.slice(j, 1).load(S), 0.0)
    dg_JRK = dG_JRK - c_JRK + end_1K[:, None, :]
    # s (1 − s) first: it is 0 where the gate is saturated, and e^A may be huge.
    _, s_JRK, z_JRK = decay_of(gl.load(gate + at_JRK, mask, 0.0).to(gl.float32), bias_K, A, valid_JR)
    dz_JRK = gl.where(mask, dg_JRK * (s_JRK * (1 - s_JRK) * A * lower_bound), 0.0)
    gl.store(dgate + at_JRK, dz_JRK.to(gl.bfloat16), mask)
    gl.store(dA + place, gl.sum(gl.sum(gl.sum(dz_JRK * z_JRK, 2), 1), 0))
    parts = tile_table(gl.sum(dz_JRK, 1), K)
    dbias_JK = gl.zeros([4, K], gl.float32, S)
    for j in gl.static_range(4):
        dbias_JK += parts.slice(j, 1).load(S)
    gl.store(dbias + place * K + c_K[None, :] + tile_J1 * 0, dbias_JK, tile_J1 == 0)
