"""A block of cross entropy in plain PyTorch, in fp32, or fp64 where an operand is.

N tokens of the block, D model width, V vocabulary.
"""

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["TorchPath"]

BLOCK_NUMBERS = 1 << 20  # logits of a block: 4 MiB in fp32 stay in a CPU's cache
MIN_BLOCK = 64  # tokens; fewer make the product with a large vocabulary slow


class WholeGradient:
    """One sum in the accumulation dtype."""

    def __init__(self, weight_VD: Tensor, dtype: torch.dtype) -> None:
        self.sum_VD = torch.zeros_like(weight_VD, dtype=dtype)
        self.dtype = weight_VD.dtype

    def add(self, dlogits_NV: Tensor, hidden_ND: Tensor) -> None:
        self.sum_VD.addmm_(dlogits_NV.T, hidden_ND)

    def take(self, scale: Tensor | None) -> Tensor:
        return (self.sum_VD if scale is None else self.sum_VD.mul_(scale)).to(self.dtype)


class TorchPath:
    def __init__(self, hidden_TD: Tensor, weight_VD: Tensor) -> None:
        self.dtype = accumulation_dtype(hidden_TD, weight_VD)
        self.weight_VD, self.given_VD = weight_VD.to(self.dtype), weight_VD

    def operand(self, hidden_ND: Tensor) -> Tensor:
        return hidden_ND.to(self.dtype)

    def rows(self, vocabulary: int) -> int:
        return max(MIN_BLOCK, BLOCK_NUMBERS // max(1, vocabulary))

    def logits(self, hidden_ND: Tensor) -> Tensor:
        return hidden_ND @ self.weight_VD.T

    def statistics(self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, hit_N: Tensor) -> None:
        torch.logsumexp(logits_NV, 1, out=lse_N)
        hit_N.copy_(target_logits(logits_NV, targets_N))

    def gradient(self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, weights_N: Tensor, z_loss: float) -> Tensor:
        dlogits_NV = logits_NV.sub_(lse_N.unsqueeze(1)).exp_()
        if z_loss:
            dlogits_NV.mul_(lse_N.mul(2 * z_loss).add_(1).unsqueeze(1))
        place_N1 = targets_N.clamp(min=0).unsqueeze(1)
        here_N1 = (targets_N >= 0).unsqueeze(1).to(self.dtype)
        dlogits_NV.scatter_(1, place_N1, dlogits_NV.gather(1, place_N1) - here_N1)
        return dlogits_NV.mul_(weights_N.to(self.dtype).unsqueeze(1))

    def both(
        self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, hit_N: Tensor, weights_N: Tensor, z_loss: float
    ) -> Tensor:
        self.statistics(logits_NV, targets_N, lse_N, hit_N)
        return self.gradient(logits_NV, targets_N, lse_N, weights_N, z_loss)

    def dhidden(self, dlogits_NV: Tensor) -> Tensor:
        return dlogits_NV @ self.weight_VD

    def dweight(self) -> WholeGradient:
        return WholeGradient(self.given_VD, self.dtype)


def target_logits(logits_NV: Tensor, targets_N: Tensor) -> Tensor:
    """Each row's logit at its target, 0 where that is −1: another rank's. One outside the vocabulary raises."""
    hit_N = logits_NV.gather(1, targets_N.clamp(min=0).unsqueeze(1)).squeeze(1)
    return hit_N.masked_fill_(targets_N < 0, 0)
