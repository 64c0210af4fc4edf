"""The PyTorch path: neighbouring grids of equal size share one batched attention.

I grids of a group, P patches in the row, N patches a grid, H heads, D head width.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["SOUND", "grouped_attention"]

# All but cuDNN's, which PyTorch prefers on Hopper: where a length is an odd multiple of 64 (112 pixels a side are 64
# patches) and all logits of a row lie below -88.7, its backward pass gives nan (pytorch/pytorch#196678).
SOUND = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def grouped_attention(q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, borders: Sequence[int]) -> Tensor:
    """o_PHD of grids between `borders`."""
    parts, first = [], 0
    with sdpa_kernel(SOUND):
        for patches, grids in groupby(stop - start for start, stop in pairwise(borders)):
            count = len(list(grids))
            if patches:
                span = slice(first, first + count * patches)
                parts.append(_group(q_PHD[span], k_PHD[span], v_PHD[span], count))
            first += count * patches
    return torch.cat(parts) if parts else v_PHD + 0 * (q_PHD + k_PHD)


def _group(q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, count: int) -> Tensor:
    q_IHND, k_IHND, v_IHND = (x.unflatten(0, (count, -1)).transpose(1, 2) for x in (q_PHD, k_PHD, v_PHD))
    return F.scaled_dot_product_attention(q_IHND, k_IHND, v_IHND).transpose(1, 2).flatten(0, 1)
