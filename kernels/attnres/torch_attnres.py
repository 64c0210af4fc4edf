"""Attention Residuals source by source: no stacked copy of the bank, two numbers a source and token kept.

logit_i = r_i (v_i · a) with r_i = rsqrt(mean v_i² + eps) and a = query ⊙ gamma; h = Σ e_i v_i / Σ e_i.
N sources, T tokens, D model width, S queries.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.attnres.shared import Owner, hand_in, owners
from trivium.kernels.packed import accumulation_dtype

__all__ = ["AttnRes", "gradients", "merge", "mix", "phase_one", "weigh"]


class AttnRes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query_D: Tensor, gamma_D: Tensor, eps: float, *sources: Tensor) -> Tensor:
        logits_NT, r_NT = weigh(query_D, gamma_D, eps, sources)
        ctx.save_for_backward(query_D, gamma_D, logits_NT, r_NT, *sources)
        ctx.owners = owners(sources)
        return mix(logits_NT, sources)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh_TD: Tensor) -> tuple[Tensor | None, ...]:
        query_D, gamma_D, logits_NT, r_NT, *sources = ctx.saved_tensors
        return gradients(dh_TD, query_D, gamma_D, logits_NT, r_NT, sources, ctx.needs_input_grad[3:], ctx.owners)


def weigh(query_D: Tensor, gamma_D: Tensor, eps: float, sources: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(logit, r) of each source and token, [N, T] each: all that the gradient needs besides the sources."""
    dtype = accumulation_dtype(query_D, gamma_D, *sources)
    a_D = query_D.to(dtype) * gamma_D.to(dtype)
    values = [source.to(dtype) for source in sources]
    r_NT = torch.stack([torch.linalg.vector_norm(v_TD, dim=-1) for v_TD in values])
    r_NT.square_().mul_(1 / a_D.shape[0]).add_(eps).rsqrt_()
    return torch.stack([torch.mv(v_TD, a_D) for v_TD in values]).mul_(r_NT), r_NT


def mix(logits_NT: Tensor, sources: Sequence[Tensor]) -> Tensor:
    """The sources in their softmax's proportion, [T, D] in their dtype."""
    weights_NT, total_T = _weights(logits_NT)
    # Divided at the end: with equal logits the weights are 1 and the result is the mean, bit for bit.
    h_TD = sources[0].to(logits_NT.dtype) * weights_NT[0].unsqueeze(1)
    for source, weight_T in zip(sources[1:], weights_NT[1:], strict=True):
        h_TD.addcmul_(source.to(logits_NT.dtype), weight_T.unsqueeze(1))
    h_TD.div_(total_T.unsqueeze(1))
    return h_TD.to(sources[0].dtype)


def _weights(logits_NT: Tensor) -> tuple[Tensor, Tensor]:
    weights_NT = (logits_NT - logits_NT.amax(0)).exp_()
    return weights_NT, weights_NT.sum(0)


def gradients(
    dh_TD: Tensor, query_D: Tensor, gamma_D: Tensor, logits_NT: Tensor, r_NT: Tensor, sources: Sequence[Tensor],
    needed: Sequence[bool], owners: Sequence[Owner | None],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """What `AttnRes.backward` returns: of query, gamma, eps and those sources that need one and aren't shared."""
    dtype = logits_NT.dtype
    dh = dh_TD.to(dtype)
    query, gamma = query_D.to(dtype), gamma_D.to(dtype)
    a_D = query * gamma
    values = [source.to(dtype) for source in sources]
    weights_NT, total_T = _weights(logits_NT)
    p_NT = weights_NT.div_(total_T)
    dp_NT = torch.stack([(v_TD * dh).sum(-1) for v_TD in values])
    ds_NT = p_NT * (dp_NT - (p_NT * dp_NT).sum(0))
    along_NT = ds_NT * r_NT
    shrink_NT = along_NT * r_NT * logits_NT / dh.shape[-1]
    da_D = torch.zeros_like(a_D)
    grads: list[Tensor | None] = []
    columns = (x_NT.unsqueeze(-1).unbind(0) for x_NT in (p_NT, along_NT, shrink_NT))
    for i, (v_TD, p_T1, along_T1, shrink_T1) in enumerate(zip(values, *columns, strict=True)):
        da_D.addmv_(v_TD.T, along_NT[i])
        if not needed[i]:
            grads.append(None)
            continue
        dv_TD = (dh * p_T1).addcmul_(along_T1, a_D).addcmul_(v_TD, shrink_T1, value=-1)
        grads.append(hand_in(owners[i], dv_TD, sources[i]))
    return (da_D * gamma).to(query_D.dtype), (da_D * query).to(gamma_D.dtype), None, *grads


def phase_one(
    bank_NTD: Tensor, queries_SD: Tensor, gammas_SD: Tensor, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """All S queries of a block against its bank: (largest logit [S, T], weight sum [S, T], weighted sum [S, T, D]).

    The queries don't depend on the input, so one pass over the bank serves every sublayer of the block
    (arXiv 2603.15031, two-phase evaluation).
    """
    v_NTD = bank_NTD.to(accumulation_dtype(bank_NTD))
    norm_NT = torch.rsqrt(v_NTD.square().mean(-1) + eps)
    logits_SNT = torch.einsum("ntd,sd->snt", v_NTD, (queries_SD * gammas_SD).to(v_NTD.dtype)) * norm_NT
    most_ST = logits_SNT.amax(1)
    weights_SNT = (logits_SNT - most_ST.unsqueeze(1)).exp()
    return most_ST, weights_SNT.sum(1), torch.einsum("snt,ntd->std", weights_SNT, v_NTD)


def merge(
    most_T: Tensor, total_T: Tensor, weighted_TD: Tensor, partial_TD: Tensor, query_D: Tensor, gamma_D: Tensor,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Add the block's running sum to one query's part of `phase_one`; equals `attnres` over bank + [partial]."""
    v_TD = partial_TD.to(weighted_TD.dtype)
    norm_T = torch.rsqrt(v_TD.square().mean(-1) + eps)
    logit_T = (v_TD @ (query_D * gamma_D).to(v_TD.dtype)) * norm_T
    top_T = torch.maximum(most_T, logit_T)
    bank_T, own_T = (most_T - top_T).exp(), (logit_T - top_T).exp()
    mixed_TD = bank_T.unsqueeze(1) * weighted_TD + own_T.unsqueeze(1) * v_TD
    return (mixed_TD / (bank_T * total_T + own_T).unsqueeze(1)).to(partial_TD.dtype)
