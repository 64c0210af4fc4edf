"""The two passes of KDA along a document for Hopper: the recurrences of `triton_scan`; states stay in registers.

States are held with columns of V as rows, [B, K]: so they, the deltas and their gradients are left operands of products
straight from registers, and a chunk's factors, brought in one chunk ahead, are all that passes through shared memory.
Saved states and their gradients are [N, H, V, K], deltas [N, H, V, C].
D documents, T tokens in the row, H heads, N chunks, C = 64 rows a chunk, K key width, V value width, B = 16 · WARPS
columns of V a program.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait

from trivium.kernels.kda.gluon_decay import bring, bring_line, copy_layout, mma_layout, operand

__all__ = ["scan_backward", "scan_forward"]


@gluon.jit
def _bring_chunk(
    buffers, factors, x, i, start, stop, first, T, H, h, column, V: gl.constexpr, K: gl.constexpr, C: gl.constexpr,
    WARPS: gl.constexpr, OUTPUT: gl.constexpr, VALUES: gl.constexpr,
):  # fmt: skip
    """Begin to bring chunk `i`: kg, kt, solve, β, decay; OUTPUT: qg, scores; VALUES: B columns of x [T, H, V]."""
    kg_s, qg_s, kt_s, scores_s, solve_s, x_s, beta_s, decay_s = buffers
    kg, qg, kt, scores, solve, beta, decay = factors
    t = (start + i * C).to(gl.int64)
    rows = stop - start - i * C
    head = h.to(gl.int64) * T + t
    bring(kg_s.index(i % 2), kg + head * K, K, rows, C, K, WARPS)
    if VALUES:
        bring(x_s.index(i % 2), x + (t * H + h) * V + column, H * V, rows, C, 16 * WARPS, WARPS)
    bring(solve_s.index(i % 2), solve + head * C, C, rows, C, C, WARPS)
    bring(kt_s.index(i % 2), kt + head * K, K, rows, C, K, WARPS)
    if OUTPUT:
        bring(qg_s.index(i % 2), qg + head * K, K, rows, C, K, WARPS)
        bring(scores_s.index(i % 2), scores + head * C, C, rows, C, C, WARPS)
    bring_line(beta_s.index(i % 2), beta + head, rows, C, WARPS)
    bring_line(decay_s.index(i % 2), decay + ((first + i).to(gl.int64) * H + h) * K, K, K, WARPS)
    async_copy.commit_group()


@gluon.jit
def _buffers(K: gl.constexpr, C: gl.constexpr, WARPS: gl.constexpr, OUTPUT: gl.constexpr, VALUES: gl.constexpr):
    kg = gl.allocate_shared_memory(gl.bfloat16, [2, C, K], operand(K))
    kt = gl.allocate_shared_memory(gl.bfloat16, [2, C, K], operand(K))
    solve = gl.allocate_shared_memory(gl.bfloat16, [2, C, C], operand(C))
    qg, scores, x = kg, solve, kg
    if VALUES:
        x = gl.allocate_shared_memory(gl.bfloat16, [2, C, 16 * WARPS], operand(16 * WARPS))
    if OUTPUT:
        qg = gl.allocate_shared_memory(gl.bfloat16, [2, C, K], operand(K))
        scores = gl.allocate_shared_memory(gl.bfloat16, [2, C, C], operand(C))
    line: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    beta = gl.allocate_shared_memory(gl.float32, [2, C], line)
    decay = gl.allocate_shared_memory(gl.float32, [2, K], line)
    return kg, qg, kt, scores, solve, x, beta, decay


@gluon.jit
def _lines(beta, decay, LC: gl.constexpr, LK: gl.constexpr):
    """β of a chunk's rows and its whole decay, for columns of accumulators."""
    return beta.load(gl.SliceLayout(0, LC)), decay.load(gl.SliceLayout(0, LK))


