"""Attention Residuals backwards for Hopper: the gradients of `triton_backward`, from rows that lie in a ring.

dy and the sources are read from memory once: as they come they are mixed and dotted with g = dy ⊙ weight, then dotted
with the mixture, then turned into gradients. The vectors' gradients stay in registers, one row of sums a program.
N sources, T tokens, W model width, S slots, V numbers of a thread in each of J pieces.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from trivium.kernels.attnres.gluon_ring import (
    allocate,
    begin,
    columns_of,
    fill,
    layout,
    line,
    sums,
    take,
    vectors,
    write,
)

__all__ = ["backward"]


@gluon.jit
def _zeros(J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    x = ()
    for _ in gl.static_range(J):
        x += (gl.zeros([32 * WARPS, V], gl.float32, layout(WARPS, V)),)
    return x


@gluon.jit
def _numbers(stats, row, T, N: gl.constexpr):
    """(logits, rstds) of a row, 0 behind the last."""
    logit = ()
    rstd = ()
    at = stats + row.to(gl.int64) * (2 * N)
    for i in gl.static_range(N):
        logit += (gl.load(at + i, row < T, 0.0),)
        rstd += (gl.load(at + N + i, row < T, 0.0),)
    return logit, rstd


@gluon.jit
def _softmax(logit, N: gl.constexpr):
    most = logit[0]
    for i in gl.static_range(1, N):
        most = gl.maximum(most, logit[i])
    total = most * 0
    for i in gl.static_range(N):
        total += gl.exp(logit[i] - most)
    p = ()
    for i in gl.static_range(N):
        p += (gl.exp(logit[i] - most) / total,)
    return p


@gluon.jit
def _dot(x, y, J: gl.constexpr):
    """The threads' own parts of x · y."""
    found = x[0] * y[0]
    for j in gl.static_range(1, J):
        found += x[j] * y[j]
    return gl.sum(found, 1)


@gluon.jit
def _arrive(
    ring, slot, p, w, NORM: gl.constexpr, N: gl.constexpr, J: gl.constexpr, S: gl.constexpr, WARPS: gl.constexpr,
    V: gl.constexpr,
):  # fmt: skip
    """(mixture, parts of the sources' v · g), while the row's last entries are still under way."""
    h = _zeros(J, WARPS, V)
    g = h
    parts = ()
    for i in gl.static_range(N):
        if i % 3 == 0:
            async_copy.wait_group(S - 1 - (i + 3 if i + 3 < N else N))
        if i == 0:
            g = take(ring, slot, J, WARPS, V)
            if NORM:
                scaled = ()
                for j in gl.static_range(J):
                    scaled += (g[j] * w[j],)
                g = scaled
        v = take(ring, (slot + 1 + i) % S, J, WARPS, V)
        mixed = ()
        for j in gl.static_range(J):
            mixed += (h[j] + v[j] * p[i],)
        h = mixed
        parts += (_dot(v, g, J),)
    return h, parts


@gluon.jit
def _dots(
    ring, slot, h, parts, NORM: gl.constexpr, N: gl.constexpr, J: gl.constexpr, S: gl.constexpr, WARPS: gl.constexpr,
    V: gl.constexpr,
):  # fmt: skip
    """(v · g, v · h) of every source; without a norm the second is not wanted."""
    vg = ()
    vh = ()
    for b in gl.static_range(0, N, 3):
        group = ()
        for i in gl.static_range(b, b + 3):
            along = parts[i if i < N else 0]
            of_h = along * 0
            if NORM and i < N:
                of_h = _dot(take(ring, (slot + 1 + i) % S, J, WARPS, V), h, J)
            group += (along, of_h)
        found = sums(group)
        for i in gl.static_range(b, b + 3):
            if i < N:
                vg += (found[2 * (i - b)],)
                vh += (found[2 * (i - b) + 1],)
    return vg, vh


@gluon.jit
def _scalars(vg, vh, p, rstd, logit, norm_eps, NORM: gl.constexpr, N: gl.constexpr, W: gl.constexpr):
    """(along, shrink, rstd of h, by_g, by_h): dv = p dh + along a − shrink v with dh = by_g g − by_h h."""
    hh = p[0] * vh[0]
    hg = p[0] * vg[0]
    for i in gl.static_range(1, N):
        hh += p[i] * vh[i]
        hg += p[i] * vg[i]
    unit = gl.rsqrt(gl.maximum(hh / W, 0.0) + norm_eps)
    by_g = unit
    by_h = unit * unit * unit * (hg / W)
    if not NORM:
        by_g = hg * 0 + 1
        by_h = hg * 0
    dp = ()
    mean = hg * 0
    for i in gl.static_range(N):
        one = by_g * vg[i] - by_h * vh[i]
        dp += (one,)
        mean += p[i] * one
    along = ()
    shrink = ()
    for i in gl.static_range(N):
        one = p[i] * (dp[i] - mean) * rstd[i]
        along += (one,)
        shrink += (one * rstd[i] * logit[i] / W,)
    return along, shrink, unit, by_g, by_h


