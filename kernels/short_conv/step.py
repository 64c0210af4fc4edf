"""One token of the short convolution from the last three inputs, for decoding.

B sequences, C channels.
"""

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["short_conv_step"]


def short_conv_step(x_BC: Tensor, weight_C4: Tensor, tail_B3C: Tensor) -> tuple[Tensor, Tensor]:
    """Return (y_BC in x's dtype, the next tail [B, 3, C]) for one token of each of B sequences; nothing in place."""
    dtype = accumulation_dtype(x_BC, weight_C4)
    seen_B4C = torch.cat([tail_B3C, x_BC.unsqueeze(1)], dim=1)
    pre_BC = (seen_B4C.to(dtype) * weight_C4.to(dtype).t()).sum(1)
    return torch.nn.functional.silu(pre_BC).to(x_BC.dtype), seen_B4C[:, 1:]
