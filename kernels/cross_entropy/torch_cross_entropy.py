"""Cross entropy in blocks of tokens: logits of one block exist at a time, and the backward makes them again.

T tokens, D model width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.cross_entropy.reference import IGNORE
from trivium.kernels.packed import accumulation_dtype

__all__ = ["CrossEntropy"]

BLOCK_NUMBERS = 1 << 20  # logits of a block: 4 MiB in fp32 stay in a CPU's cache
MIN_BLOCK = 64  # tokens; fewer make the product with a large vocabulary slow


def _block(vocabulary: int) -> int:
    return max(MIN_BLOCK, BLOCK_NUMBERS // vocabulary)


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
        dtype = accumulation_dtype(hidden_TD, weight_VD)
        kept = (targets_T != IGNORE).nonzero().squeeze(1)  # media tokens carry no loss and cost nothing
        weight_DV = weight_VD.to(dtype).T
        lse, loss = hidden_TD.new_empty(len(kept), dtype=dtype), hidden_TD.new_zeros(len(targets_T), dtype=dtype)
        for rows, lse_part in zip(kept.split(_block(len(weight_VD))), lse.split(_block(len(weight_VD))), strict=True):
            logits = hidden_TD.index_select(0, rows).to(dtype) @ weight_DV
            hit = logits.gather(1, targets_T.index_select(0, rows).unsqueeze(1)).squeeze(1)
            torch.logsumexp(logits, 1, out=lse_part)
            loss.index_copy_(0, rows, lse_part - hit)
        ctx.save_for_backward(hidden_TD, weight_VD, targets_T, kept, lse)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dloss_T: Tensor) -> tuple[Tensor | None, ...]:
        hidden_TD, weight_VD, targets_T, kept, lse = ctx.saved_tensors
        weight = weight_VD.to(lse.dtype)
        dhidden_TD = torch.zeros_like(hidden_TD)
        dweight_VD = torch.zeros_like(weight)
        for rows, lse_part in zip(kept.split(_block(len(weight))), lse.split(_block(len(weight))), strict=True):
            hidden = hidden_TD.index_select(0, rows).to(lse.dtype)
            dlogits = (hidden @ weight.T).sub_(lse_part.unsqueeze(1)).exp_()
            targets = targets_T.index_select(0, rows).unsqueeze(1)
            dlogits.scatter_(1, targets, dlogits.gather(1, targets) - 1)
            dlogits.mul_(dloss_T.index_select(0, rows).unsqueeze(1))
            dhidden_TD.index_copy_(0, rows, (dlogits @ weight).to(hidden_TD.dtype))
            dweight_VD.addmm_(dlogits.T, hidden)
        return dhidden_TD, dweight_VD.to(weight_VD.dtype), None
