"""The definition of the attention of patches: dense softmax within each grid, both ways (K3 report, section 2.4).

P patches in the row, H heads, D head width.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype, offsets

__all__ = ["patch_attention_reference"]


def patch_attention_reference(
    q_PHD: Tensor, k_PHD: Tensor, v_PHD: Tensor, cu_seqlens: Tensor | Sequence[int]
) -> Tensor:
    """Return o_PHD in q's dtype; the arithmetic is fp64 for fp64 operands, else fp32."""
    P, _, D = q_PHD.shape
    dtype = accumulation_dtype(q_PHD, k_PHD, v_PHD)
    outputs = [v_PHD[:0].to(dtype)]
    for start, stop in pairwise(offsets(cu_seqlens, P)):
        q, k, v = (x[start:stop].to(dtype).transpose(0, 1) for x in (q_PHD, k_PHD, v_PHD))
        outputs.append(((D**-0.5 * (q @ k.transpose(1, 2))).softmax(-1) @ v).transpose(0, 1))
    return torch.cat(outputs).to(q_PHD.dtype)
