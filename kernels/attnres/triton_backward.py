"""Attention Residuals backwards in Triton: the gradients of all sources and of the vectors.

Two ways. `backward` takes whole rows: dots, then gradients, for which the row is read again from the cache. `scalars`
and `columns` do these in two passes over memory, the second without any sum across a row. With g = dy · weight, rstd of
the mixture h, u = h · rstd and dots over a row: dh = rstd (g − u (g · u) / W). The dots of g, of h and of dh with h are
weighted sums of their dots with the sources, so nothing waits for a sum but one. A fixed number of programs each add up
their rows' part of the vectors' gradients, and the parts are added in a fixed order.
N sources, T tokens, W model width, R rows of a program, C columns of a piece; tuples run over pieces or sources.
"""

import triton
import triton.language as tl

from trivium.kernels.attnres.triton_forward import dots, piece, vector

__all__ = ["backward", "columns", "scalars"]


@triton.jit
def _fetch(sources, dy, r_R, ok_R, N: tl.constexpr, W: tl.constexpr, BYTES: tl.constexpr):
    """Asks for these rows' lines of 128 bytes, so that they lie in the L2 cache when they are read."""
    line_L = tl.arange(0, triton.next_power_of_2((W * BYTES + 127) // 128))
    at_RL = (r_R * W)[:, None] + tl.minimum(line_L * (128 // BYTES), W - 1)[None, :]
    at_RL = tl.where(ok_R[:, None], at_RL, 0)
    for i in tl.static_range(N + 1):
        at = (sources[i] if i < N else dy) + at_RL
        tl.inline_asm_elementwise(
            "prefetch.global.L2 [$1]; mov.b32 $0, 0;", "=r,l", [at.to(tl.int64)], tl.int32, is_pure=False, pack=1
        )


@triton.jit
def _read(x, r_R, ok_R, START: tl.constexpr, N: tl.constexpr, STRIDE: tl.constexpr):
    """N numbers of these rows, as a tuple."""
    found = ()
    for i in tl.static_range(N):
        found += (tl.load(x + r_R * STRIDE + START + i, mask=ok_R, other=0.0),)
    return found


@triton.jit
def _softmax(logit, N: tl.constexpr):
    most_R = logit[0]
    for i in tl.static_range(1, N):
        most_R = tl.maximum(most_R, logit[i])
    total_R = most_R * 0
    for i in tl.static_range(N):
        total_R += tl.exp(logit[i] - most_R)
    p = ()
    for i in tl.static_range(N):
        p += (tl.exp(logit[i] - most_R) / total_R,)
    return p


@triton.jit
def _mixed(sources, p, r_R, ok_R, j, N: tl.constexpr, W: tl.constexpr, C: tl.constexpr):
    """(mixture of piece j, the sources' pieces)."""
    v = ()
    for i in tl.static_range(N):
        v += (piece(sources[i], r_R, ok_R, j, W, C),)
    h_RC = v[0].to(tl.float32) * p[0][:, None]
    for i in tl.static_range(1, N):
        h_RC += v[i].to(tl.float32) * p[i][:, None]
    return h_RC, v


@triton.jit
def _all_dots(
    sources, weight, dy, p, r_R, ok_R, NORM: tl.constexpr, N: tl.constexpr, W: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """(v · g, v · h) of every source: two tuples."""
    of_g = ()
    of_h = ()
    for _ in tl.static_range(N):
        of_g += (tl.zeros([R, C], tl.float32),)
        of_h += (tl.zeros([R, C], tl.float32),)
    for j in range((W + C - 1) // C):
        h_RC, v = _mixed(sources, p, r_R, ok_R, j, N, W, C)
        g_RC = piece(dy, r_R, ok_R, j, W, C).to(tl.float32)
        if NORM:
            g_RC *= vector(weight, j, W, C)[None, :]
        g_sums = ()
        h_sums = ()
        for i in tl.static_range(N):
            g_sums += (of_g[i] + v[i].to(tl.float32) * g_RC,)
            h_sums += (of_h[i] + v[i].to(tl.float32) * h_RC,)
        of_g = g_sums
        of_h = h_sums
    vg = ()
    vh = ()
    for i in tl.static_range(N):
        if NORM:
            g_R, h_R = dots(of_g[i], of_h[i])
        else:
            g_R = tl.sum(of_g[i], 1)
            h_R = g_R
        vg += (g_R,)
        vh += (h_R,)
    return vg, vh


@triton.jit
def _scalars(vg, vh, p, rstd, logit, norm_eps, NORM: tl.constexpr, N: tl.constexpr, W: tl.constexpr):
    """(along, shrink, rstd of h, by_g, by_h): dv = p dh + along a − shrink v with dh = by_g g − by_h h."""
    hh_R = p[0] * vh[0]
    hg_R = p[0] * vg[0]
    for i in tl.static_range(1, N):
        hh_R += p[i] * vh[i]
        hg_R += p[i] * vg[i]
    unit_R = tl.rsqrt(tl.maximum(hh_R / W, 0.0) + norm_eps)
    by_g_R, by_h_R = unit_R, unit_R * unit_R * unit_R * (hg_R / W)
    if not NORM:
        by_g_R, by_h_R = hg_R * 0 + 1, hg_R * 0
    dp = ()
    mean_R = hg_R * 0
    for i in tl.static_range(N):
        dp += (by_g_R * vg[i] - by_h_R * vh[i],)
        mean_R += p[i] * dp[i]
    along = ()
    shrink = ()
    for i in tl.static_range(N):
        along += (p[i] * (dp[i] - mean_R) * rstd[i],)
        shrink += (along[i] * rstd[i] * logit[i] / W,)
    return along, shrink, unit_R, by_g_R, by_h_R


@triton.jit
def _apply(
    sources, query, gamma, weight, dy, dsources, p, along, shrink, unit_R, by_g_R, by_h_R, r_R, ok_R, j, add,
    NORM: tl.constexpr, ADD: tl.constexpr, N: tl.constexpr, W: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Writes all sources' gradients of piece j; gives these rows' parts of (da, dweight), [R, C] each."""
    c_C = j * C + tl.arange(0, C)
    ok_RC = ok_R[:, None] & (c_C < W)[None, :]
    h_RC, v = _mixed(sources, p, r_R, ok_R, j, N, W, C)
    dy_RC = piece(dy, r_R, ok_R, j, W, C).to(tl.float32)
    dh_RC = dy_RC
    dweight_RC = dy_RC * 0
    if NORM:
        dweight_RC = dy_RC * (h_RC * unit_R[:, None])
        dh_RC = dy_RC * vector(weight, j, W, C)[None, :] * by_g_R[:, None] - h_RC * by_h_R[:, None]
    a_C = vector(query, j, W, C) * vector(gamma, j, W, C)
    da_RC = dy_RC * 0
    for i in tl.static_range(N):
        v_RC = v[i].to(tl.float32)
        dv_RC = p[i][:, None] * dh_RC + along[i][:, None] * a_C[None, :] - shrink[i][:, None] * v_RC
        at_RC = dsources[i] + r_R[:, None] * W + c_C[None, :]
        if ADD:
            dv_RC += tl.load(at_RC, mask=ok_RC & ((add >> i) & 1 == 1), other=0.0).to(tl.float32)
        tl.store(at_RC, dv_RC, mask=ok_RC)
        da_RC += along[i][:, None] * v_RC
    return da_RC, dweight_RC


@triton.jit
def _keep(sums, x_RC, j, first, W: tl.constexpr, C: tl.constexpr):
    """Adds the rows of `x` to this program's own sums; the first tile finds none there."""
    c_C = j * C + tl.arange(0, C)
    at_C = sums + tl.program_id(0) * W + c_C
    x_C = tl.sum(x_RC, 0) + tl.load(at_C, mask=(c_C < W) & (first == 0), other=0.0)
    tl.store(at_C, x_C, mask=c_C < W)


@triton.jit(do_not_specialize=["T", "tiles", "add"])
def backward(
    sources, query, gamma, weight, dy, stats, dsources, sums, T, tiles, add, norm_eps,
    NORM: tl.constexpr, ADD: tl.constexpr, FETCH: tl.constexpr, N: tl.constexpr, W: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """dv = p · dh + along · a − v · along · rstd · logit / W with along = ds · rstd; da = Σ along · v.

    With ADD, source i's gradient is added to what its buffer holds where bit i of `add` is set. The vectors' sums stay
    in registers while a row is one piece; those of more would fill them, and lie in memory, that is in the cache.
    """
    J: tl.constexpr = (W + C - 1) // C
    da_RC = tl.zeros([R, C], tl.float32)
    dweight_RC = tl.zeros([R, C], tl.float32)
    for tile in range(tiles):
        r_R = (tl.program_id(0) + tile * tl.num_programs(0)).to(tl.int64) * R + tl.arange(0, R)
        ok_R = r_R < T
        if FETCH:
            next_R = r_R + tl.num_programs(0) * R
            _fetch(sources, dy, next_R, next_R < T, N, W, dy.dtype.element_ty.primitive_bitwidth // 8)
        logit, rstd = _read(stats, r_R, ok_R, 0, N, 2 * N), _read(stats, r_R, ok_R, N, N, 2 * N)
        p = _softmax(logit, N)
        vg, vh = _all_dots(sources, weight, dy, p, r_R, ok_R, NORM, N, W, R, C)
        along, shrink, unit_R, by_g_R, by_h_R = _scalars(vg, vh, p, rstd, logit, norm_eps, NORM, N, W)
        for j in range(J):
            one_RC, two_RC = _apply(
                sources, query, gamma, weight, dy, dsources, p, along, shrink, unit_R, by_g_R, by_h_R, r_R, ok_R, j,
                add, NORM, ADD, N, W, C,
            )  # fmt: skip
            if J == 1:
                da_RC += one_RC
                dweight_RC += two_RC
            else:
                _keep(sums, one_RC, j, tile == 0, W, C)
                if NORM:
                    _keep(sums + tl.num_programs(0) * W, two_RC, j, tile == 0, W, C)
    if J == 1:
        _keep(sums, da_RC, 0, True, W, C)
        if NORM:
            _keep(sums + tl.num_programs(0) * W, dweight_RC, 0, True, W, C)


@triton.jit(do_not_specialize=["T"])
def scalars(
    sources, weight, dy, stats, found, T, norm_eps, NORM: tl.constexpr, N: tl.constexpr,
    W: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The first of two passes: all that `columns` needs of a row, 2 N + 3 numbers."""
    r_R = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    ok_R = r_R < T
    logit, rstd = _read(stats, r_R, ok_R, 0, N, 2 * N), _read(stats, r_R, ok_R, N, N, 2 * N)
    p = _softmax(logit, N)
    vg, vh = _all_dots(sources, weight, dy, p, r_R, ok_R, NORM, N, W, R, C)
    along, shrink, unit_R, by_g_R, by_h_R = _scalars(vg, vh, p, rstd, logit, norm_eps, NORM, N, W)
    values = along + shrink + (unit_R, by_g_R, by_h_R)
    for i in tl.static_range(2 * N + 3):
        tl.store(found + r_R * (2 * N + 3) + i, values[i], mask=ok_R)


@triton.jit(do_not_specialize=["T", "tiles", "add"])
def columns(
    sources, query, gamma, weight, dy, stats, found, dsources, sums, T, tiles, add,
    NORM: tl.constexpr, ADD: tl.constexpr, N: tl.constexpr, W: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The second of two passes: a program keeps to one piece of the columns."""
    j = tl.program_id(1)
    da_RC = tl.zeros([R, C], tl.float32)
    dweight_RC = tl.zeros([R, C], tl.float32)
    for tile in range(tiles):
        r_R = (tl.program_id(0) + tile * tl.num_programs(0)).to(tl.int64) * R + tl.arange(0, R)
        ok_R = r_R < T
        p = _softmax(_read(stats, r_R, ok_R, 0, N, 2 * N), N)
        along, shrink = _read(found, r_R, ok_R, 0, N, 2 * N + 3), _read(found, r_R, ok_R, N, N, 2 * N + 3)
        unit_R, by_g_R, by_h_R = _read(found, r_R, ok_R, 2 * N, 3, 2 * N + 3)
        one_RC, two_RC = _apply(
            sources, query, gamma, weight, dy, dsources, p, along, shrink, unit_R, by_g_R, by_h_R, r_R, ok_R, j, add,
            NORM, ADD, N, W, C,
        )  # fmt: skip
        da_RC += one_RC
        dweight_RC += two_RC
    _keep(sums, da_RC, j, True, W, C)
    if NORM:
        _keep(sums + tl.num_programs(0) * W, dweight_RC, j, True, W, C)
