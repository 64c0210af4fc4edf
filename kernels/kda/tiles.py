"""Scores inside a chunk, with decays, by plain matrix products of 16-row tiles.

score_ij = x_i · (k_j ⊙ e^{G_i − G_j}) for j ≤ i needs e^{−G_j}, which overflows over 64 rows (G falls up to 5 a row).
So each tile of rows has an anchor row a, and the exponent is split as (G_i − G_a) + (G_a − G_b) + (G_b − G_j), where b
is the anchor of column j's tile: the outer parts stay within 15 rows (e^75 at the bound, legal in fp32) and the middle
part, one row a tile pair, is ≤ 0. Nothing that row i multiplies depends on a later row: prefix causality is bitwise.

N chunks, H heads, C rows a chunk, J = C/16 tiles, R = 16 rows a tile, K key width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.kernels.kda.plan import CHUNK, TILE

__all__ = [
    "BACKWARD_ANCHOR",
    "FORWARD_ANCHOR",
    "MAX_FALL",
    "TILES",
    "TileDecay",
    "tile_columns",
    "tile_decay",
    "tile_masks",
]

TILES = CHUNK // TILE
# The first row: rounding of a row then never depends on later gates (a middle anchor breaks prefix causality).
FORWARD_ANCHOR = 0
# Gradients depend on later rows anyway; the middle halves the range, so tiny gradients at the bound don't underflow.
BACKWARD_ANCHOR = TILE // 2
MAX_FALL = 80.0  # largest decay exponent over the 15 steps of a tile: e^80 is finite in fp32 and in bf16


@dataclass(frozen=True, slots=True)
class TileDecay:
    row_NHJRK: Tensor  # 2^{G_i − G_a}
    column_NHJRK: Tensor  # 2^{G_b − G_j}
    link_NHJJ1K: Tensor  # 2^{G_a − G_b}, 0 where b is a later tile


def tile_decay(G_NHCK: Tensor, anchor: int) -> TileDecay:
    """Split the decays of `G` (cumulative log2 of the decay inside the chunk) around row `anchor` of each tile."""
    N, H, _, K = G_NHCK.shape
    G_NHJRK = G_NHCK.view(N, H, TILES, TILE, K)
    anchor_NHJ1K = G_NHJRK[:, :, :, anchor : anchor + 1]
    row_NHJRK = (G_NHJRK - anchor_NHJ1K).exp2_()
    link_NHJJ1K = anchor_NHJ1K.unsqueeze(3) - anchor_NHJ1K.unsqueeze(2)
    later_JJ11 = torch.ones(TILES, TILES, dtype=torch.bool, device=G_NHCK.device).triu_(1).view(TILES, TILES, 1, 1)
    # Masked before the exponential: after it, the gradient would meet inf · 0.
    link_NHJJ1K.masked_fill_(later_JJ11, -torch.inf).exp2_()
    return TileDecay(row_NHJRK, row_NHJRK.reciprocal(), link_NHJJ1K)


def tile_columns(k_NHCK: Tensor, decay: TileDecay) -> Tensor:
    """Return the keys as each tile of rows meets them, [N·H·J, C, K]."""
    N, H, _, K = k_NHCK.shape
    local_NHJRK = k_NHCK.view(N, H, TILES, TILE, K) * decay.column_NHJRK
    return (local_NHJRK.unsqueeze(2) * decay.link_NHJJ1K).view(N * H * TILES, CHUNK, K)


def tile_masks(like: Tensor) -> Tensor:
    """[J, 2, R, C]: 1 where a row may see a column; the diagonal for queries, not for keys."""
    square = torch.ones(CHUNK, CHUNK, dtype=like.dtype, device=like.device)
    return torch.stack([square.tril().view(TILES, TILE, CHUNK), square.tril(-1).view(TILES, TILE, CHUNK)], dim=1)
