"""The kernels of kernels/mla for patches: no mask but a grid's end, rows of one part, the output rounded at once.

Odd: the backward takes delta = Σ dO ⊙ O with the rounded output, the only one there is: it adds to a score's gradient
an error of 2^-9 of its terms, about that of the operands themselves.
P patches in the row, H heads, D head width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.mla.triton_attention import Passes, Tiling, attend, attend_backwards
from trivium.kernels.patches.plan import PatchPlan

__all__ = ["PASSES", "TritonPatchAttention"]

# By the width of a head, the fastest of four to six tried a pass on an H200 (kernels/README.md). Two programs share a
# multiprocessor, so that one multiplies while the other takes powers; the queries of 128 alone are faster without.
PASSES = {
    64: Passes(
        forward=Tiling(rows=128, step=64, warps=8, stages=3, heads=16),
        queries=Tiling(rows=64, step=64, warps=4, stages=2),
        keys=Tiling(rows=64, step=32, warps=4, stages=2),
        causal=False,
    ),
    128: Passes(
        forward=Tiling(rows=128, step=64, warps=8, stages=2, registers=128),
        queries=Tiling(rows=128, step=64, warps=8, stages=3),
        keys=Tiling(rows=64, step=64, warps=4, stages=2),
        causal=False,
    ),
}


class TritonPatchAttention(torch.autograd.Function):
    """Forward returns o_PHD in the operands' dtype."""

    @staticmethod
    def forward(ctx: Any, q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, plan: PatchPlan) -> Tensor:
        D = q_PHD.shape[2]
        return attend(ctx, q_PHD, k_PHD, v_PHD, None, plan, D**-0.5, PASSES[D], q_PHD.dtype, False)[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_PHD: Tensor) -> tuple[Tensor | None, ...]:
        return *attend_backwards(ctx, do_PHD)[:3], None
