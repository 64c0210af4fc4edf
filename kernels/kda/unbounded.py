"""Kimi Delta Attention with Kimi Linear's older gate, whose decay has no bound (arXiv 2510.26692), by chunks.

Odd: the tiles of the bounded form divide by decays, which here may have fallen to nothing in one row. So each exponent
is taken where it is at most 0: between tiles it is split at the later tile's first row and the earlier one's last, and
inside a tile every pair of rows has its own, R times as many numbers as rows. Exponents are sums over the rows between
and no differences of longer sums, where one row's −1000 would swallow its neighbours. Gradients are autograd's, and
compute the scores anew. A switch for ablations, several times slower than the bounded form.

N chunks, H heads, C rows a chunk, J tiles, R rows a tile, K key width, V value width; B = N·H.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.kda.plan import CHUNK, TILE, ChunkPlan
from trivium.kernels.kda.reference import kda_gate, l2_norm
from trivium.kernels.kda.tiles import TILES
from trivium.kernels.kda.torch_forward import to_chunks
from trivium.kernels.packed import accumulation_dtype

__all__ = ["unbounded_kda"]

PAIRS = 1 << 28  # channels of pairs of rows at once: 1 GB of fp32 a tensor


def unbounded_kda(
    q_THK: Tensor, k_THK: Tensor, v_THV: Tensor, gate_THK: Tensor, beta_TH: Tensor, A_log_H: Tensor,
    dt_bias_HK: Tensor, initial_state: Tensor | None, plan: ChunkPlan, scale: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return (o_THV, final states [D, H, K, V]) in fp32 (fp64 for fp64 operands); operands as `kda` takes them."""
    H, K, V = q_THK.shape[1], q_THK.shape[2], v_THV.shape[2]
    dtype = accumulation_dtype(q_THK, k_THK, v_THV)
    rows, inverse = plan.places(H)
    q, k, v = (to_chunks(x, rows, dtype) for x in (q_THK, k_THK, v_THV))
    q, k = l2_norm(q) * scale, l2_norm(k)
    decay_THK = kda_gate(gate_THK.to(dtype), A_log_H.to(dtype), dt_bias_HK.view(H, K).to(dtype), None)
    decay, beta = to_chunks(decay_THK, rows, dtype), to_chunks(beta_TH, rows, dtype).sigmoid()
    if plan.valid_NC is not None:
        # A padded row that writes nothing (β = 0) and forgets nothing (g = 0) leaves the state alone.
        beta = beta * plan.valid_NC.unsqueeze(1)
        decay = decay * plan.valid_NC[:, None, :, None]
    ones_CC = torch.ones(CHUNK, CHUNK, dtype=dtype, device=q.device)
    growth = (ones_CC.tril() @ decay).exp()  # since the chunk's start
    scores_qk, scores_kk = _Scores.apply(q, k, decay)
    system = scores_kk * beta.unsqueeze(-1)
    written = torch.cat([k * growth, v], dim=-1) * beta.unsqueeze(-1)
    w, u = torch.linalg.solve_triangular(system, written, upper=False, unitriangular=True).split([K, V], dim=-1)
    first = None if initial_state is None else initial_state.to(dtype).index_select(0, plan.order).view(-1, K, V)
    kg = k * (ones_CC.triu(1) @ decay).exp()  # to the chunk's end
    loop = (w.flatten(0, 1), u.flatten(0, 1), kg.flatten(0, 1), growth[:, :, -1].reshape(-1, K, 1))
    delta_BCV, states_BKV, final = _state_loop(plan, H, loop, first)
    o_BCV = scores_qk.flatten(0, 1) @ delta_BCV + (q * growth).flatten(0, 1) @ states_BKV
    state = q.new_zeros(plan.documents, H, K, V) if initial_state is None else initial_state.to(dtype)
    state = state.index_copy(0, plan.order, final.view(-1, H, K, V))
    return o_BCV.reshape(-1, V).index_select(0, inverse).view_as(v_THV), state


