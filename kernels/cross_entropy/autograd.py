"""Two ways to a gradient: logits made again for any weights that come back, or gradients taken as the logits pass.

When the tokens' weights are known beforehand the second saves a product in four and a pass over the logits: the
forward keeps the gradient of the total, and the backward multiplies it by one number on the device.
Odd: that gradient is handed out, so a second backward through one graph makes it again.
T tokens, N tokens with a loss, D model width, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.cross_entropy.blocks import Kept, Path, Result, run
from trivium.kernels.cross_entropy.shard import VocabularyShard, local

__all__ = ["CrossEntropy", "LinearCrossEntropy", "TritonCrossEntropy", "TritonLinearCrossEntropy"]

Make = Callable[[Tensor, Tensor], Path]


class CrossEntropy(torch.autograd.Function):
    """loss [T] of hidden [T, D], weight [V, D] and targets [T]."""

    @staticmethod
    def forward(
        ctx: Any, hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor, make: Make, shard: VocabularyShard | None
    ) -> Tensor:
        kept = Kept.of(targets_T, None)
        hidden_ND, targets_N = kept.gather(hidden_TD), kept.gather(targets_T)
        targets_N = local(targets_N, len(weight_VD), shard)
        found = run(make(hidden_TD, weight_VD), hidden_ND, targets_N, shard, len(weight_VD))
        ctx.save_for_backward(hidden_ND, weight_VD, targets_N, found.lse_N)
        ctx.kept, ctx.make, ctx.shard = kept, make, shard
        return kept.spread(found.lse_N - found.hit_N)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dloss_T: Tensor) -> tuple[Tensor | None, ...]:
        hidden_ND, weight_VD, targets_N, lse_N = ctx.saved_tensors
        found = run(
            ctx.make(hidden_ND, weight_VD), hidden_ND, targets_N, ctx.shard, len(weight_VD), lse_N=lse_N,
            weights_N=ctx.kept.gather(dloss_T), wants=ctx.needs_input_grad[:2],
        )  # fmt: skip
        return *_gradients(found, ctx.kept, None), None, None, None


class TritonCrossEntropy(CrossEntropy):
    """The same by Triton's kernels: its node in a graph tells which path ran."""


class LinearCrossEntropy(torch.autograd.Function):
    """Σ weight · (loss + z_loss · lse²), loss [T], lse [T]; the first alone is differentiable."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_TD: Tensor,
        weight_VD: Tensor,
        targets_T: Tensor,
        weights_T: Tensor | None,
        z_loss: float,
        count: int | None,
        shard: VocabularyShard | None,
        make: Make,
        grad_mode: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        kept = Kept.of(targets_T, count)
        wants = ctx.needs_input_grad[:2] if grad_mode else (False, False)
        found, weights_N = _taken(hidden_TD, weight_VD, weights_T, kept, z_loss, make, shard, wants)
        loss_N = found.lse_N - found.hit_N
        term_N = torch.addcmul(loss_N, found.lse_N, found.lse_N, value=z_loss) if z_loss else loss_N
        total = (term_N * weights_N).sum()
        if any(wants):
            ctx.save_for_backward(hidden_TD, weight_VD, weights_T)
            ctx.found, ctx.kept, ctx.options, ctx.wants = found, kept, (z_loss, make, shard), wants
        loss_T, lse_T = kept.spread(loss_N), kept.spread(found.lse_N)
        ctx.mark_non_differentiable(loss_T, lse_T)
        return total, loss_T, lse_T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dtotal: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        hidden_TD, weight_VD, weights_T = ctx.saved_tensors
        found, ctx.found = ctx.found, None
        if found is None:
            found, _ = _taken(hidden_TD, weight_VD, weights_T, ctx.kept, *ctx.options, ctx.wants)
        return *_gradients(found, ctx.kept, dtotal), *[None] * 7


class TritonLinearCrossEntropy(LinearCrossEntropy):
    """The same by Triton's kernels."""


def _taken(
    hidden_TD: Tensor,
    weight_VD: Tensor,
    weights_T: Tensor | None,
    kept: Kept,
    z_loss: float,
    make: Make,
    shard: VocabularyShard | None,
    wants: tuple[bool, bool],
) -> tuple[Result, Tensor]:
    """Statistics and gradients of the total in one pass, and the weights of the tokens that have a target."""
    path = make(hidden_TD, weight_VD)
    hidden_ND, targets_N = kept.gather(hidden_TD), kept.gather(kept.targets_T)
    targets_N = local(targets_N, len(weight_VD), shard)
    if weights_T is None:
        weights_N = hidden_ND.new_ones(len(hidden_ND), dtype=path.dtype)
    else:
        weights_N = kept.gather(weights_T).to(path.dtype)
    found = run(path, hidden_ND, targets_N, shard, len(weight_VD), weights_N=weights_N, z_loss=z_loss, wants=wants)
    return found, weights_N


def _gradients(found: Result, kept: Kept, scale: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    dhidden_ND, dweight = found.dhidden_ND, found.dweight
    if dhidden_ND is not None and scale is not None:
        dhidden_ND.mul_(scale)
    return (
        None if dhidden_ND is None else kept.spread(dhidden_ND),
        None if dweight is None else dweight.take(scale),
    )
