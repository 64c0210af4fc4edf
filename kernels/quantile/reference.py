"""The definition of Quantile Balancing: the exact quantile by sorting (K3 report, section 2.3.3 and appendix C).

T tokens, E experts.
"""

import torch
from torch import Tensor

__all__ = ["quantile_reference"]


def quantile_reference(scores_TE: Tensor, cutoff_T: Tensor, k: int, mask_T: Tensor | None = None) -> Tensor:
    """Return the ⌈T·k/E⌉-th smallest of cutoff − score of each expert [E], before the mean is taken off.

    An expert with a bias between this value and the next larger one is chosen by exactly ⌈T·k/E⌉ tokens of this batch.
    """
    if mask_T is not None:
        scores_TE, cutoff_T = scores_TE[mask_T], cutoff_T[mask_T]
    T, E = scores_TE.shape
    rank = -(-T * k // E)
    return torch.sort(cutoff_T.unsqueeze(-1) - scores_TE, dim=0).values[rank - 1]
