"""Attention of the patches of many pictures, packed: every patch of a grid sees every other of it, none of another.

P patches in the row, H heads, D head width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.packed import expect, expect_row
from trivium.kernels.patches.plan import PatchPlan
from trivium.kernels.patches.reference import patch_attention_reference
from trivium.kernels.patches.torch_groups import grouped_attention
from trivium.kernels.precision import product_operand

__all__ = ["PatchPlan", "patch_attention", "patch_attention_reference"]

WIDTHS = (64, 128)  # of a head, that the kernels take


def patch_attention(
    q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, cu_seqlens: Tensor | Sequence[int], plan: PatchPlan | None = None
) -> Tensor:
    """softmax(q · kᵀ / √D) · v of each grid between its borders `cu_seqlens` → o_PHD in q's dtype.

    Inside autocast operands and output have its dtype. Slices of one tensor are read where they lie. `plan`
    (PatchPlan.build of this `cu_seqlens`) saves building it in every layer. The PyTorch path is quick where grids of
    equal size lie side by side. Raises ValueError for a wrong `cu_seqlens`, shapes that differ or another row's plan.
    """
    sizes = dict(zip("PHD", q_PHD.shape, strict=True))
    expect(sizes, q_PHD, [("q", "PHD", q_PHD), ("k", "PHD", k_PHD), ("v", "PHD", v_PHD)])
    if plan is None:
        plan = PatchPlan.build(cu_seqlens, sizes["P"])
    else:
        expect_row(plan.borders, cu_seqlens, sizes["P"])
    parts = [product_operand(x) for x in (q_PHD, k_PHD, v_PHD)]
    fits = sizes["D"] in WIDTHS and len({x.dtype for x in parts}) == 1
    if use_triton("patch_attention", parts[0], dtypes=(torch.bfloat16,), fits=fits):
        from trivium.kernels.patches.triton_patches import TritonPatchAttention

        return TritonPatchAttention.apply(*parts, plan)
    return grouped_attention(q_PHD, k_PHD, v_PHD, plan.borders)
