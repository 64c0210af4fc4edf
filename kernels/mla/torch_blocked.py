"""Causal attention in blocks of queries and keys: scores of one block pair exist at a time, forwards and backwards.

A block of queries meets only its own document's keys up to its end. Padded rows follow the last token,
in the causal future of every real query, so they need no mask; only their output gradient is zeroed.
T tokens in the row, H heads, D query and key width, V value width, B = documents of a group · H, L padded length.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.mla.plan import BlockPlan, Group
from trivium.kernels.packed import accumulation_dtype

__all__ = ["BlockedAttention"]

KEY_BLOCK = 512  # keys that a block of queries meets at a time
LOG2_E = 1 / math.log(
    2
)  # scores are kept in powers of two: exp2 takes half of exp's time on a CPU, and −inf is not slow


def _pad(x_THD: Tensor, group: Group, dtype: torch.dtype) -> Tensor:
    """[T, H, D] → [B, L, D]."""
    H, D = x_THD.shape[1:]
    rows_BL, _, _ = group.places(H)
    return x_THD.flatten(0, 1).to(dtype).index_select(0, rows_BL).view(-1, group.rows.shape[1], D)


def _unpad(x_BLD: Tensor, group: Group, out_THD: Tensor) -> None:
    """Write the real rows of [B, L, D] into `out` [T, H, D]."""
    _, real, tokens = group.places(out_THD.shape[1])
    rows = x_BLD.flatten(0, 1)
    if group.valid is not None:
        rows = rows.index_select(0, real)
    out_THD.view(-1, x_BLD.shape[2]).index_copy_(0, tokens, rows.to(out_THD.dtype))


def _future(block: int, like: Tensor) -> Tensor:
    return torch.ones(block, block, dtype=torch.bool, device=like.device).triu_(1)


def _scores(q: Tensor, k_BLD: Tensor, start: int, stop: int, diagonal: bool, future: Tensor) -> Tensor:
    """Scaled scores of one query block with keys start … stop; the block's own keys stand at the end."""
    scores = torch.bmm(q, k_BLD[: len(q), start:stop].transpose(1, 2))
    if diagonal:
        scores[:, :, scores.shape[2] - future.shape[0] :].masked_fill_(future, -torch.inf)
    return scores


def _forward_group(q_BLD: Tensor, k_BLD: Tensor, v_BLV: Tensor, group: Group) -> tuple[Tensor, Tensor, Tensor]:
    """Return (o_BLV, log2 sum exp2 [B, L, 1], the largest score of each head [H]); q is scaled."""
    B, L, _ = q_BLD.shape
    o_BLV, lse_BL1 = torch.empty_like(v_BLV), q_BLD.new_empty(B, L, 1)
    heads = B // group.live[0]
    row_max_H = q_BLD.new_full((heads,), -torch.inf)
    future = _future(group.block, q_BLD)
    for position, live in enumerate(group.live):
        first, end = position * group.block, (position + 1) * group.block
        q = q_BLD[: live * heads, first:end]
        most = total = out = None
        for start in range(0, end, KEY_BLOCK):
            stop = min(start + KEY_BLOCK, end)
            scores = _scores(q, k_BLD, start, stop, stop == end, future)
            v = v_BLV[: live * heads, start:stop]
            top = scores.amax(-1, keepdim=True)
            if most is None:
                most, weights = top, scores.sub_(top).exp2_()
                total, out = weights.sum(-1, keepdim=True), torch.bmm(weights, v)
                continue
            higher = torch.maximum(most, top)
            shrink, most = (most - higher).exp2_(), higher
            weights = scores.sub_(higher).exp2_()
            total.mul_(shrink).add_(weights.sum(-1, keepdim=True))
            out.mul_(shrink).baddbmm_(weights, v)
        torch.div(out, total, out=o_BLV[: live * heads, first:end])
        torch.add(most, total.log2(), out=lse_BL1[: live * heads, first:end])
        row_max_H = torch.maximum(row_max_H, most.view(live, heads, -1).amax((0, 2)))
    return o_BLV, lse_BL1, row_max_H


