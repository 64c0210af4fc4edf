"""The definition of the MLA core: dense causal softmax within each document, no position encoding.

T tokens in the row, H heads, D query and key width, V value width.
"""

from itertools import pairwise

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype, offsets

__all__ = ["mla_gated_reference", "mla_reference"]


def mla_reference(
    q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, cu_seqlens: Tensor, *, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return (o_THV in fp32, the largest scaled logit of each head [H], −inf for an empty row)."""
    T, H, D = q_THD.shape
    dtype = accumulation_dtype(q_THD, k_THD, v_THV)
    scale = D**-0.5 if scale is None else scale
    borders = offsets(cu_seqlens, T)
    outputs = [v_THV[:0].to(dtype)]
    row_max_H = q_THD.new_full((H,), -torch.inf, dtype=dtype)
    for start, stop in pairwise(borders):
        if start == stop:
            continue
        q, k, v = (x[start:stop].to(dtype).transpose(0, 1) for x in (q_THD, k_THD, v_THV))
        future = torch.ones(stop - start, stop - start, dtype=torch.bool, device=q.device).triu(1)
        scores = (scale * (q @ k.transpose(1, 2))).masked_fill(future, -torch.inf)
        row_max_H = torch.maximum(row_max_H, scores.detach().amax((1, 2)))
        outputs.append((scores.softmax(-1) @ v).transpose(0, 1))
    return torch.cat(outputs), row_max_H


def mla_gated_reference(
    q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, gate_THV: Tensor, cu_seqlens: Tensor, *, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return (o · σ(gate) in q's dtype, the largest scaled logit of each head [H]) (K3 report, section 2.1.2)."""
    o_THV, row_max_H = mla_reference(q_THD, k_THD, v_THV, cu_seqlens, scale=scale)
    return (o_THV * torch.sigmoid(gate_THV.to(o_THV.dtype))).to(q_THD.dtype), row_max_H
