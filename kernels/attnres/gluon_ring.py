"""A ring of whole rows in shared memory that is filled ahead, for the AttnRes kernels on Hopper.

A program takes the rows p, p + P, p + 2 P …; a row has M entries (the tensors that it reads), an entry J pieces of
32 · WARPS · V numbers. A thread copies what it reads itself, so the copies need no barrier of their own. Each piece has
an allocation of its own, since the compiler puts a barrier between two copies to one. Numbers behind the last column
and all of an entry behind the last row are 0.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

__all__ = ["allocate", "begin", "columns_of", "fill", "layout", "line", "sums", "take", "vectors", "write"]


@gluon.constexpr_function
def layout(WARPS, V):
    """[32 · WARPS, V]: a row a thread."""
    return gl.BlockedLayout([1, V], [32, 1], [WARPS, 1], [1, 0])


@gluon.jit
def columns_of(j, WARPS: gl.constexpr, V: gl.constexpr):
    """The columns of piece j, [32 · WARPS, V]."""
    L: gl.constexpr = layout(WARPS, V)
    thread = gl.arange(0, 32 * WARPS, gl.SliceLayout(1, L))
    return j * (32 * WARPS * V) + thread[:, None] * V + gl.arange(0, V, gl.SliceLayout(0, L))[None, :]


@gluon.jit
def allocate(S: gl.constexpr, J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """J pieces of S slots."""
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    ring = ()
    for _ in gl.static_range(J):
        ring += (gl.allocate_shared_memory(gl.bfloat16, [S, 32 * WARPS, V], shared),)
    return ring


@gluon.jit
def begin(ring, slot, x, row, T, W: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """Begin to copy a row of x to a slot; one group of copies, of nothing behind the last row."""
    J: gl.constexpr = (W + 32 * WARPS * V - 1) // (32 * WARPS * V)
    at = row.to(gl.int64) * W
    for j in gl.static_range(J):
        c = columns_of(j, WARPS, V)
        async_copy.async_copy_global_to_shared(ring[j].index(slot), x + at + c, (c < W) & (row < T))
    async_copy.commit_group()


@gluon.jit
def fill(ring, entries, T, S: gl.constexpr, M: gl.constexpr, W: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """Begin the program's first S entries."""
    for e in gl.static_range(S):
        row = gl.program_id(0) + (e // M) * gl.num_programs(0)
        begin(ring, e, entries[e % M], row, T, W, WARPS, V)


@gluon.jit
def take(ring, slot, J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """The pieces of a slot in fp32."""
    v = ()
    for j in gl.static_range(J):
        v += (ring[j].index(slot).load(layout(WARPS, V)).to(gl.float32),)
    return v


@gluon.jit
def line(x, W: gl.constexpr, J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """A vector's pieces in fp32."""
    v = ()
    for j in gl.static_range(J):
        c = columns_of(j, WARPS, V)
        v += (gl.load(x + c, c < W, 0.0).to(gl.float32),)
    return v


@gluon.jit
def write(x, at, v, W: gl.constexpr, J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """Write pieces from number `at` of x on."""
    for j in gl.static_range(J):
        c = columns_of(j, WARPS, V)
        gl.store(x + at + c, v[j].to(x.dtype.element_ty), c < W)


@gluon.jit
def _add(a, b, c, d, e, f, u, v, w, x, y, z):
    return a + u, b + v, c + w, d + x, e + y, f + z


@gluon.jit
def sums(parts):
    """The sums of six tensors, whose threads have summed their own numbers, in one exchange between warps."""
    return gl.reduce((parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]), 0, _add)


@gluon.jit
def vectors(query, gamma, W: gl.constexpr, J: gl.constexpr, WARPS: gl.constexpr, V: gl.constexpr):
    """The pieces of query ⊙ gamma."""
    q = line(query, W, J, WARPS, V)
    g = line(gamma, W, J, WARPS, V)
    a = ()
    for j in gl.static_range(J):
        a += (q[j] * g[j],)
    return a
