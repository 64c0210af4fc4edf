"""Rows between token order and expert order, by plain PyTorch: take a token's row for each pair, mix a token's rows.

T tokens, E experts, K experts a token, L width of a row, P = T·K pairs, sorted by expert.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["clear_idle", "mix_rows", "take_rows"]


def take_rows(x_TL: Tensor, place_P: Tensor, K: int) -> Tensor:
    """Each token's row at the places of its pairs: [P, L]."""
    return x_TL.index_select(0, place_P.argsort() // K)


def mix_rows(parts: Sequence[Tensor], place_P: Tensor, K: int) -> Tensor:
    """Σ over a token's K rows and over `parts` [P, L], in fp32, in one order: [T, L] in the dtype of the parts."""
    sums = [part.index_select(0, place_P).unflatten(0, (-1, K)).sum(1, dtype=torch.float32) for part in parts]
    return sum(sums[1:], sums[0]).to(parts[0].dtype)


def clear_idle(dw_EXY: Tensor, ends_E: Tensor) -> None:
    """Writes zeros where an expert has no rows: not every architecture's grouped product does."""
    idle_E11 = (ends_E == torch.cat([ends_E.new_zeros(1), ends_E[:-1]]))[:, None, None]
    dw_EXY.masked_fill_(idle_E11, 0)
