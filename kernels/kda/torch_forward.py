"""The chunkwise forward of Kimi Delta Attention in plain PyTorch (K3 report, equations 3, 4; arXiv 2510.26692).

Inside a chunk all rows are solved at once (the WY form); a loop over chunk positions carries the state, and each of its
steps treats all documents that are still alive.
N chunks, H heads, C rows a chunk, J tiles, R rows a tile, K key width, V value width; B = N·H.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.kernels.kda.plan import CHUNK, TILE, ChunkPlan
from trivium.kernels.kda.reference import L2_EPS
from trivium.kernels.kda.tiles import FORWARD_ANCHOR, TILES, tile_columns, tile_decay, tile_masks

__all__ = ["LOG2_E", "Chunks", "Gate", "forward", "gate_forward", "normalise", "to_chunks"]

LOG2_E = 1 / math.log(
    2
)  # decays are kept as powers of two: exp2 takes half of exp's time on a CPU, and no slow path below e^-87
MAX_A_LOG = 60.0  # e^A stays finite, so that a saturated gate's 0 · e^A is 0 and not NaN


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate's backward needs."""

    sigmoid_THK: Tensor
    A_H1: Tensor  # e^A


@dataclass(frozen=True, slots=True)
class Chunks:
    """Operands of a row in chunk layout, with what the backward needs of the forward."""

    q_NHCK: Tensor  # normalised and scaled
    k_NHCK: Tensor  # normalised
    v_NHCV: Tensor
    beta_NHC: Tensor
    G_NHCK: Tensor  # cumulative log2 of the decay inside the chunk
    scores_kk_NHCC: Tensor  # k_i · (k_j ⊙ e^{G_i − G_j}) below the diagonal
    scores_qk_BCC: Tensor
    inverse_BCC: Tensor  # (I + β scores_kk)^−1
    w_BCK: Tensor
    delta_BCV: Tensor  # what each row writes: u − w S
    states_BKV: Tensor  # state entering each chunk


