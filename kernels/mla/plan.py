"""Which documents of a packed row are attended together, and which tiles of it by themselves.

The PyTorch path: documents of one power-of-two class of length form a group and share each query block's products. A
document's padded shapes follow from its own length alone, so its result doesn't depend on what else is in the row.
The kernels: each document is cut into tiles. Each is made when it is first asked for.
D documents, T tokens in the row, N tiles.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trivium.kernels.packed import offsets

__all__ = ["QUERY_BLOCK", "BlockPlan", "Group", "Tiles"]

QUERY_BLOCK = 128  # query rows of a block; shorter documents are padded to 16, 32, 64 or 128 rows
MIN_BLOCK = 16
GROUP_ROWS = 8192  # a group's query rows; with KEY_BLOCK keys bounds the scores that exist at a time


class Tiles(NamedTuple):
    """(first token, its document's first and the token behind its last) of each tile, int32; the longest walk first."""

    by_queries_N3: Tensor  # a tile of queries walks from its document's first token
    by_keys_N3: Tensor  # a tile of keys walks to its document's last token; second stands its first query


@dataclass(frozen=True, slots=True)
class Group:
    """Documents in padded layout [documents, length]; a padded row repeats its document's last token."""

    block: int  # query rows of a block
    live: tuple[int, ...]  # live[p]: documents with a query block p; the longest stand first
    rows: Tensor  # token of each padded row [documents, length]
    valid: Tensor | None  # None when no row is padded
    _by_heads: dict[int, tuple[Tensor, Tensor, Tensor]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tokens(self) -> Tensor:
        """The group's tokens, document by document."""
        return self.rows.reshape(-1) if self.valid is None else self.rows[self.valid]

    def places(self, heads: int) -> tuple[Tensor, Tensor, Tensor]:
        """Three indices, kept for the next layer.

        Rows of the packed row seen as [T·H, …] for [documents, H, length, …]; which of these are no padding; the rows
        of the packed row that they are.
        """
        if heads not in self._by_heads:
            head_H1 = torch.arange(heads, device=self.rows.device).unsqueeze(1)
            rows_BL = (self.rows.unsqueeze(1) * heads + head_H1).reshape(-1)
            real = torch.arange(len(rows_BL), device=rows_BL.device)
            if self.valid is not None:
                real = real[self.valid.unsqueeze(1).expand(-1, heads, -1).reshape(-1)]
            self._by_heads[heads] = rows_BL, real, rows_BL[real]
        return self._by_heads[heads]


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """The layout of one packed row; depends on `cu_seqlens` alone, so that all layers of a step share it."""

    tokens: int
    borders: tuple[int, ...]
    device: torch.device
    queries_from: int = 0  # rows of the first document before it are keys alone; their outputs are anything
    _groups: list[tuple[Group, ...]] = field(default_factory=list, compare=False, repr=False)
    _tiles: dict[tuple[torch.device, int], Tiles] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def build(
        cu_seqlens: Tensor, tokens: int, device: torch.device | str = "cpu", *, queries_from: int = 0
    ) -> "BlockPlan":
        """Raises ValueError when `cu_seqlens` doesn't run from 0 to `tokens`."""
        return BlockPlan(tokens, tuple(offsets(cu_seqlens, tokens)), torch.device(device), queries_from)

    @property
    def groups(self) -> tuple[Group, ...]:
        if not self._groups:
            self._groups.append(tuple(_groups(np.asarray(self.borders, dtype=np.int64), self.device)))
        return self._groups[0]

    def tiles(self, device: torch.device, rows: int) -> Tiles:
        """Tiles of so many rows."""
        if (device, rows) not in self._tiles:
            borders = np.asarray(self.borders, dtype=np.int64)
            self._tiles[device, rows] = _tiles(borders, device, rows, self.queries_from)
        return self._tiles[device, rows]


def _tiles(borders: np.ndarray, device: torch.device, rows: int, queries_from: int) -> Tiles:
    tiles = -(-np.diff(borders) // rows)
    document_N = np.repeat(np.arange(len(tiles)), tiles)
    place_N = np.arange(tiles.sum()) - np.repeat(np.cumsum(tiles) - tiles, tiles)
    start_N, stop_N = borders[:-1][document_N], borders[1:][document_N]
    first_N = start_N + place_N * rows
    query_N = np.maximum(first_N, np.where(document_N == document_N[:1], queries_from, 0))
    by_queries_N3 = np.stack([first_N, start_N, stop_N], axis=1)[first_N + rows > query_N]
    by_keys_N3 = np.stack([first_N, query_N, stop_N], axis=1)
    by_queries_N3 = by_queries_N3[np.argsort(by_queries_N3[:, 1] - by_queries_N3[:, 0], kind="stable")]
    by_keys_N3 = by_keys_N3[np.argsort(query_N - stop_N, kind="stable")]
    return Tiles(*(torch.from_numpy(x.astype(np.int32)).to(device) for x in (by_queries_N3, by_keys_N3)))


def _groups(borders: np.ndarray, device: torch.device) -> Iterator[Group]:
    lengths = np.diff(borders)
    classes = np.maximum(2 ** np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64), MIN_BLOCK)
    for size in np.unique(classes[lengths > 0]):
        members = np.flatnonzero((classes == size) & (lengths > 0))
        members = members[np.argsort(-lengths[members], kind="stable")]
        step = max(1, GROUP_ROWS // int(size))
        for first in range(0, len(members), step):
            part = members[first : first + step]
            yield _group(borders[part], lengths[part], min(int(size), QUERY_BLOCK), device)


def _group(starts: np.ndarray, lengths: np.ndarray, block: int, device: torch.device) -> Group:
    blocks = -(-lengths // block)
    place = np.arange(int(blocks.max()) * block)
    valid = place < lengths[:, None]
    rows = starts[:, None] + np.minimum(place, lengths[:, None] - 1)
    return Group(
        block=block,
        live=tuple(int((blocks > p).sum()) for p in range(int(blocks.max()))),
        rows=torch.from_numpy(rows).to(device),
        valid=None if valid.all() else torch.from_numpy(valid).to(device),
    )
