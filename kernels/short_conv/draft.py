"""The short convolution of drafted tokens: the tail takes in those of the last step that were accepted.

B sequences, N drafted tokens now, M in the last step, C channels.
"""

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.packed import accumulation_dtype
from trivium.kernels.short_conv.reference import WIDTH

__all__ = ["short_conv_draft"]


@torch.no_grad()
def short_conv_draft(
    x_BNC: Tensor,
    weight_C4: Tensor,
    tail_B3C: Tensor,
    last_BMC: Tensor | None = None,
    accepted_B: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (y_BNC in x's dtype, the tail [B, 3, C] behind the accepted tokens of `last_BMC`); nothing in place.

    The next step takes this tail, and `x_BNC` as its `last_BMC`. `accepted_B` is never read by the host.
    Raises ValueError when one of `last_BMC` and `accepted_B` is missing.
    """
    if (last_BMC is None) != (accepted_B is None):
        raise ValueError("`last_BMC` and `accepted_B` belong together: give both, or none at the first step")
    if use_triton("short_conv_draft", x_BNC):
        from trivium.kernels.short_conv.triton_draft import draft

        return draft(x_BNC, weight_C4, tail_B3C, last_BMC, accepted_B)
    if last_BMC is not None and accepted_B is not None:
        seen_BXC = torch.cat([tail_B3C, last_BMC.to(tail_B3C.dtype)], 1)
        places_B3 = accepted_B.long().unsqueeze(1) + torch.arange(WIDTH - 1, device=x_BNC.device)
        tail_B3C = torch.take_along_dim(seen_BXC, places_B3.unsqueeze(2), 1)
    dtype = accumulation_dtype(x_BNC, weight_C4)
    seen_BXC = torch.cat([tail_B3C, x_BNC.to(tail_B3C.dtype)], 1).to(dtype)
    windows_BNC4 = seen_BXC.unfold(1, WIDTH, 1)
    pre_BNC = (windows_BNC4 * weight_C4.to(dtype)).sum(-1)
    return torch.nn.functional.silu(pre_BNC).to(x_BNC.dtype), tail_B3C