def to_chunks(x_THK: Tensor, rows: Tensor, dtype: torch.dtype) -> Tensor:
    """[T, H, …] → [N, H, C, …]."""
    flat = x_THK.flatten(0, 1).to(dtype).index_select(0, rows)
    H = x_THK.shape[1]
    return flat.view(len(rows) // (H * CHUNK), H, CHUNK, *x_THK.shape[2:])


def normalise(x: Tensor) -> Tensor:
    """Divide `x` by its L2 norm in place; return 1 / norm."""
    rstd = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().add_(L2_EPS).rsqrt_()
    x.mul_(rstd)
    return rstd


def gate_forward(gate_THK: Tensor, A_log_H: Tensor, dt_bias_HK: Tensor, dtype: torch.dtype) -> Gate:
    A_H1 = A_log_H.to(dtype).clamp(max=MAX_A_LOG).exp().unsqueeze(-1)
    z_THK = gate_THK.to(dtype) + dt_bias_HK.to(dtype)
    return Gate(z_THK.mul_(A_H1).sigmoid_(), A_H1)


def _scores(q_NHCK: Tensor, k_NHCK: Tensor, G_NHCK: Tensor) -> Tensor:
    """Return [N, H, J, 2, R, C]: query scores and key scores of each tile of rows, masked."""
    N, H, _, K = q_NHCK.shape
    decay = tile_decay(G_NHCK, FORWARD_ANCHOR)
    left = q_NHCK.new_empty(N, H, TILES, 2, TILE, K)
    torch.mul(q_NHCK.view(N, H, TILES, TILE, K), decay.row_NHJRK, out=left[:, :, :, 0])
    torch.mul(k_NHCK.view(N, H, TILES, TILE, K), decay.row_NHJRK, out=left[:, :, :, 1])
    columns = tile_columns(k_NHCK, decay)
    scores = torch.bmm(left.view(-1, 2 * TILE, K), columns.transpose(1, 2))
    return scores.view(N, H, TILES, 2, TILE, CHUNK).mul_(tile_masks(scores))


def _state_loop(
    plan: ChunkPlan, H: int, w_BCK: Tensor, u_BCV: Tensor, kg_BCK: Tensor, decay_BK1: Tensor, first: Tensor | None,
    final: Tensor | None,
) -> Tensor:  # fmt: skip
    """Turn `u` into u − w S in place, fill `final` (longest document first), return the states entering the chunks."""
    states = u_BCV.new_empty(u_BCV.shape[0], w_BCK.shape[2], u_BCV.shape[2])
    start = 0
    for position, live in enumerate(plan.live):
        stop = start + live * H
        onward = plan.live[position + 1] * H if position + 1 < len(plan.live) else 0
        state, delta = states[start:stop], u_BCV[start:stop]
        if position == 0:
            state.zero_() if first is None else state.copy_(first)
        if position > 0 or first is not None:
            delta.baddbmm_(w_BCK[start:stop], state, alpha=-1)
        kg_t, decay = kg_BCK[start:stop].transpose(1, 2), decay_BK1[start:stop]
        if onward:
            following = states[stop : stop + onward]
            torch.mul(state[:onward], decay[:onward], out=following)
            following.baddbmm_(kg_t[:onward], delta[:onward])
        if final is not None and onward < live * H:
            torch.mul(state[onward:], decay[onward:], out=final[onward : live * H])
            final[onward : live * H].baddbmm_(kg_t[onward:], delta[onward:])
        start = stop
    return states


def forward(
    q_NHCK: Tensor, k_NHCK: Tensor, v_NHCV: Tensor, beta_NHC: Tensor, log2_decay_NHCK: Tensor, plan: ChunkPlan,
    first: Tensor | None, final: Tensor | None,
) -> tuple[Tensor, Chunks]:  # fmt: skip
    """Return (o_BCV, what the backward needs); `first`, `final`: states [D·H, K, V] of non-empty documents in order."""
    N, H, C, K = q_NHCK.shape
    V = v_NHCV.shape[-1]
    lower_CC = torch.ones(C, C, dtype=q_NHCK.dtype, device=q_NHCK.device).tril_()
    # A product with a triangle of ones: torch.cumsum along rows is far slower, and the zeros keep it bitwise causal.
    G_NHCK = torch.matmul(lower_CC, log2_decay_NHCK)
    scores = _scores(q_NHCK, k_NHCK, G_NHCK)
    scores_qk_BCC = scores[:, :, :, 0].reshape(N * H, C, C)
    scores_kk_NHCC = scores[:, :, :, 1].reshape(N, H, C, C)
    eye_CC = torch.eye(C, dtype=q_NHCK.dtype, device=q_NHCK.device)
    system_BCC = (scores_kk_NHCC * beta_NHC.unsqueeze(-1)).view(N * H, C, C)
    inverse_BCC = torch.linalg.solve_triangular(system_BCC, eye_CC, upper=False, unitriangular=True)
    growth_NHCK = G_NHCK.exp2()
    solve_BCC = inverse_BCC * beta_NHC.view(N * H, 1, C)
    w_BCK = torch.bmm(solve_BCC, (k_NHCK * growth_NHCK).view(N * H, C, K))
    u_BCV = torch.bmm(solve_BCC, v_NHCV.view(N * H, C, V))
    kg_BCK = (G_NHCK[:, :, -1:] - G_NHCK).exp2_().mul_(k_NHCK).view(N * H, C, K)
    decay_BK1 = growth_NHCK[:, :, -1].reshape(N * H, K, 1)
    states_BKV = _state_loop(plan, H, w_BCK, u_BCV, kg_BCK, decay_BK1, first, final)
    o_BCV = torch.bmm(scores_qk_BCC, u_BCV)
    skip = 0 if first is not None or not plan.live else plan.live[0] * H  # these chunks begin with a zero state
    qg_BCK = growth_NHCK.mul_(q_NHCK).view(N * H, C, K)
    o_BCV[skip:].baddbmm_(qg_BCK[skip:], states_BKV[skip:])
    return o_BCV, Chunks(
        q_NHCK, k_NHCK, v_NHCV, beta_NHC, G_NHCK, scores_kk_NHCC, scores_qk_BCC, inverse_BCC, w_BCK, u_BCV, states_BKV
    )  # fmt: skip
