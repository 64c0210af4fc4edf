"""Attention Residuals: each sublayer reads a softmax mixture of the embedding, earlier blocks and the running sum.

N sources, T tokens, D model width.
"""

from collections.abc import Sequence

from torch import Tensor

from trivium.kernels.attnres.normed import NormedAttnRes
from trivium.kernels.attnres.reference import attnres_reference
from trivium.kernels.attnres.step import attnres_bank, attnres_join
from trivium.kernels.attnres.torch_attnres import AttnRes, merge, phase_one
from trivium.kernels.precision import without_autocast

__all__ = ["attnres", "attnres_bank", "attnres_join", "attnres_normed", "attnres_reference", "merge", "phase_one"]


@without_autocast
def attnres(sources_NTD: Tensor | Sequence[Tensor], query_D: Tensor, gamma_D: Tensor, eps: float = 1e-5) -> Tensor:
    """h = Σ_i p_i v_i, p = softmax_i(query · RMSNorm_gamma(v_i)), [T, D] in the sources' dtype (K3 report, eq. 8–10).

    A list of sources is read in place and never stacked. A zero query gives their mean bit for bit.
    """
    return AttnRes.apply(query_D, gamma_D, eps, *sources_NTD)


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
    return NormedAttnRes.apply(query_D, gamma_D, weight_D, eps, norm_eps, *sources_NTD)
