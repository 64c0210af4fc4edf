"""Layouts, norm and decay of a chunk, as the Hopper kernels of both directions take them from the inputs.

A chunk is [J, R, K]: 4 tiles of 16 rows. A warp holds whole tiles of 64 channels, a thread 4 rows in a line, so that
sums over the rows of a tile stay within a warp. Inside a tile the decay is counted from the tile's beginning, plus a
constant: rise = 2^(c + offset), fall = 1 / rise, both within e^±40 at the bound, and no row's factor knows a later row.
The leap of a tile is its whole decay. That a tile's decays may stand in plain products is K3's bound (K3 report,
section 2.1.1).
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

__all__ = [
    "add",
    "bring",
    "bring_line",
    "channels_of",
    "chunk_layout",
    "copy_layout",
    "decay_of",
    "exp2",
    "mma_layout",
    "operand",
    "reciprocal",
    "rows_of",
    "rstd_of",
    "sigmoid",
    "sums_around",
    "tile_table",
    "totals_of",
]

LOG2_E = gl.constexpr(1.4426950408889634)


@gluon.constexpr_function
def chunk_layout(K, warps):
    """[4, 16, K]: a warp holds a tile's share of channels."""
    return gl.BlockedLayout([1, 4, K // (2 * warps)], [1, 4, 8], [4, 1, warps // 4], [2, 1, 0])


@gluon.constexpr_function
def mma_layout(rows, columns, warps):
    """Accumulator of [rows, columns], 64 rows a warpgroup."""
    down = min(rows // 16, warps)
    return gl.NVMMADistributedLayout([3, 0], [down, warps // down], [16, min(columns * down // warps, 256), 16])


@gluon.constexpr_function
def operand(columns):
    """Shared memory of a bf16 or fp16 operand with `columns` of 16 bits a row."""
    return gl.NVMMASharedLayout(min(columns * 2, 128), 16, 2)


@gluon.constexpr_function
def copy_layout(columns, warps):
    """Rows of `columns` values of 16 bits, 16 bytes a thread."""
    return gl.BlockedLayout([1, 8], [256 // columns, columns // 8], [warps, 1], [1, 0])


@gluon.jit
def bring(here, x, stride, rows, ROWS: gl.constexpr, COLUMNS: gl.constexpr, WARPS: gl.constexpr):
    """Begin to copy [ROWS, COLUMNS], the rows `stride` apart, into shared memory; rows from `rows` on are 0."""
    B: gl.constexpr = copy_layout(COLUMNS, WARPS)
    i_R = gl.arange(0, ROWS, gl.SliceLayout(1, B))
    at = (i_R * stride)[:, None] + gl.arange(0, COLUMNS, gl.SliceLayout(0, B))[None, :]
    async_copy.async_copy_global_to_shared(here, x + at, (i_R < rows)[:, None] & (at >= 0))


@gluon.jit
def bring_line(here, x, count, N: gl.constexpr, WARPS: gl.constexpr):
    """Begin to copy N values of 32 bits into shared memory; those from `count` on are 0."""
    i_N = gl.arange(0, N, gl.BlockedLayout([1], [32], [WARPS], [0]))
    async_copy.async_copy_global_to_shared(here, x + i_N, i_N < count)


@gluon.jit
def rows_of(K: gl.constexpr, WARPS: gl.constexpr):
    """[4, 16]: the row's number in the chunk."""
    S: gl.constexpr = gl.SliceLayout(2, chunk_layout(K, WARPS))
    tile_J = gl.arange(0, 4, gl.SliceLayout(1, S))
    return tile_J[:, None] * 16 + gl.arange(0, 16, gl.SliceLayout(0, S))[None, :]


@gluon.jit
def channels_of(K: gl.constexpr, WARPS: gl.constexpr):
    return gl.arange(0, K, gl.SliceLayout(0, gl.SliceLayout(1, chunk_layout(K, WARPS))))


@gluon.jit
def rstd_of(x_JRK):
    return gl.rsqrt(gl.sum(x_JRK * x_JRK, 2) + 1e-6)


@gluon.jit
def exp2(x):
    """2^x; results below 2^−126 are 0."""
    return gl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], gl.float32, True, 1)


@gluon.jit
def reciprocal(x):
    return gl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], gl.float32, True, 1)


@gluon.jit
def sigmoid(x):
    return reciprocal(1.0 + exp2(x * -LOG2_E))


@gluon.jit
def add(a, b):
    return a + b


@gluon.jit
def decay_of(gate_JRK, bias_K, A, valid_JR):
    """(σ summed from the tile's beginning, σ, z); rows beyond the document forget nothing."""
    z_JRK = gate_JRK + bias_K[None, None, :]
    s_JRK = sigmoid(z_JRK * A)
    c_JRK = gl.associative_scan(gl.where(valid_JR[:, :, None], s_JRK, 0.0), 1, add)
    return c_JRK, s_JRK, z_JRK


@gluon.jit
def totals_of(c_JRK, K: gl.constexpr, WARPS: gl.constexpr):
    """The last row of each tile."""
    last_R = gl.arange(0, 16, gl.SliceLayout(0, gl.SliceLayout(2, chunk_layout(K, WARPS)))) == 15
    return gl.sum(gl.where(last_R[None, :, None], c_JRK, 0.0), 1)


@gluon.jit
def tile_table(x_JK, K: gl.constexpr):
    """A value a tile and channel by way of shared memory, for warps that hold another tile."""
    return gl.allocate_shared_memory(gl.float32, [4, K], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]), x_JK)


@gluon.jit
def sums_around(table, tile_J1, K: gl.constexpr, WARPS: gl.constexpr):
    """Of a tile table: (sums of the tiles before, sums of the tile and those behind)."""
    S: gl.constexpr = gl.SliceLayout(1, chunk_layout(K, WARPS))
    before_JK, after_JK = gl.zeros([4, K], gl.float32, S), gl.zeros([4, K], gl.float32, S)
    for j in gl.static_range(4):
        x_1K = table.slice(j, 1).load(S)
        before_JK += gl.where(tile_J1 > j, x_1K, 0.0)
        after_JK += gl.where(tile_J1 <= j, x_1K, 0.0)
    return before_JK, after_JK
