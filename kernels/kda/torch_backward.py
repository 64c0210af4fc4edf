"""The chunkwise backward of Kimi Delta Attention in plain PyTorch.

With delta = (I + β A)^−1 β (V − K e^G S) and r = (I + β A)^−ᵀ d delta, the products of the usual form
(arXiv 2510.26692; flash-linear-attention) collapse: d A = −r deltaᵀ below the diagonal, d(K e^G) = −β r Sᵀ, dV = β r.
N chunks, H heads, C rows a chunk, J tiles, R rows a tile, K key width, V value width; B = N·H.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.kernels.kda.plan import CHUNK, TILE, ChunkPlan
from trivium.kernels.kda.tiles import BACKWARD_ANCHOR, TILES, tile_columns, tile_decay, tile_masks
from trivium.kernels.kda.torch_forward import Chunks

__all__ = ["ChunkGrads", "backward"]


@dataclass(frozen=True, slots=True)
class ChunkGrads:
    q_NHCK: Tensor  # of the normalised and scaled query
    k_NHCK: Tensor  # of the normalised key
    v_NHCV: Tensor
    beta_NHC: Tensor
    log_decay_NHCK: Tensor
    first: Tensor | None  # of the states that entered the documents, longest first


def _state_loop(
    plan: ChunkPlan, H: int, c: Chunks, kg_BCK: Tensor, decay_BK1: Tensor, ddelta_BCV: Tensor, qdo_BKV: Tensor,
    dfinal: Tensor | None, has_first: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Add the states' part to `ddelta` in place; return the gradients of the states (leaving chunks, at the start)."""
    dstates = torch.empty_like(c.states_BKV)
    dfirst: Tensor | None = None
    stop = ddelta_BCV.shape[0]
    for position in range(len(plan.live) - 1, -1, -1):
        live = plan.live[position] * H
        start = stop - live
        onward = plan.live[position + 1] * H if position + 1 < len(plan.live) else 0
        dstate, ddelta = dstates[start:stop], ddelta_BCV[start:stop]
        reach = live if dfinal is not None else onward  # chunks whose leaving state has a gradient
        if onward < live:
            dstate[onward:].zero_() if dfinal is None else dstate[onward:].copy_(dfinal[onward:live])
        if reach:
            ddelta[:reach].baddbmm_(kg_BCK[start : start + reach], dstate[:reach])
        if position > 0 or has_first:
            if position > 0:
                before = start - plan.live[position - 1] * H
                entering = dstates[before : before + live]
            else:
                entering = dfirst = torch.empty_like(dstate)
            torch.baddbmm(
                qdo_BKV[start:stop], c.w_BCK[start:stop].transpose(1, 2), ddelta, alpha=-1, out=entering
            )  # fmt: skip
            if reach:
                entering[:reach].addcmul_(decay_BK1[start : start + reach], dstate[:reach])
        stop = start
    return dstates, dfirst