class _Scores(torch.autograd.Function):
    """`_scores` of some chunks at a time; the backward computes anew what stands between, many times their size."""

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*operands)
        return _joined(_scores(*part) for part in _parts(*operands))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        found = []
        for *part, dqk, dkk in _parts(*ctx.saved_tensors, *gradients):
            leaves = [operand.detach().requires_grad_() for operand in part]
            with torch.enable_grad():
                qk, kk = _scores(*leaves)
                # A scalar's gradient: that of several tensors makes torch import a library of symbols for seconds.
                total = (qk * dqk).sum() + (kk * dkk).sum()
            found.append(torch.autograd.grad(total, leaves))
        return _joined(found)


def _parts(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The same chunks of each [N, H, C, …], as many as PAIRS allows, at least one (none where N is 0)."""
    _, H, C, K = tensors[0].shape
    return zip(*(tensor.split(max(1, PAIRS // (H * C * TILE * K))) for tensor in tensors), strict=True)


def _joined(parts: Iterable[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(part) for part in zip(*parts, strict=True))


def _scores(q_NHCK: Tensor, k_NHCK: Tensor, decay_NHCK: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys (below the diagonal) against keys, with the log decay between: two of [N, H, C, C]."""
    N, H, C, K = q_NHCK.shape
    q, k, g = (x.view(N, H, TILES, TILE, K) for x in (q_NHCK, k_NHCK, decay_NHCK))
    row = torch.arange(TILE, device=q.device)
    between_RRR = (row > row[:, None]) & (row <= row[:, None, None])  # rows m with j < m ≤ i
    spans = (between_RRR.flatten(0, 1).to(q.dtype) @ g).unflatten(3, (TILE, TILE))  # [N, H, J, i, j, K]
    tile = torch.arange(TILES, device=q.device)
    between_JJJ = (tile > tile[:, None]) & (tile < tile[:, None, None])  # whole tiles between column's and row's
    link = torch.einsum("abm,nhmk->nhabk", between_JJJ.to(q.dtype), g.sum(3)) + g[:, :, :, :1]
    # Masked before each exponential: after it, the gradient would meet inf · 0.
    link = link.masked_fill((tile >= tile[:, None])[..., None], -torch.inf).exp()
    columns = (k * spans[:, :, :, -1].exp()).unsqueeze(2) * link.unsqueeze(4)  # [N, H, J, J, R, K]
    fall = spans[:, :, :, :, 0].exp()  # since the tile's first row
    rows = torch.cat([q * fall, k * fall], dim=3)
    far = rows @ columns.flatten(3, 4).mT  # [N, H, J, 2·R, C]
    pairs = spans.masked_fill((row > row[:, None])[..., None], -torch.inf).exp() * k.unsqueeze(3)
    near = pairs @ torch.stack([q, k], dim=-1)  # [N, H, J, R, R, 2]
    eye = torch.eye(TILES, dtype=q.dtype, device=q.device)
    found = []
    for place in range(2):
        own = torch.einsum("nhjrc,jl->nhjrlc", near[..., place], eye).reshape(N, H, C, C)
        found.append(far[:, :, :, place * TILE : (place + 1) * TILE].reshape(N, H, C, C) + own)
    return found[0], found[1].tril(-1)


def _state_loop(
    plan: ChunkPlan, H: int, loop: tuple[Tensor, Tensor, Tensor, Tensor], first: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """What each row writes, the state that enters each chunk, the documents' final states (longest first).

    `loop`: w [B, C, K], u [B, C, V], keys decayed to the chunk's end [B, C, K], the chunk's decay [B, K, 1].
    """
    sizes = [live * H for live in plan.live]
    K, V = loop[0].shape[-1], loop[1].shape[-1]
    state = loop[0].new_zeros(sizes[0] if sizes else 0, K, V) if first is None else first
    if not sizes:
        return loop[1], state, state
    deltas, states, finals = [], [], []
    # Split once: a slice at each position would make a gradient of the whole row at each.
    for position, (w, u, kg, decay) in enumerate(zip(*(x.split(sizes) for x in loop), strict=True)):
        delta = u - w @ state
        states.append(state)
        deltas.append(delta)
        onward = sizes[position + 1] if position + 1 < len(sizes) else 0
        state, ended = (decay * state + kg.mT @ delta).split([onward, sizes[position] - onward])
        finals.append(ended)
    return torch.cat(deltas), torch.cat(states), torch.cat(finals[::-1])
