"""Attention Residuals forwards for Hopper: the results of `triton_forward`, from rows that lie in a ring.

A row's sources come in groups of three, with one exchange between warps a group, and leave their slots with it: the
softmax is taken online. Two programs share a multiprocessor, so that one works while the other waits.
N sources, T tokens, W model width, S slots, V numbers of a thread in each of J pieces.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

from trivium.kernels.attnres.gluon_ring import allocate, begin, fill, layout, line, sums, take, vectors, write

__all__ = ["forward"]


@gluon.jit
def _keys(
    ring, slot, a, eps, N: gl.constexpr, B: gl.constexpr, W: gl.constexpr, S: gl.constexpr, WARPS: gl.constexpr,
    V: gl.constexpr,
):  # fmt: skip
    """(logits, rstds) of the row's sources B, B + 1 and B + 2."""
    J: gl.constexpr = (W + 32 * WARPS * V - 1) // (32 * WARPS * V)
    parts = ()
    for i in gl.static_range(3):
        squares = gl.zeros([32 * WARPS, V], gl.float32, layout(WARPS, V))
        along = squares
        if B + i < N:
            v = take(ring, (slot + B + i) % S, J, WARPS, V)
            for j in gl.static_range(J):
                squares += v[j] * v[j]
                along += v[j] * a[j]
        parts += (gl.sum(squares, 1), gl.sum(along, 1))
    found = sums(parts)
    logit = ()
    rstd = ()
    for i in gl.static_range(3):
        if B + i < N:
            one = gl.rsqrt(found[2 * i] / W + eps)
            logit += (found[2 * i + 1] * one,)
            rstd += (one,)
    return logit, rstd


@gluon.jit
def _mean(h, total, J: gl.constexpr):
    """(h / total, its squares): rightly rounded, so that with equal logits it is the mean, bit for bit."""
    squares = h[0] * 0
    mixed = ()
    for j in gl.static_range(J):
        x = gl.div_rn(h[j], total + h[j] * 0)
        squares += x * x
        mixed += (x,)
    return mixed, squares


@gluon.constexpr_function
def _count(N, b):
    """Sources of the group that begins at b."""
    return min(3, N - b)


@gluon.jit
def _mixed(
    ring, slot, h, logit, shrink, most, total, COUNT: gl.constexpr, J: gl.constexpr, S: gl.constexpr,
    WARPS: gl.constexpr, V: gl.constexpr,
):  # fmt: skip
    """(mixture, its weights' sum) with COUNT sources more."""
    scaled = ()
    for j in gl.static_range(J):
        scaled += (h[j] * shrink,)
    h = scaled
    total *= shrink
    for i in gl.static_range(COUNT):
        p = gl.exp(logit[i] - most)
        total += p
        v = take(ring, (slot + i) % S, J, WARPS, V)
        mixed = ()
        for j in gl.static_range(J):
            mixed += (h[j] + v[j] * p,)
        h = mixed
    return h, total


@gluon.jit(do_not_specialize=["T"])
def forward(
    sources, query, gamma, weight, y, stats, T, eps, norm_eps, NORM: gl.constexpr, N: gl.constexpr,
    W: gl.constexpr, S: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr,
):  # fmt: skip
    """Each source's logit and rstd, [T, 2, N], are kept."""
    J: gl.constexpr = (W + 32 * WARPS * V - 1) // (32 * WARPS * V)
    gl.static_assert(S >= 3, "a group's sources are held at once")
    ring = allocate(S, J, WARPS, V)
    fill(ring, sources, T, S, N, W, WARPS, V)
    a = vectors(query, gamma, W, J, WARPS, V)
    slot = 0
    for tile in range(gl.cdiv(T - gl.program_id(0), gl.num_programs(0))):
        row = gl.program_id(0) + tile * gl.num_programs(0)
        at = row.to(gl.int64) * (2 * N)
        most = norm_eps * 0 + float("-inf")
        total = norm_eps * 0
        h = ()
        for _ in gl.static_range(J):
            h += (gl.zeros([32 * WARPS, V], gl.float32, layout(WARPS, V)),)
        for b in gl.static_range(0, N, 3):
            # The group is here; of the S begun and not yet read, those behind it may still be under way.
            async_copy.wait_group(S - _count(N, b))
            logit, rstd = _keys(ring, slot, a, eps, N, b, W, S, WARPS, V)
            higher = most
            for i in gl.static_range(_count(N, b)):
                higher = gl.maximum(higher, logit[i])
                gl.store(stats + at + b + i, logit[i])
                gl.store(stats + at + N + b + i, rstd[i])
            h, total = _mixed(
                ring, (slot + b) % S, h, logit, gl.exp(most - higher), higher, total, _count(N, b), J, S, WARPS,
                V,
            )  # fmt: skip
            most = higher
            for e in gl.static_range(b, b + _count(N, b)):
                later = row + ((e + S) // N) * gl.num_programs(0)
                begin(ring, (slot + e) % S, sources[(e + S) % N], later, T, W, WARPS, V)
        slot = (slot + N) % S
        h, squares = _mean(h, total, J)
        if NORM:
            # From the cache: kept in registers it would leave no room for a second program.
            w = line(weight, W, J, WARPS, V)
            scale = gl.rsqrt(gl.sum(gl.sum(squares, 1), 0) / W + norm_eps)
            normed = ()
            for j in gl.static_range(J):
                normed += (h[j] * scale * w[j],)
            h = normed
        write(y, row.to(gl.int64) * W, h, W, J, WARPS, V)
    async_copy.wait_group(0)