def _tile_grads(c: Chunks, dscores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients through the scores: (as query rows, as key rows, as key columns), each [N, H, C, K]."""
    N, H, C, K = c.q_NHCK.shape
    decay = tile_decay(c.G_NHCK, BACKWARD_ANCHOR)
    left = c.q_NHCK.new_empty(N, H, TILES, 2, TILE, K)
    torch.mul(c.q_NHCK.view(N, H, TILES, TILE, K), decay.row_NHJRK, out=left[:, :, :, 0])
    torch.mul(c.k_NHCK.view(N, H, TILES, TILE, K), decay.row_NHJRK, out=left[:, :, :, 1])
    columns = tile_columns(c.k_NHCK, decay)
    dscores_flat = dscores.view(-1, 2 * TILE, C)
    drows = torch.bmm(dscores_flat, columns).view(N, H, TILES, 2, TILE, K)
    dcolumns = torch.bmm(dscores_flat.transpose(1, 2), left.view(-1, 2 * TILE, K))
    dcolumns = dcolumns.view(N, H, TILES, TILES, TILE, K).mul_(decay.link_NHJJ1K).sum(2).mul_(decay.column_NHJRK)
    dquery, dkey = drows[:, :, :, 0] * decay.row_NHJRK, drows[:, :, :, 1] * decay.row_NHJRK
    return dquery.view(N, H, C, K), dkey.view(N, H, C, K), dcolumns.view(N, H, C, K)


def backward(
    c: Chunks, do_NHCV: Tensor, dfinal: Tensor | None, plan: ChunkPlan, has_first: bool
) -> ChunkGrads:  # fmt: skip
    """`dfinal`: gradient of the states that leave the documents, longest first, or None."""
    N, H, C, K = c.q_NHCK.shape
    V, B = c.v_NHCV.shape[-1], N * H
    growth_NHCK = c.G_NHCK.exp2()
    tail_NHCK = (c.G_NHCK[:, :, -1:] - c.G_NHCK).exp2_()
    decay_BK1 = growth_NHCK[:, :, -1].reshape(B, K, 1)
    do_BCV = do_NHCV.view(B, C, V)
    ddelta_BCV = torch.bmm(c.scores_qk_BCC.transpose(1, 2), do_BCV)
    qdo_BKV = torch.bmm((c.q_NHCK * growth_NHCK).view(B, C, K).transpose(1, 2), do_BCV)
    kg_BCK = (c.k_NHCK * tail_NHCK).view(B, C, K)
    dstates_BKV, dfirst = _state_loop(plan, H, c, kg_BCK, decay_BK1, ddelta_BCV, qdo_BKV, dfinal, has_first)

    both = do_BCV.new_empty(B, 2, C, V)  # dO beside r: both meet the same right-hand sides
    both[:, 0].copy_(do_BCV)
    torch.bmm(c.inverse_BCC.transpose(1, 2), ddelta_BCV, out=both[:, 1])
    r_NHCV = both[:, 1].view(N, H, C, V)
    both_flat = both.view(B, 2 * C, V)
    with_states = torch.bmm(both_flat, c.states_BKV.transpose(1, 2)).view(N, H, 2, C, K)
    with_delta = torch.bmm(both_flat, c.delta_BCV.transpose(1, 2)).view(N, H, 2, TILES, TILE, C)
    dscores = torch.mul(with_delta.transpose(2, 3), tile_masks(do_BCV)).contiguous()
    dkk = dscores[:, :, :, 1].neg_()
    dbeta_NHC = (dkk * c.scores_kk_NHCC.view(N, H, TILES, TILE, C)).sum(-1).view(N, H, C)
    dkk.mul_(c.beta_NHC.view(N, H, TILES, TILE, 1))
    dq_rows, dk_rows, dk_columns = _tile_grads(c, dscores)

    dv_NHCV = r_NHCV * c.beta_NHC.unsqueeze(-1)
    dbeta_NHC += (r_NHCV * c.v_NHCV).sum(-1)
    dkg_NHCK = with_states[:, :, 1].mul_(growth_NHCK).neg_()
    dbeta_NHC += (dkg_NHCK * c.k_NHCK).sum(-1)
    dq_NHCK = dq_rows.addcmul_(with_states[:, :, 0], growth_NHCK)
    gains_NHCK = dk_rows.addcmul_(dkg_NHCK, c.beta_NHC.unsqueeze(-1))
    dk_state = torch.bmm(c.delta_BCV, dstates_BKV.transpose(1, 2)).view(N, H, C, K).mul_(tail_NHCK)
    losses_NHCK = dk_columns.add_(dk_state)
    # A difference of nearly equal terms: everything stays in the accumulation type until here.
    dG_NHCK = torch.addcmul(c.q_NHCK * dq_NHCK, c.k_NHCK, gains_NHCK - losses_NHCK)
    dlast_NHK = (c.states_BKV * dstates_BKV).sum(-1).mul_(decay_BK1.squeeze(-1)).view(N, H, K)
    dG_NHCK[:, :, -1] += dlast_NHK + (c.k_NHCK * dk_state).sum(2)
    upper_CC = torch.ones(CHUNK, CHUNK, dtype=do_BCV.dtype, device=do_BCV.device).triu_()
    return ChunkGrads(
        dq_NHCK, gains_NHCK + losses_NHCK, dv_NHCV, dbeta_NHC, torch.matmul(upper_CC, dG_NHCK), dfirst
    )  # fmt: skip
