"""Attention Residuals: each sublayer reads a softmax mixture of the embedding, earlier blocks and the running sum.

N sources, T tokens, D model width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trivium.kernels.attnres.normed import NormedAttnRes
from trivium.kernels.attnres.reference import attnres_reference
from trivium.kernels.attnres.shared import shared
from trivium.kernels.attnres.step import attnres_bank, attnres_join
from trivium.kernels.attnres.torch_attnres import AttnRes, merge, phase_one
from trivium.kernels.dispatch import use_triton
from trivium.kernels.precision import without_autocast

__all__ = [
    "attnres",
    "attnres_bank",
    "attnres_join",
    "attnres_normed",
    "attnres_reference",
    "merge",
    "phase_one",
    "shared",
]

MAX_SOURCES = 16  # the kernels unroll their loops over sources
MAX_WIDTH = 8192  # a row lies in the registers of one Triton program


@without_autocast
def attnres(sources_NTD: Tensor | Sequence[Tensor], query_D: Tensor, gamma_D: Tensor, eps: float = 1e-5) -> Tensor:
    """h = Σ_i p_i v_i, p = softmax_i(query · RMSNorm_gamma(v_i)), [T, D] in the sources' dtype (K3 report, eq. 8–10).

    A list of sources is read in place and never stacked. A zero query gives their mean bit for bit.
    """
    sources = tuple(sources_NTD)
    if use_triton("attnres", sources[0], fits=_fits(sources)):
        from trivium.kernels.attnres.triton_attnres import TritonAttnRes

        return TritonAttnRes.apply(query_D, gamma_D, None, eps, eps, *sources)
    return AttnRes.apply(query_D, gamma_D, eps, *sources)


@without_autocast
def attnres_normed(
    sources_NTD: Tensor | Sequence[Tensor],
    query_D: Tensor,
    gamma_D: Tensor,
    weight_D: Tensor,
    eps: float = 1e-5,
    norm_eps: float = 1e-5,
) -> Tensor:
    """`rms_norm(attnres(sources, query, gamma, eps), weight, norm_eps)`; the mixture is not kept for the gradient."""
    sources = tuple(sources_NTD)
    if use_triton("attnres_normed", sources[0], fits=_fits(sources)):
        from trivium.kernels.attnres.triton_attnres import TritonAttnRes

        return TritonAttnRes.apply(query_D, gamma_D, weight_D, eps, norm_eps, *sources)
    return NormedAttnRes.apply(query_D, gamma_D, weight_D, eps, norm_eps, *sources)


def _fits(sources: tuple[Tensor, ...]) -> bool:
    small = len(sources) <= MAX_SOURCES and sources[0].shape[-1] <= MAX_WIDTH
    return small and all(source.dtype in (torch.float32, torch.bfloat16) for source in sources)
