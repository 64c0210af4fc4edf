"""The packed causal attention of triton_tiles.py: launches, layouts, and what is kept for the backward.

Odd: the output's gradient is rounded to the operands' dtype before delta = Σ dO ⊙ O is taken with the fp32 output, so
that the products' and delta's share of a score's gradient cancel where they should.
T tokens in the row, H heads, D query and key width, V value width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.mla.plan import TILE, BlockPlan
from trivium.kernels.mla.triton_tiles import forward, key_gradients, query_gradients

__all__ = ["TritonAttention"]

LOG2_E = 1.4426950408889634
STEP = 32  # queries that a tile of keys meets at a time: with 64 the two gradients don't fit into the registers
PRECISION = "ieee"  # for fp32 operands; bf16 ones are multiplied as they are


def _by_rows(x: Tensor) -> Tensor:
    """`x` with its last dimension contiguous; a slice of a wider row stays where it is."""
    return x if x.stride(2) == 1 else x.contiguous()


def _places(*tensors: Tensor) -> list[int]:
    """The strides of tokens and heads of each."""
    return [x.stride(i) for x in tensors for i in (0, 1)]


class TritonAttention(torch.autograd.Function):
    """Forward returns (o_THV in fp32, the largest scaled score of each head [H])."""

    @staticmethod
    def forward(
        ctx: Any, q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, plan: BlockPlan, scale: float
    ) -> tuple[Tensor, Tensor]:
        (T, H, D), V = q_THD.shape, v_THV.shape[2]
        q, k, v = _by_rows(q_THD), _by_rows(k_THD), _by_rows(v_THV)
        tiles_N3 = plan.tiles(q.device).by_queries_N3
        o_THV, lse_TH = q.new_empty(T, H, V, dtype=torch.float32), q.new_empty(T, H, dtype=torch.float32)
        top_NH = q.new_empty(len(tiles_N3), H, dtype=torch.float32)
        if not len(tiles_N3):
            top_NH = q.new_full((1, H), -torch.inf, dtype=torch.float32)
        else:
            forward[(H * len(tiles_N3),)](
                q, k, v, tiles_N3, o_THV, lse_TH, top_NH, H, *_places(q, k, v), scale * LOG2_E, V, D - V, TILE,
                PRECISION, num_warps=4, num_stages=2,
            )  # fmt: skip
        row_max_H = top_NH.amax(0).div_(LOG2_E)
        ctx.save_for_backward(q, k, v, o_THV, lse_TH)
        ctx.plan, ctx.scale = plan, scale
        ctx.mark_non_differentiable(row_max_H)
        return o_THV, row_max_H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, _dmax: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, o_THV, lse_TH = ctx.saved_tensors
        (T, H, D), V = q.shape, v.shape[2]
        do = do_THV.to(q.dtype).contiguous()
        delta_TH = (do * o_THV).sum(-1)
        dq, dk, dv = (x.new_empty(T, H, x.shape[2]) for x in (q, k, v))
        tiles = ctx.plan.tiles(q.device)
        if T:
            numbers = H, *_places(q, k, v), ctx.scale * LOG2_E, ctx.scale, V, D - V, TILE
            query_gradients[(H * len(tiles.by_queries_N3),)](
                q, k, v, tiles.by_queries_N3, do, lse_TH, delta_TH, dq, *numbers, PRECISION, num_warps=8, num_stages=2
            )
            key_gradients[(H * len(tiles.by_keys_N3),)](
                q, k, v, tiles.by_keys_N3, do, lse_TH, delta_TH, dk, dv, *numbers, STEP, PRECISION, num_warps=8,
                num_stages=2,
            )  # fmt: skip
        return dq, dk, dv, None, None
