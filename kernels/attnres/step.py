"""Attention Residuals for single tokens, for decoding: the few short sources are stacked, which costs least there.

N sources, B tokens, D model width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["attnres_step"]


def attnres_step(sources_NBD: Sequence[Tensor], query_D: Tensor, gamma_D: Tensor, eps: float = 1e-5) -> Tensor:
    """h_BD as `attnres` gives it, without gradients."""
    dtype = accumulation_dtype(query_D, *sources_NBD)
    v_NBD = torch.stack([*sources_NBD]).to(dtype)
    r_NB = torch.linalg.vector_norm(v_NBD, dim=-1).square_().mul_(1 / v_NBD.shape[-1]).add_(eps).rsqrt_()
    p_NB = (v_NBD @ (query_D * gamma_D).to(dtype)).mul_(r_NB).softmax(0)
    return v_NBD.mul_(p_NB.unsqueeze(-1)).sum(0).to(sources_NBD[0].dtype)
