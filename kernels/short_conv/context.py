"""The short convolution over ranks that hold shares of one row: three inputs of the rank before, by one all-gather.

T tokens of a share, C channels, R ranks.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.context import Share, gather
from trivium.kernels.short_conv import TapPlan, short_conv
from trivium.kernels.short_conv.reference import WIDTH

__all__ = ["short_conv_context_parallel"]

HALO = WIDTH - 1


class _Halo(torch.autograd.Function):
    """The three inputs before a share, 0 before its first document; their gradient goes back where they came from."""

    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, share: Share, group: dist.ProcessGroup | None) -> Tensor:
        ctx.share, ctx.group = share, group
        halo_3C = torch.zeros_like(x_TC[:HALO])
        everyone_R3C = gather(x_TC[-HALO:], share, group)
        seen = min(HALO, share.reach)
        if seen:
            halo_3C[-seen:] = everyone_R3C[share.rank - 1, -seen:]
        ctx.seen, ctx.shape = seen, x_TC.shape
        return halo_3C

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dhalo_3C: Tensor) -> tuple[Tensor | None, ...]:
        share: Share = ctx.share
        dhalo_3C = dhalo_3C.clone()
        dhalo_3C[: HALO - ctx.seen] = 0
        everyone_R3C = gather(dhalo_3C, share, ctx.group)
        dx_TC = dhalo_3C.new_zeros(ctx.shape)
        if share.ends > share.rank:
            dx_TC[-HALO:] = everyone_R3C[share.rank + 1]
        return dx_TC, None, None


def short_conv_context_parallel(
    x_TC: Tensor, weight_C4: Tensor, share: Share, *, plan: TapPlan | None = None,
    group: dist.ProcessGroup | None = None,
) -> Tensor:  # fmt: skip
    """Return y_TC of this rank's share; all ranks call it, and all go backwards through it.

    `plan` of `share.cu_seqlens`. Several streams side by side in C cost one exchange. The weight's gradient is the
    share's part of a sum.
    """
    halo_3C = _Halo.apply(x_TC, share, group)
    others = x_TC.new_zeros(len(share.borders) - 2, HALO, x_TC.shape[1])
    tails = torch.cat([halo_3C.unsqueeze(0), others])
    return short_conv(x_TC, weight_C4, share.cu_seqlens, initial_tail=tails, plan=plan)
