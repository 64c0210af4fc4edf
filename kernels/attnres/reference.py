"""The definition of Attention Residuals: softmax over depth (arXiv 2603.15031; K3 report, equations 8–10).

N sources, T tokens, D model width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["attnres_reference"]


def attnres_reference(
    sources_NTD: Tensor | Sequence[Tensor], query_D: Tensor, gamma_D: Tensor, eps: float = 1e-5
) -> Tensor:
    """h = Σ_i p_i v_i with p = softmax_i(query · RMSNorm_gamma(v_i)); values enter un-normalised, softmax in fp32."""
    stack_NTD = sources_NTD if isinstance(sources_NTD, Tensor) else torch.stack(list(sources_NTD))
    dtype = accumulation_dtype(stack_NTD, query_D, gamma_D)
    v_NTD = stack_NTD.to(dtype)
    norm_NT1 = torch.rsqrt(v_NTD.square().mean(-1, keepdim=True) + eps)
    logits_NT = (v_NTD * norm_NT1 * gamma_D.to(dtype)) @ query_D.to(dtype)
    return (logits_NT.softmax(0).unsqueeze(-1) * v_NTD).sum(0).to(stack_NTD.dtype)
