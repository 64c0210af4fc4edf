"""Which rows of a packed row a shift would carry over a document's border.

D documents, T tokens in the row.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from trivium.kernels.packed import expect_row, offsets
from trivium.kernels.short_conv.reference import WIDTH

__all__ = ["Places", "TapPlan"]


@dataclass(frozen=True, slots=True)
class Places:
    """The same borders as kernels index them."""

    place_T: Tensor  # int32: place of each token in its document
    document_T: Tensor  # int32
    starts: Tensor  # int64 [D + 1]


@dataclass(frozen=True, slots=True)
class TapPlan:
    """The borders of one packed row; depends on `cu_seqlens` alone, so that all layers of a step share it."""

    borders: tuple[int, ...]
    firsts: tuple[Tensor, ...]  # firsts[i]: row number i of each document that has it
    lasts: tuple[Tensor, ...]  # lasts[i]: row number i from the end
    _by_device: dict[torch.device, Places] = field(default_factory=dict, compare=False, repr=False)

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

    @staticmethod
    def of(plan: "TapPlan | None", cu_seqlens: Tensor, tokens: int, device: torch.device) -> "TapPlan":
        """`plan`, or where there is none one of this row; raises ValueError for a plan of another row."""
        if plan is None:
            return TapPlan.build(cu_seqlens, tokens, device)
        expect_row(plan.borders, cu_seqlens, tokens)
        return plan

    def places(self, device: torch.device) -> Places:
        """Kept for the next layer."""
        if device not in self._by_device:
            starts = np.asarray(self.borders, dtype=np.int64)
            lengths = np.diff(starts)
            document_T = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
            place_T = (np.arange(self.tokens) - np.repeat(starts[:-1], lengths)).astype(np.int32)
            arrays = (torch.from_numpy(array).to(device) for array in (place_T, document_T, starts))
            self._by_device[device] = Places(*arrays)
        return self._by_device[device]