def _backward_group(
    q_BLD: Tensor, k_BLD: Tensor, v_BLV: Tensor, o_BLV: Tensor, do_BLV: Tensor, lse_BL1: Tensor, group: Group
) -> tuple[Tensor, Tensor, Tensor]:
    """Return gradients of the scaled queries, the keys and the values; delta comes from the fp32 output."""
    heads = q_BLD.shape[0] // group.live[0]
    dq_BLD, dk_BLD, dv_BLV = torch.zeros_like(q_BLD), torch.zeros_like(k_BLD), torch.zeros_like(v_BLV)
    delta_BL1 = (do_BLV * o_BLV).sum(-1, keepdim=True)
    future = _future(group.block, q_BLD)
    for position, live in enumerate(group.live):
        first, end = position * group.block, (position + 1) * group.block
        rows = slice(0, live * heads), slice(first, end)
        q, do, lse, delta, dq = q_BLD[rows], do_BLV[rows], lse_BL1[rows], delta_BL1[rows], dq_BLD[rows]
        for start in range(0, end, KEY_BLOCK):
            stop = min(start + KEY_BLOCK, end)
            keys = slice(0, live * heads), slice(start, stop)
            weights = _scores(q, k_BLD, start, stop, stop == end, future).sub_(lse).exp2_()
            # Products beside, then added: baddbmm_ into a slice falls back to one product after another on a CPU.
            dv_BLV[keys].add_(torch.bmm(weights.transpose(1, 2), do))
            dscores = torch.bmm(do, v_BLV[keys].transpose(1, 2)).sub_(delta).mul_(weights)
            dq.add_(torch.bmm(dscores, k_BLD[keys]))
            dk_BLD[keys].add_(torch.bmm(dscores.transpose(1, 2), q))
    return dq_BLD, dk_BLD, dv_BLV


class BlockedAttention(torch.autograd.Function):
    """Forward returns (o_THV in fp32, the largest scaled score of each head [H])."""

    @staticmethod
    def forward(
        ctx: Any, q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, plan: BlockPlan, scale: float
    ) -> tuple[Tensor, Tensor]:
        dtype = accumulation_dtype(q_THD, k_THD, v_THV)
        o_THV = torch.empty(v_THV.shape, dtype=dtype, device=v_THV.device)
        row_max_H = o_THV.new_full((q_THD.shape[1],), -torch.inf)
        lses = []
        for group in plan.groups:
            q, k, v = (_pad(x, group, dtype) for x in (q_THD, k_THD, v_THV))
            o, lse, most_H = _forward_group(q.mul_(scale * LOG2_E), k, v, group)
            _unpad(o, group, o_THV)
            row_max_H = torch.maximum(row_max_H, most_H / LOG2_E)
            lses.append(lse)
        ctx.save_for_backward(q_THD, k_THD, v_THV, o_THV, *lses)
        ctx.plan, ctx.scale = plan, scale
        ctx.mark_non_differentiable(row_max_H)
        return o_THV, row_max_H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, _dmax: Tensor) -> tuple[Tensor | None, ...]:
        q_THD, k_THD, v_THV, o_THV, *lses = ctx.saved_tensors
        dq_THD, dk_THD, dv_THV = (x.new_empty(x.shape) for x in (q_THD, k_THD, v_THV))
        for group, lse in zip(ctx.plan.groups, lses, strict=True):
            q, k, v, o, do = (_pad(x, group, o_THV.dtype) for x in (q_THD, k_THD, v_THV, o_THV, do_THV))
            if group.valid is not None:
                do.view(group.live[0], -1, *do.shape[1:]).mul_(group.valid[:, None, :, None])
            dq, dk, dv = _backward_group(q.mul_(ctx.scale * LOG2_E), k, v, o, do, lse, group)
            for grad, out in ((dq.mul_(ctx.scale), dq_THD), (dk.div_(LOG2_E), dk_THD), (dv, dv_THV)):
                _unpad(grad, group, out)
        return dq_THD, dk_THD, dv_THV, None, None
