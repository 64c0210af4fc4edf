"""Where the tokens of a packed row go when the row is cut into chunks.

Each document is cut into chunks of 64 tokens, the last one padded. Chunks are ordered by their position in the document
and, within a position, by the length of the document: the chunks that the state loop treats together, and those that go
on after them, are then slices, never gathers. Empty documents have no chunk.
D documents, N chunks, C rows a chunk, T tokens.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trivium.kernels.packed import expect_row, offsets

__all__ = ["CHUNK", "TILE", "ChunkPlan", "Cuts"]

CHUNK, TILE = 64, 16  # K3 report, section 2.1.1


@dataclass(frozen=True, slots=True)
class Cuts:
    """The same chunks as kernels index them, in the order of the row (int32)."""

    chunks_N2: Tensor  # first token, rows
    documents_D4: Tensor  # documents that are not empty, longest first: number, first token, end, first chunk


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """The layout of one packed row; depends on `cu_seqlens` alone, so that all layers of a step share it."""

    tokens: int
    documents: int
    rows_NC: Tensor  # token of each chunk row; a padded row repeats its document's last token, so that it stays finite
    valid_NC: Tensor | None  # None when no row is padded
    inverse_T: Tensor  # chunk row of each token
    order: Tensor  # documents that are not empty, longest first
    live: tuple[int, ...]  # live[p]: documents that have a chunk at position p; falls with p
    borders: tuple[int, ...]
    _by_heads: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict, compare=False, repr=False)
    _by_device: dict[torch.device, Cuts] = field(default_factory=dict, compare=False, repr=False)
    segments: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # kept by `segment_plan.cut`

    @staticmethod
    def build(cu_seqlens: Tensor, tokens: int, device: torch.device | str = "cpu") -> "ChunkPlan":
        """Raises ValueError when `cu_seqlens` doesn't run from 0 to `tokens`."""
        borders = np.asarray(offsets(cu_seqlens, tokens), dtype=np.int64)
        lengths = np.diff(borders)
        chunks = -(-lengths // CHUNK)
        order = np.argsort(-chunks, kind="stable")
        order = order[chunks[order] > 0]
        live = np.array([(chunks > p).sum() for p in range(int(chunks.max(initial=0)))], dtype=np.int64)
        position_N = np.repeat(np.arange(len(live)), live)
        slot_N = np.arange(live.sum()) - np.repeat(np.cumsum(live) - live, live)
        document_N = order[slot_N]
        rows_NC = (borders[document_N] + position_N * CHUNK)[:, None] + np.arange(CHUNK)
        last_N1 = borders[document_N + 1][:, None] - 1
        valid_NC = rows_NC <= last_N1
        rows_NC = np.minimum(rows_NC, last_N1)
        inverse_T = np.empty(tokens, dtype=np.int64)
        inverse_T[rows_NC[valid_NC]] = np.flatnonzero(valid_NC)
        return ChunkPlan(
            tokens=tokens,
            documents=len(lengths),
            rows_NC=torch.from_numpy(rows_NC).to(device),
            valid_NC=None if valid_NC.all() else torch.from_numpy(valid_NC).to(device),
            inverse_T=torch.from_numpy(inverse_T).to(device),
            order=torch.from_numpy(order).to(device),
            live=tuple(int(count) for count in live),
            borders=tuple(borders.tolist()),
        )

    @staticmethod
    def of(plan: "ChunkPlan | None", cu_seqlens: Tensor, tokens: int, device: torch.device) -> "ChunkPlan":
        """`plan`, or where there is none one of this row; raises ValueError for a plan of another row."""
        if plan is None:
            return ChunkPlan.build(cu_seqlens, tokens, device)
        expect_row(plan.borders, cu_seqlens, tokens)
        return plan

    def places(self, heads: int) -> tuple[Tensor, Tensor]:
        """Two indices, kept for the next layer: [N·H·C] into a row seen as [T·H, …] that yields [N, H, C, …]; back."""
        if heads not in self._by_heads:
            head_H = torch.arange(heads, device=self.rows_NC.device)
            rows_NHC = self.rows_NC.unsqueeze(1) * heads + head_H.unsqueeze(1)
            chunk_T, row_T = self.inverse_T // CHUNK, self.inverse_T % CHUNK
            inverse_TH = (chunk_T.unsqueeze(1) * heads + head_H) * CHUNK + row_T.unsqueeze(1)
            self._by_heads[heads] = rows_NHC.reshape(-1), inverse_TH.reshape(-1)
        return self._by_heads[heads]

    def cuts(self, device: torch.device) -> Cuts:
        """Kept for the next layer."""
        if device not in self._by_device:
            borders = np.asarray(self.borders, dtype=np.int64)
            starts, lengths = borders[:-1], np.diff(borders)
            chunks = -(-lengths // CHUNK)
            first = np.cumsum(chunks) - chunks
            start_N = np.repeat(starts - first * CHUNK, chunks) + np.arange(chunks.sum()) * CHUNK
            rows_N = np.minimum(np.repeat(borders[1:], chunks) - start_N, CHUNK)
            order = np.argsort(-chunks, kind="stable")
            order = order[chunks[order] > 0]
            documents = np.stack([order, starts[order], borders[1:][order], first[order]], 1)
            arrays = (np.stack([start_N, rows_N], 1), documents)
            self._by_device[device] = Cuts(*(torch.from_numpy(a.astype(np.int32)).to(device) for a in arrays))
        return self._by_device[device]