@gluon.jit
def _store(x, y_BN, stride, rows, N: gl.constexpr, WARPS: gl.constexpr):
    """Write [B, N], the rows `stride` apart, `rows` of them, 16 bytes at a time."""
    L: gl.constexpr = copy_layout(N, WARPS)
    i_B = gl.arange(0, y_BN.shape[0], gl.SliceLayout(1, L))
    at = (i_B * stride)[:, None] + gl.arange(0, N, gl.SliceLayout(0, L))[None, :]
    gl.store(x + at, gl.convert_layout(y_BN, L), (i_B < rows)[:, None] & (at >= 0))


@gluon.jit(do_not_specialize=["T"])
def scan_forward(
    v, kg, qg, kt, scores, solve, beta, decay, documents, initial, final, o, states, deltas, T, H, V: gl.constexpr,
    K: gl.constexpr, C: gl.constexpr, WARPS: gl.constexpr, OUTPUT: gl.constexpr, SAVE: gl.constexpr,
    TRANSITION: gl.constexpr, HAS_INITIAL: gl.constexpr, HAS_FINAL: gl.constexpr,
):  # fmt: skip
    """OUTPUT writes o [T, H, V]; SAVE writes the states entering chunks and deltas.

    TRANSITION: v is 0 and the initial state is the identity, so the final one is what the document does to it.
    """
    B: gl.constexpr = 16 * WARPS
    LK: gl.constexpr = mma_layout(B, K, WARPS)
    LC: gl.constexpr = mma_layout(B, C, WARPS)
    left: gl.constexpr = gl.DotOperandLayout(0, LC, 2)
    left_k: gl.constexpr = gl.DotOperandLayout(0, LK, 2)
    column, h = gl.program_id(0) * B, gl.program_id(1)
    d = documents + 4 * gl.program_id(2)
    document, start, stop, first = gl.load(d), gl.load(d + 1), gl.load(d + 2), gl.load(d + 3)
    c_K = gl.arange(0, K, gl.SliceLayout(0, LK))
    at_BK = (column + gl.arange(0, B, gl.SliceLayout(1, LK)))[:, None] + (c_K * V)[None, :]
    state = (document.to(gl.int64) * H + h) * K * V
    S_BK = gl.zeros([B, K], gl.float32, LK)
    if TRANSITION:
        column_B = column + gl.arange(0, B, gl.SliceLayout(1, LK))
        S_BK += gl.where(column_B[:, None] == c_K[None, :], 1.0, 0.0)
    if HAS_INITIAL:
        S_BK += gl.load(initial + state + at_BK).to(gl.float32)
    zero = gl.zeros([B, C], gl.float32, LC)
    buffers = _buffers(K, C, WARPS, OUTPUT, not TRANSITION)
    kg_s, qg_s, kt_s, scores_s, solve_s, v_s, beta_s, decay_s = buffers
    factors = (kg, qg, kt, scores, solve, beta, decay)
    _bring_chunk(buffers, factors, v, 0, start, stop, first, T, H, h, column, V, K, C, WARPS, OUTPUT, not TRANSITION)
    chunks = gl.cdiv(stop - start, C)
    for i in range(chunks):
        place = (first + i).to(gl.int64) * H + h
        S_low = S_BK.to(gl.bfloat16)
        S_left = gl.convert_layout(S_low, left)
        if SAVE:
            _store(states + (place * V + column) * K, S_low, K, B, K, WARPS)
        async_copy.wait_group(0)
        fence_async_shared()
        gl.thread_barrier()  # this chunk is here for all, and all have left the buffers of the one before
        if i + 1 < chunks:
            _bring_chunk(
                buffers, factors, v, i + 1, start, stop, first, T, H, h, column, V, K, C, WARPS, OUTPUT, not TRANSITION
            )
        solve_t = solve_s.index(i % 2).permute((1, 0))
        value_BC = zero
        if not TRANSITION:
            value_BC = -gl.convert_layout(v_s.index(i % 2).permute((1, 0)).load(left).to(gl.float32), LC)
        delta_BC = warpgroup_mma(S_left, kg_s.index(i % 2).permute((1, 0)), value_BC, is_async=True)
        if OUTPUT:
            o_BC = warpgroup_mma(S_left, qg_s.index(i % 2).permute((1, 0)), zero, use_acc=False, is_async=True)
            delta_BC = warpgroup_mma_wait(1, (delta_BC,))
        else:
            delta_BC = warpgroup_mma_wait(0, (delta_BC,))
        beta_C, decay_K = _lines(beta_s.index(i % 2), decay_s.index(i % 2), LC, LK)
        delta_BC *= -beta_C[None, :]  # β (v − P), which its own row takes unrounded
        r_left = gl.convert_layout(delta_BC.to(gl.bfloat16), left)
        delta_BC = warpgroup_mma(r_left, solve_t, delta_BC, is_async=True)
        S_BK *= decay_K[None, :]
        if OUTPUT:
            delta_BC, o_BC, r_left, S_left = warpgroup_mma_wait(0, (delta_BC, o_BC, r_left, S_left))
        else:
            delta_BC, r_left, S_left = warpgroup_mma_wait(0, (delta_BC, r_left, S_left))
        delta_low = delta_BC.to(gl.bfloat16)
        delta_left = gl.convert_layout(delta_low, left_k)
        S_BK = warpgroup_mma(delta_left, kt_s.index(i % 2), S_BK, is_async=True)
        if OUTPUT:
            delta_o = gl.convert_layout(delta_low, left)
            scores_t = scores_s.index(i % 2).permute((1, 0))
            o_BC = warpgroup_mma(delta_o, scores_t, o_BC, is_async=True)
            S_BK, o_BC, delta_left, delta_o = warpgroup_mma_wait(0, (S_BK, o_BC, delta_left, delta_o))
            t = (start + i * C).to(gl.int64)
            _store(
                o + (t * H + h) * V + column,
                o_BC.to(gl.bfloat16).permute((1, 0)),
                H * V,
                stop - start - i * C,
                B,
                WARPS,
            )
        else:
            S_BK, delta_left = warpgroup_mma_wait(0, (S_BK, delta_left))
        if SAVE:
            _store(deltas + (place * V + column) * C, delta_low, C, B, C, WARPS)
    if HAS_FINAL:
        gl.store(final + state + at_BK, S_BK)


