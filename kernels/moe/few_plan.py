"""Which rows a program takes where an expert has few: tiles of whole units of 16 rows, laid out without a host sync.

An expert's rows are cut into the fewest passes of at most `cap` rows, as even as whole units allow: 140 rows under a
cap of 128 are 80 and 60, not 128 and 12. All passes of an expert are neighbours, so that the second finds the weights
in the cache. The number of tiles is not known to the host, its bound is: each expert begins at most one tile that is
not full. Tiles past the last have no rows.
E experts, P pairs sorted by expert, N tiles.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from trivium.kernels.moe.few_experts import UNIT

__all__ = ["most_tiles", "tile_map", "wasted"]

TILES = 32  # entries of the map that a program fills


@triton.jit(do_not_specialize=["E", "N"])
def _map(ends, tiles_N4, E, N, CAP: tl.constexpr, UNIT: tl.constexpr, EXPERTS: tl.constexpr, TILES: tl.constexpr):
    """(expert, first row, rows, 0) of each tile: the expert is the number of those whose tiles all come before."""
    e_E = tl.arange(0, EXPERTS)
    end_E = tl.load(ends + e_E, mask=e_E < E, other=0)
    begin_E = tl.load(ends + e_E - 1, mask=(e_E > 0) & (e_E < E), other=0)
    passes_E = (end_E - begin_E + CAP - 1) // CAP
    behind_E = tl.cumsum(passes_E, 0)
    n_N = tl.program_id(0) * TILES + tl.arange(0, TILES)
    before_NE = (behind_E[None, :] <= n_N[:, None]) & (e_E < E)[None, :]
    expert_N = tl.sum(before_NE.to(tl.int32), 1)
    pass_N = n_N - tl.sum(tl.where(before_NE, passes_E[None, :], 0), 1)
    real_N = expert_N < E
    end_N = tl.load(ends + expert_N, mask=real_N, other=0)
    begin_N = tl.load(ends + expert_N - 1, mask=real_N & (expert_N > 0), other=0)
    passes_N = tl.maximum((end_N - begin_N + CAP - 1) // CAP, 1)
    units_N = (end_N - begin_N + UNIT - 1) // UNIT
    first_N = begin_N + pass_N * units_N // passes_N * UNIT
    last_N = tl.minimum(begin_N + (pass_N + 1) * units_N // passes_N * UNIT, end_N)
    to_N, ok_N = tiles_N4 + n_N * 4, n_N < N
    tl.store(to_N, tl.where(real_N, expert_N, 0), mask=ok_N)
    tl.store(to_N + 1, tl.where(real_N, first_N, 0), mask=ok_N)
    tl.store(to_N + 2, tl.where(real_N, last_N - first_N, 0), mask=ok_N)
    tl.store(to_N + 3, tl.zeros_like(n_N), mask=ok_N)


def most_tiles(pairs: int, experts: int, cap: int) -> int:
    """The bound of the number of tiles, from what the host knows."""
    return min(pairs, experts + pairs // cap)


def tile_map(ends_E: Tensor, pairs: int, cap: int) -> Tensor:
    """int32 [N, 4]: expert, first row, rows (0 past the last tile), 0. `ends_E` is int32, on the device."""
    E, N = len(ends_E), most_tiles(pairs, len(ends_E), cap)
    tiles_N4 = torch.empty(N, 4, dtype=torch.int32, device=ends_E.device)
    if N:
        _map[(triton.cdiv(N, TILES),)](ends_E, tiles_N4, E, N, cap, UNIT, triton.next_power_of_2(E), TILES)
    return tiles_N4


def wasted(counts_E: Tensor) -> float:
    """The share of tile rows that are computed in vain, for these rows of each expert: only rounding to units."""
    computed = ((counts_E + UNIT - 1) // UNIT * UNIT).sum().item()
    return 1 - counts_E.sum().item() / max(computed, 1)
