"""Which tiles a packed row of grids is cut into; depends on its borders alone, so that all layers share it.

N tiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from trivium.kernels.mla.plan import Tiles
from trivium.kernels.packed import offsets

__all__ = ["PatchPlan"]


@dataclass(frozen=True, slots=True)
class PatchPlan:
    """The borders of a row's grids, and its tiles, made when they are first asked for."""

    borders: tuple[int, ...]
    _tiles: dict[tuple[torch.device, int], Tiles] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def build(cu_seqlens: Tensor | Sequence[int], patches: int) -> "PatchPlan":
        """Raises ValueError when `cu_seqlens` doesn't run from 0 to `patches`."""
        return PatchPlan(tuple(offsets(cu_seqlens, patches)))

    def tiles(self, device: torch.device, rows: int) -> Tiles:
        """Tiles of so many rows; of keys and of queries they are the same, since each walks over its whole grid."""
        if (device, rows) not in self._tiles:
            tiles_N3 = torch.from_numpy(_tiles(np.asarray(self.borders, dtype=np.int64), rows)).to(device)
            self._tiles[device, rows] = Tiles(tiles_N3, tiles_N3)
        return self._tiles[device, rows]


def _tiles(borders: np.ndarray, rows: int) -> np.ndarray:
    """The largest grids first, whose walks are the longest; tiles of one grid side by side, which read the same."""
    order = np.argsort(-np.diff(borders), kind="stable")
    start, stop = borders[:-1][order], borders[1:][order]
    tiles = -(-(stop - start) // rows)
    start_N, stop_N = np.repeat(start, tiles), np.repeat(stop, tiles)
    place_N = np.arange(tiles.sum()) - np.repeat(np.cumsum(tiles) - tiles, tiles)
    return np.stack([start_N + place_N * rows, start_N, stop_N], axis=1).astype(np.int32)
