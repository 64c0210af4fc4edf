"""What documents leave behind for their next tokens: the states of a KDA layer, the latent keys of an MLA layer.

Odd: documents that are decoded together end at the same column, so that all of them go on at the next one; shorter ones
begin later, and the columns before them are never looked at.

B documents, S columns (tokens of the longest document), H heads, K key width, V value width, C channels H·K,
L latent width, R extra key dims, X = L + R.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor


@dataclass(slots=True)
class KDACache:
    """fp32 states and the last three inputs of each short convolution; empty until the first tokens have passed."""

    state_BHKV: Tensor | None = None
    tails: tuple[Tensor, Tensor, Tensor] | None = None  # q, k, v: [B, 3, C] each

    def take(self, row_R: Tensor) -> None:
        """Keeps these rows, in this order; a row may come twice."""
        assert self.state_BHKV is not None
        assert self.tails is not None
        self.state_BHKV = self.state_BHKV[row_R]
        q, k, v = self.tails
        self.tails = q[row_R], k[row_R], v[row_R]


@dataclass(slots=True)
class MLACache:
    """Normalised latents and the shared extra key dims of every token seen, joined: L + R numbers a token."""

    columns: int = 0
    before_BS: Tensor | None = None  # True in columns before a document's first; None when all begin together
    start_B: Tensor | None = None  # each document's first column
    _held_BSX: Tensor | None = None  # more columns than are filled, so that a token copies only itself

    @property
    def seen(self) -> Tensor:
        assert self._held_BSX is not None
        return self._held_BSX[:, : self.columns]

    def fill(self, x_TX: Tensor, borders: list[int]) -> None:
        """Takes the first tokens of packed documents."""
        lengths = [stop - start for start, stop in pairwise(borders)]
        self.columns = max(lengths)
        self._held_BSX = x_TX.new_zeros(len(lengths), _room(self.columns), x_TX.shape[1])
        for document, (start, stop) in enumerate(pairwise(borders)):
            self._held_BSX[document, self.columns - (stop - start) : self.columns] = x_TX[start:stop]
        self.start_B = torch.tensor([self.columns - length for length in lengths], device=x_TX.device)
        if min(lengths) < self.columns:
            self.before_BS = torch.arange(self._held_BSX.shape[1], device=x_TX.device) < self.start_B.unsqueeze(1)

    def append(self, x_BX: Tensor) -> None:
        """Takes one more token of each document."""
        assert self._held_BSX is not None
        if self.columns == self._held_BSX.shape[1]:
            more = _room(self.columns) - self.columns
            self._held_BSX = torch.nn.functional.pad(self._held_BSX, (0, 0, 0, more))
            if self.before_BS is not None:
                self.before_BS = torch.nn.functional.pad(self.before_BS, (0, more))
        self._held_BSX[:, self.columns] = x_BX
        self.columns += 1

    def take(self, row_R: Tensor) -> None:
        """Keeps these rows, in this order; a row may come twice. Columns stay: sums over them keep their order."""
        assert self._held_BSX is not None
        assert self.start_B is not None
        self._held_BSX, self.start_B = self._held_BSX[row_R], self.start_B[row_R]
        if self.before_BS is not None:
            self.before_BS = self.before_BS[row_R]


def _room(columns: int) -> int:
    """Columns to hold: a quarter more than are filled, so that growing costs little and wastes little."""
    return columns + max(64, columns // 4)


LayerCache = KDACache | MLACache
