"""MLA over ranks that hold shares of one row: latents are gathered, keys and values are expanded where they are needed.

A token's latent and extra dims are L + R numbers (576) where its keys and values are H·(D + V) (30,720). Each rank
expands what its queries see: its own tokens and the beginning of its first piece's document. Backwards the latents'
gradients go back in one reduce-scatter, in fp32.
Odd: queries and keys stay one row with the keys' documents; where a rank has keys without queries, copies of its first
query stand (they see no more than it does, so the largest logit stays), and the kernels leave out whole tiles of them.
Shares are contiguous, so the last rank of a long document walks the most.
T tokens of the share, S tokens that its queries see, H heads, D query and key width, V value width, L latent width,
R extra dims, X = L + R, E = H · (D − R + V).
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from trivium.kernels.context import Share, gather
from trivium.kernels.mla import BlockPlan, mla, mla_gated
from trivium.kernels.precision import without_autocast

__all__ = ["context_plan", "mla_context_parallel"]


def context_plan(share: Share, device: torch.device | str = "cpu") -> BlockPlan:
    """The plan of what a share's queries see, the same for all layers."""
    cu_seqlens = torch.tensor([0, *(share.reach + border for border in share.borders[1:])])
    return BlockPlan.build(cu_seqlens, int(cu_seqlens[-1]), device, queries_from=share.reach)


class _Seen(torch.autograd.Function):
    """x [T, X] of every rank → [S, X] that this share's queries see."""

    @staticmethod
    def forward(ctx: Any, x_TX: Tensor, share: Share, tokens: int, group: dist.ProcessGroup | None) -> Tensor:
        bounds = [tokens * rank // share.ranks for rank in range(share.ranks + 1)]
        most = -(-tokens // share.ranks)
        everyone_RMX = gather(F.pad(x_TX, (0, 0, 0, most - len(x_TX))), share, group)
        ranks = range(share.begins, share.rank + 1)
        seen_SX = torch.cat([everyone_RMX[rank, : bounds[rank + 1] - bounds[rank]] for rank in ranks])
        ctx.share, ctx.bounds, ctx.most, ctx.group = share, bounds, most, group
        return seen_SX[share.start - share.reach - bounds[share.begins] :].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dseen_SX: Tensor) -> tuple[Tensor | None, ...]:
        share, bounds = ctx.share, ctx.bounds
        dtype = torch.promote_types(dseen_SX.dtype, torch.float32)
        sent_RMX = torch.zeros(share.ranks, ctx.most, dseen_SX.shape[1], dtype=dtype, device=dseen_SX.device)
        origin = share.start - share.reach
        for rank in range(share.begins, share.rank + 1):
            first, stop = max(bounds[rank], origin), bounds[rank + 1]
            sent_RMX[rank, first - bounds[rank] : stop - bounds[rank]] = dseen_SX[first - origin : stop - origin]
        own_MX = sent_RMX.new_empty(sent_RMX.shape[1:])
        dist.reduce_scatter_tensor(own_MX.view(-1), sent_RMX.view(-1), group=ctx.group)
        return own_MX[: share.stop - share.start].to(dseen_SX.dtype), None, None, None


@without_autocast
def mla_context_parallel(
    q_THD: Tensor,
    c_TL: Tensor,
    extra_TR: Tensor,
    up_EL: Tensor,
    share: Share,
    tokens: int,
    *,
    gate_THV: Tensor | None = None,
    scale: float | None = None,
    plan: BlockPlan | None = None,
    group: dist.ProcessGroup | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (o_THV in fp32, or with a gate y_THV; each head's largest scaled logit [H]) of this rank's share.

    All ranks of `group` call it and go backwards through it. `up_EL` expands a normalised latent into each head's
    content keys and values, its gradient is the share's part of a sum; `tokens` are the whole row's, `plan` is
    `context_plan(share)`. The row's largest logit is the maximum over the ranks.
    """
    (_, H, D), L, reach = q_THD.shape, c_TL.shape[1], share.reach
    seen_SX = _Seen.apply(torch.cat([c_TL, extra_TR], -1), share, tokens, group)
    c_SL, extra_SR = seen_SX.split([L, extra_TR.shape[1]], -1)
    content = D - extra_TR.shape[1]
    kv_SHE = F.linear(c_SL, up_EL).unflatten(-1, (H, -1))
    k_SHN, v_SHV = kv_SHE.split([content, kv_SHE.shape[2] - content], -1)
    k_SHD = torch.cat([k_SHN, extra_SR[:, None].expand(-1, H, -1)], -1)
    plan = context_plan(share, q_THD.device) if plan is None else plan
    cu_seqlens = torch.tensor(plan.borders)
    q_SHD = torch.cat([q_THD[:1].detach().expand(reach, -1, -1), q_THD])
    if gate_THV is None:
        o_SHV, row_max_H = mla(q_SHD, k_SHD, v_SHV, cu_seqlens, scale=scale, plan=plan)
    else:
        gate_SHV = torch.cat([gate_THV[:1].detach().expand(reach, -1, -1), gate_THV])
        o_SHV, row_max_H = mla_gated(q_SHD, k_SHD, v_SHV, gate_SHV, cu_seqlens, scale=scale, plan=plan)
    return o_SHV[reach:], row_max_H
