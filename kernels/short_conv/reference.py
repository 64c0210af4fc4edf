"""The definition of the short convolution: depthwise, causal, width 4, SiLU, begun anew at each document.

D documents, T tokens in the row, C channels.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trivium.kernels.packed import offsets

__all__ = ["WIDTH", "short_conv_reference"]

WIDTH = 4  # taps, K3 report section 2.1


def short_conv_reference(
    x_TC: Tensor, weight_C4: Tensor, cu_seqlens: Tensor, *, initial_tail: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return (SiLU(Σ_j w[:, 3 − j] x[t − j]) [T, C], final tails [D, 3, C]); before a document lies its tail or 0."""
    T, C = x_TC.shape
    borders = offsets(cu_seqlens, T)
    outputs, tails = [x_TC[:0]], []
    for document in range(len(borders) - 1):
        tail_3C = x_TC.new_zeros(WIDTH - 1, C) if initial_tail is None else initial_tail[document].to(x_TC.dtype)
        padded = torch.cat([tail_3C, x_TC[borders[document] : borders[document + 1]]])
        tails.append(padded[padded.shape[0] - (WIDTH - 1) :])
        length = borders[document + 1] - borders[document]
        sums = [padded[tap : tap + length] * weight_C4[:, tap] for tap in range(WIDTH)]
        outputs.append(F.silu(sums[0] + sums[1] + sums[2] + sums[3]))
    return torch.cat(outputs), torch.stack(tails) if tails else x_TC.new_zeros(0, WIDTH - 1, C)
