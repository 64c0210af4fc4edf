"""Quantile Balancing from integer histograms: counts add exactly over micro-batches, shards and ranks.

T tokens, E experts, B bins. All ranks must hold the same bias, since it fixes the bins' range.
"""

import torch
from torch import Tensor

__all__ = ["BINS", "bounds", "histogram", "quantile", "quantile_bias"]

BINS = 1000  # K3 report, section 2.3.3


def bounds(bias_E: Tensor, bins: int) -> tuple[Tensor, Tensor]:
    """The lower end of the bins and the width of one, in fp64 on the bias's device."""
    # fp64: with fp32 a margin on a bin's edge could fall on either side from one device to another.
    bias_E = bias_E.detach().double()
    low = bias_E.amin() - 1
    return low, (bias_E.amax() + 1 - low) / bins


@torch.no_grad()
def histogram(
    scores_TE: Tensor, cutoff_T: Tensor, bias_E: Tensor, bins: int = BINS, mask_T: Tensor | None = None
) -> Tensor:
    """Count the margins cutoff − score of all tokens and experts: int64 [E, B] over [min bias − 1, max bias + 1].

    `scores_TE`: sigmoid scores without bias; `cutoff_T`: the (k+1)-th largest of score + bias; `mask_T`: True = counted
    (leave padding out). Call it only in training, and never from a recomputed forward.
    """
    E = scores_TE.shape[1]
    low, width = bounds(bias_E, bins)
    bin_TE = ((cutoff_T.unsqueeze(-1).double() - scores_TE.double() - low) / width).long().clamp_(0, bins - 1)
    bin_TE += torch.arange(E, device=bin_TE.device) * bins
    if mask_T is not None:
        bin_TE = bin_TE[mask_T]
    return torch.bincount(bin_TE.reshape(-1), minlength=E * bins).view(E, bins)


@torch.no_grad()
def quantile(histogram_EB: Tensor, bias_E: Tensor, tokens: int | Tensor, k: int) -> Tensor:
    """Return the (k/E)-quantile of each expert's margins [E] in fp64, within one bin's width of the exact one."""
    E, bins = histogram_EB.shape
    low, width = bounds(bias_E, bins)
    target = torch.as_tensor(tokens, device=histogram_EB.device).double() * k / E
    below_EB = histogram_EB.cumsum(1)
    bin_E1 = (below_EB >= target.ceil()).long().argmax(1, keepdim=True)
    count_E = histogram_EB.gather(1, bin_E1).squeeze(1)
    before_E = below_EB.gather(1, bin_E1).squeeze(1) - count_E
    inside_E = ((target - before_E) / count_E.clamp(min=1)).clamp(0, 1)
    return low + (bin_E1.squeeze(1) + inside_E) * width


@torch.no_grad()
def quantile_bias(histogram_EB: Tensor, bias_E: Tensor, tokens: int | Tensor, k: int, ema: float = 0.0) -> Tensor:
    """Return the next step's bias [E] (mean 0, dtype of `bias_E`); unchanged when no token was counted.

    `tokens` are those counted in `histogram_EB` over all micro-batches and ranks; a tensor avoids a device sync. `ema`
    is the share of the old bias that stays, of a bias of zeros none.
    """
    value_E = quantile(histogram_EB, bias_E, tokens, k)
    next_E = value_E - value_E.mean()
    if ema:
        next_E = torch.where(bias_E.any(), ema * bias_E.to(next_E.dtype) + (1 - ema) * next_E, next_E)
    empty = torch.as_tensor(tokens, device=bias_E.device) == 0
    return torch.where(empty, bias_E, next_E.to(bias_E.dtype))
