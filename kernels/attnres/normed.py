"""A mixture over depth and the norm that reads it; kept for the gradient are the sources, and two numbers a source.

With plain residuals each sublayer's input is kept for its norm. Here the running sum, one of the sources, is kept in
its place, and the bank's entries were running sums before: so both keep the same rows (K3 report, section 5.2.2). The
backward pass mixes and normalises once more.

N sources, T tokens, D model width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.attnres.shared import owners
from trivium.kernels.attnres.torch_attnres import gradients, mix, weigh
from trivium.kernels.gated_norm import rms_norm

__all__ = ["NormedAttnRes"]


class NormedAttnRes(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query_D: Tensor, gamma_D: Tensor, weight_D: Tensor, eps: float, norm_eps: float, *sources: Tensor
    ) -> Tensor:
        logits_NT, r_NT = weigh(query_D, gamma_D, eps, sources)
        ctx.norm_eps = norm_eps
        ctx.owners = owners(sources)
        ctx.save_for_backward(query_D, gamma_D, weight_D, logits_NT, r_NT, *sources)
        return rms_norm(mix(logits_NT, sources), weight_D, norm_eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_TD: Tensor) -> tuple[Tensor | None, ...]:
        query_D, gamma_D, weight_D, logits_NT, r_NT, *sources = ctx.saved_tensors
        h_TD = mix(logits_NT, sources).requires_grad_()
        with torch.enable_grad():
            weight_D = weight_D.detach().requires_grad_()
            y_TD = rms_norm(h_TD, weight_D, ctx.norm_eps)
        dh_TD, dweight_D = torch.autograd.grad(y_TD, (h_TD, weight_D), dy_TD)
        dquery_D, dgamma_D, _, *grads = gradients(
            dh_TD, query_D, gamma_D, logits_NT, r_NT, sources, ctx.needs_input_grad[5:], ctx.owners
        )
        return dquery_D, dgamma_D, dweight_D, None, None, *grads