@gluon.jit(do_not_specialize=["T"])
def scan_backward(
    do, kg, qg, kt, scores, solve, beta, decay, documents, deltas, dfinal, dinitial, dv, dstates, dots, T, H,
    V: gl.constexpr, K: gl.constexpr, C: gl.constexpr, WARPS: gl.constexpr, SAVE: gl.constexpr, HAS_FINAL: gl.constexpr,
    HAS_INITIAL: gl.constexpr,
):  # fmt: skip
    """From the last chunk to the first.

    SAVE writes dv [T, H, V], the gradients of the states that leave chunks, and the program's share of dv · delta / β
    [V / B, H, T], from a gradient that was not rounded yet.
    """
    B: gl.constexpr = 16 * WARPS
    LK: gl.constexpr = mma_layout(B, K, WARPS)
    LC: gl.constexpr = mma_layout(B, C, WARPS)
    left: gl.constexpr = gl.DotOperandLayout(0, LC, 2)
    left_k: gl.constexpr = gl.DotOperandLayout(0, LK, 2)
    column, h = gl.program_id(0) * B, gl.program_id(1)
    d = documents + 4 * gl.program_id(2)
    document, start, stop, first = gl.load(d), gl.load(d + 1), gl.load(d + 2), gl.load(d + 3)
    c_K = gl.arange(0, K, gl.SliceLayout(0, LK))
    at_BK = (column + gl.arange(0, B, gl.SliceLayout(1, LK)))[:, None] + (c_K * V)[None, :]
    state = (document.to(gl.int64) * H + h) * K * V
    dS_BK = gl.zeros([B, K], gl.float32, LK)
    if HAS_FINAL:
        dS_BK += gl.load(dfinal + state + at_BK).to(gl.float32)
    zero = gl.zeros([B, C], gl.float32, LC)
    buffers = _buffers(K, C, WARPS, True, True)
    kg_s, qg_s, kt_s, scores_s, solve_s, do_s, beta_s, decay_s = buffers
    factors = (kg, qg, kt, scores, solve, beta, decay)
    delta_s = do_s
    if SAVE:
        delta_s = gl.allocate_shared_memory(gl.bfloat16, [2, B, C], operand(C))
    chunks = gl.cdiv(stop - start, C)
    if SAVE:
        last = (first + chunks - 1).to(gl.int64) * H + h
        bring(delta_s.index((chunks - 1) % 2), deltas + (last * V + column) * C, C, B, B, C, WARPS)
    _bring_chunk(buffers, factors, do, chunks - 1, start, stop, first, T, H, h, column, V, K, C, WARPS, True, True)
    for back in range(chunks):
        i = chunks - 1 - back
        place = (first + i).to(gl.int64) * H + h
        dS_low = dS_BK.to(gl.bfloat16)
        dS_left = gl.convert_layout(dS_low, left)
        if SAVE:
            _store(dstates + (place * V + column) * K, dS_low, K, B, K, WARPS)
        async_copy.wait_group(0)
        fence_async_shared()
        gl.thread_barrier()
        if i > 0:
            if SAVE:
                before = deltas + ((place - H) * V + column) * C
                bring(delta_s.index((i - 1) % 2), before, C, B, B, C, WARPS)
            _bring_chunk(buffers, factors, do, i - 1, start, stop, first, T, H, h, column, V, K, C, WARPS, True, True)
        do_t = do_s.index(i % 2).permute((1, 0))
        ddelta_BC = warpgroup_mma(do_t, scores_s.index(i % 2), zero, use_acc=False, is_async=True)
        ddelta_BC = warpgroup_mma(dS_left, kt_s.index(i % 2).permute((1, 0)), ddelta_BC, is_async=True)
        beta_C, decay_K = _lines(beta_s.index(i % 2), decay_s.index(i % 2), LC, LK)
        dS_BK *= decay_K[None, :]
        dS_BK = warpgroup_mma(do_t, qg_s.index(i % 2), dS_BK, is_async=True)
        ddelta_BC, dS_left = warpgroup_mma_wait(1, (ddelta_BC, dS_left))
        ddelta_left = gl.convert_layout(ddelta_BC.to(gl.bfloat16), left)
        dv_BC = warpgroup_mma(ddelta_left, solve_s.index(i % 2), ddelta_BC, is_async=True)
        dv_BC, dS_BK, ddelta_left = warpgroup_mma_wait(0, (dv_BC, dS_BK, ddelta_left))
        if SAVE:
            dot_C = gl.sum(dv_BC * delta_s.index(i % 2).load(LC).to(gl.float32), 0)
        dv_BC *= beta_C[None, :]
        dv_left = gl.convert_layout((-dv_BC).to(gl.bfloat16), left_k)
        dS_BK = warpgroup_mma(dv_left, kg_s.index(i % 2), dS_BK, is_async=True)
        if SAVE:
            t, rows = (start + i * C).to(gl.int64), stop - start - i * C
            _store(dv + (t * H + h) * V + column, dv_BC.to(gl.bfloat16).permute((1, 0)), H * V, rows, B, WARPS)
            i_C = gl.arange(0, C, gl.SliceLayout(0, LC))
            gl.store(dots + (gl.program_id(0) * H + h).to(gl.int64) * T + t + i_C, dot_C, i_C < rows)
        dS_BK, dv_left = warpgroup_mma_wait(0, (dS_BK, dv_left))
    if HAS_INITIAL:
        gl.store(dinitial + state + at_BK, dS_BK)