@gluon.jit
def _held(x, at, wanted, W: gl.constexpr, J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """What a gradient's buffer holds, as it is stored; 0 where it is not wanted."""
    v = ()
    for j in gl.static_range(J):
        c = columns_of(j, WARPS, V)
        v += (gl.load(x + at + c, (c < W) & wanted, 0.0),)
    return v


@gluon.jit
def _fetch(dsources, at, add, N: gl.constexpr, W: gl.constexpr, WARPS: gl.constexpr):
    """Asks for the lines of 128 bytes that the row's sums lie in."""
    line_L = gl.arange(0, 128, gl.BlockedLayout([1], [32], [WARPS], [0])) * 64
    for i in gl.static_range(N):
        if (add >> i) & 1 == 1:
            x_L = dsources[i] + at + gl.minimum(line_L, W - 1)
            gl.inline_asm_elementwise(
                "prefetch.global.L2 [$1]; mov.b32 $0, 0;", "=r,l", [x_L.to(gl.int64)], gl.int32, is_pure=False, pack=1
            )


@gluon.jit
def _turn(dy, h, w, unit, by_g, by_h, NORM: gl.constexpr, J: gl.constexpr):
    """(dh, this row's part of dweight)."""
    dh = ()
    part = ()
    for j in gl.static_range(J):
        if NORM:
            dh += (dy[j] * w[j] * by_g - h[j] * by_h,)
            part += (dy[j] * (h[j] * unit),)
        else:
            dh += (dy[j],)
            part += (dy[j] * 0,)
    return dh, part


@gluon.jit
def _sum(x, y, J: gl.constexpr):
    z = ()
    for j in gl.static_range(J):
        z += (x[j] + y[j],)
    return z


@gluon.jit
def _gradient(v, dh, a, held, da, p, along, shrink, ADD: gl.constexpr, J: gl.constexpr):
    """(one source's gradient, da so far)."""
    dv = ()
    both = ()
    for j in gl.static_range(J):
        one = p * dh[j] + along * a[j] - shrink * v[j]
        if ADD:
            one += held[j].to(gl.float32)
        dv += (one,)
        both += (da[j] + along * v[j],)
    return dv, both


@gluon.jit(do_not_specialize=["T", "add"])
def backward(
    sources, query, gamma, weight, dy, stats, dsources, found, T, add, norm_eps, NORM: gl.constexpr, ADD: gl.constexpr,
    N: gl.constexpr, W: gl.constexpr, S: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr, KEEP: gl.constexpr,
):  # fmt: skip
    """The formulas of `triton_backward.backward`; `found` [2, P, W] takes each program's (da, dweight).

    KEEP: dweight stays in registers, else where it goes, that is in the cache.
    """
    J: gl.constexpr = (W + 32 * WARPS * V - 1) // (32 * WARPS * V)
    M: gl.constexpr = N + 1
    gl.static_assert(S >= M, "a row's entries are all held at once")
    first, step = gl.program_id(0), gl.num_programs(0)
    entries = (dy,) + sources  # noqa: RUF005 (the compiler knows no star)
    ring = allocate(S, J, WARPS, V)
    fill(ring, entries, T, S, M, W, WARPS, V)
    a = vectors(query, gamma, W, J, WARPS, V)
    w = a
    if NORM:
        w = line(weight, W, J, WARPS, V)
    da = _zeros(J, WARPS, V)
    dweight = _zeros(J, WARPS, V)
    logit, rstd = _numbers(stats, first, T, N)
    own = found + (first + step).to(gl.int64) * W
    if NORM and not KEEP:
        write(own, 0, dweight, W, J, WARPS, V)
    slot = 0
    for tile in range(gl.cdiv(T - first, step)):
        row = first + tile * step
        at = row.to(gl.int64) * W
        if ADD:
            _fetch(dsources, at, add, N, W, WARPS)
        p = _softmax(logit, N)
        h, parts = _arrive(ring, slot, p, w, NORM, N, J, S, WARPS, V)
        vg, vh = _dots(ring, slot, h, parts, NORM, N, J, S, WARPS, V)
        along, shrink, unit, by_g, by_h = _scalars(vg, vh, p, rstd, logit, norm_eps, NORM, N, W)
        logit, rstd = _numbers(stats, row + step, T, N)
        dh, part = _turn(take(ring, slot, J, WARPS, V), h, w, unit, by_g, by_h, NORM, J)
        if NORM and KEEP:
            dweight = _sum(dweight, part, J)
        if NORM and not KEEP:
            write(own, 0, _sum(line(own, W, J, WARPS, V), part, J), W, J, WARPS, V)
        held = dh
        if ADD:
            held = _held(dsources[0], at, add & 1 == 1, W, J, WARPS, V)
        for i in gl.static_range(N):
            v = take(ring, (slot + 1 + i) % S, J, WARPS, V)
            now = held
            if ADD and i + 1 < N:
                held = _held(dsources[i + 1], at, (add >> (i + 1)) & 1 == 1, W, J, WARPS, V)
            dv, da = _gradient(v, dh, a, now, da, p[i], along[i], shrink[i], ADD, J)
            write(dsources[i], at, dv, W, J, WARPS, V)
            if i % 3 == 2 or i == N - 1:
                for e in gl.static_range(i - i % 3 + 1 if i > 2 else 0, i + 2):
                    later = row + ((e + S) // M) * step
                    begin(ring, (slot + e) % S, entries[(e + S) % M], later, T, W, WARPS, V)
        slot = (slot + M) % S
    async_copy.wait_group(0)
    write(found, first.to(gl.int64) * W, da, W, J, WARPS, V)
    if NORM and KEEP:
        write(own, 0, dweight, W, J, WARPS, V)
