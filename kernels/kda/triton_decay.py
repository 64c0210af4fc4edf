"""Norm, gate, anchors and masks of a chunk, as the kernels of both directions take them from the inputs.

C rows a chunk, K key width, B channels at a time.
"""

import triton
import triton.language as tl

__all__ = ["level_anchor", "log2_decay", "rows_at", "rstd_of", "score_mask"]


@triton.jit
def rows_at(x, at_C, valid_C, c_B):
    """Channels `c_B` of the rows that begin `at_C` behind `x`, in fp32; padded rows are 0."""
    return tl.load(x + (at_C[:, None] + c_B[None, :]), mask=valid_C[:, None], other=0.0).to(tl.float32)


@triton.jit
def rstd_of(x, at_C, valid_C, K: tl.constexpr):
    """1 / |x| of each row, by the definition's epsilon."""
    x_CK = rows_at(x, at_C, valid_C, tl.arange(0, K))
    return tl.rsqrt(tl.sum(x_CK * x_CK, 1) + 1e-6)


@triton.jit
def log2_decay(gate, bias_B, A, at_C, valid_C, c_B, lower_bound):
    """(log2 of the decay, σ, z) of raw gates; padded rows forget nothing."""
    z_CB = rows_at(gate, at_C, valid_C, c_B) + bias_B[None, :]
    s_CB = tl.sigmoid(A * z_CB)
    return tl.where(valid_C[:, None], (lower_bound * 1.4426950408889634) * s_CB, 0.0), s_CB, z_CB


@triton.jit
def level_anchor(G_CK, LEVEL: tl.constexpr, ROW: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    """Row `ROW` of each block of LEVEL rows of G, repeated for all rows of the block."""
    G_BRK = tl.reshape(G_CK, [C // LEVEL, LEVEL, K])
    here_R = tl.arange(0, LEVEL) == ROW
    anchor_BK = tl.sum(tl.where(here_R[None, :, None], G_BRK, 0.0), 1)
    anchor_BRK = tl.broadcast_to(anchor_BK[:, None, :], [C // LEVEL, LEVEL, K])
    return tl.reshape(anchor_BRK, [C, K])


@triton.jit
def score_mask(LEVEL: tl.constexpr, C: tl.constexpr):
    """Where the pairs of a level lie: rows of the second half of each block of 2 · LEVEL rows, columns of the first."""
    i_C = tl.arange(0, C)
    same = (i_C // (2 * LEVEL))[:, None] == (i_C // (2 * LEVEL))[None, :]
    return same & ((i_C // LEVEL)[:, None] > (i_C // LEVEL)[None, :])
