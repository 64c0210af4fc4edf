"""Which rows of a packed row a shift would carry over a document's border.

D documents, T tokens in the row.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from trivium.kernels.packed import offsets
from trivium.kernels.short_conv.reference import WIDTH

__all__ = ["TapPlan"]


@dataclass(frozen=True, slots=True)
class TapPlan:
    """The borders of one packed row; depends on `cu_seqlens` alone, so that all layers of a step share it."""

    borders: tuple[int, ...]
    firsts: tuple[Tensor, ...]  # firsts[i]: row number i of each document that has it
    lasts: tuple[Tensor, ...]  # lasts[i]: row number i from the end

    @property
    def tokens(self) -> int:
        return self.borders[-1]

    @staticmethod
    def build(cu_seqlens: Tensor, tokens: int, device: torch.device | str = "cpu") -> "TapPlan":
        """Raises ValueError when `cu_seqlens` doesn't run from 0 to `tokens`."""
        borders = offsets(cu_seqlens, tokens)
        firsts, lasts = [], []
        for place in range(WIDTH - 1):
            long_enough = [(start, stop) for start, stop in pairwise(borders) if stop - start > place]
            firsts.append(torch.tensor([start + place for start, _ in long_enough], dtype=torch.long, device=device))
            lasts.append(torch.tensor([stop - 1 - place for _, stop in long_enough], dtype=torch.long, device=device))
        return TapPlan(tuple(borders), tuple(firsts), tuple(lasts))
