"""The router with its gradient, and what Quantile Balancing counts of it: in one Triton launch, or by plain PyTorch.

Chosen scores and their sum are kept for the backward, nothing of size [T, E].
T tokens, E experts, K experts a token, B bins.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.dispatch import use_triton
from trivium.kernels.packed import accumulation_dtype
from trivium.kernels.quantile import bounds, histogram

__all__ = ["Route", "by_kernel", "by_torch", "count"]

MOST_EXPERTS = 4096  # a row's logits stand in the registers of one program


class Route(torch.autograd.Function):
    """`bins`: None: nothing is counted, 0: the routed tokens alone. `real_T` marks the tokens that are counted."""

    @staticmethod
    def forward(
        ctx: Any, logits_TE: Tensor, bias_E: Tensor, k: int, bins: int | None, real_T: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        kernel = use_triton("route", logits_TE, fits=logits_TE.shape[1] <= MOST_EXPERTS)
        indices_TK, probs_TK, chosen_TK, cutoff_T, counts_EX = (by_kernel if kernel else by_torch)(
            logits_TE, bias_E, k, bins, real_T
        )
        ctx.save_for_backward(indices_TK, chosen_TK)
        ctx.shape, ctx.dtype = logits_TE.shape, logits_TE.dtype
        ctx.mark_non_differentiable(indices_TK, cutoff_T, *(() if counts_EX is None else (counts_EX,)))
        return indices_TK, probs_TK, cutoff_T, counts_EX

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _di: Tensor, dprobs_TK: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        indices_TK, chosen_TK = ctx.saved_tensors
        total_T1 = chosen_TK.sum(-1, keepdim=True)
        mean_T1 = (dprobs_TK * chosen_TK).sum(-1, keepdim=True) / total_T1
        dchosen_TK = (dprobs_TK - mean_T1) / total_T1 * chosen_TK * (1 - chosen_TK)
        return _spread_over_experts(indices_TK, dchosen_TK, ctx.shape[1]).to(ctx.dtype), None, None, None, None


Routed = tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]


def by_kernel(logits_TE: Tensor, bias_E: Tensor, k: int, bins: int | None, real_T: Tensor | None) -> Routed:
    from trivium.kernels.moe.triton_route import route_rows

    bounds_2 = None if bins is None else torch.stack(bounds(bias_E, max(bins, 1)))
    *routed, counts_EX = route_rows(logits_TE, bias_E, k, bounds_2, bins or 0, real_T)
    return (*routed, None if counts_EX is None else counts_EX.long())


def by_torch(logits_TE: Tensor, bias_E: Tensor, k: int, bins: int | None, real_T: Tensor | None) -> Routed:
    scores_TE = torch.sigmoid(logits_TE.to(accumulation_dtype(logits_TE)))
    values_TK1, indices_TK1 = (scores_TE + bias_E.to(scores_TE.dtype)).topk(k + 1, dim=-1)
    indices_TK, cutoff_T = indices_TK1[:, :k].contiguous(), values_TK1[:, k].contiguous()
    chosen_TK = scores_TE.gather(1, indices_TK)
    counts_EX = None if bins is None else count(scores_TE, indices_TK, cutoff_T, bias_E, bins, real_T)
    return indices_TK, chosen_TK / chosen_TK.sum(-1, keepdim=True), chosen_TK, cutoff_T, counts_EX


def count(
    scores_TE: Tensor, indices_TK: Tensor, cutoff_T: Tensor, bias_E: Tensor, bins: int, real_T: Tensor | None
) -> Tensor:
    """One pass's counts, int64 [E, 1 + B]: tokens routed to each expert, then the histogram of its margins."""
    chosen_TK = indices_TK if real_T is None else indices_TK[real_T]
    load_E1 = torch.bincount(chosen_TK.flatten(), minlength=scores_TE.shape[1])[:, None]
    if not bins:
        return load_E1
    return torch.cat([load_E1, histogram(scores_TE, cutoff_T, bias_E, bins, real_T)], dim=1)


def _spread_over_experts(indices_TK: Tensor, values_TK: Tensor, experts: int) -> Tensor:
    """Zeros [T, E] with `values` in the columns `indices`; torch's deterministic scatter waits for the GPU."""
    if use_triton("route's gradient", values_TK, dtypes=(torch.float32,)):
        from trivium.kernels.moe.triton_spread import spread

        return spread(indices_TK, values_TK, experts)
    return values_TK.new_zeros(len(values_TK), experts).scatter_(1, indices_TK, values_TK)
