"""Stable LatentMoE's operators: SiTU-GLU, the sigmoid router with its balancing bias, the grouped experts.

T tokens, E experts, K experts a token, L latent width, F expert hidden width.
"""

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.moe.few_experts import FewExperts, fits
from trivium.kernels.moe.reference import (
    BETA_GATE,
    BETA_UP,
    experts_reference,
    route_reference,
    situ_glu_reference,
)
from trivium.kernels.moe.step import experts_step
from trivium.kernels.moe.torch_glu import Activation, SiTUGLU
from trivium.kernels.moe.torch_grouped import ALIGNMENT, GroupedExperts
from trivium.kernels.moe.torch_moe import Experts
from trivium.kernels.moe.torch_route import Route, count
from trivium.kernels.precision import product_operand, without_autocast

__all__ = [
    "BETA_GATE",
    "BETA_UP",
    "Activation",
    "count",
    "experts",
    "experts_reference",
    "experts_step",
    "route",
    "route_counted",
    "route_reference",
    "situ_glu",
    "situ_glu_reference",
]


@without_autocast
def situ_glu(g: Tensor, u: Tensor) -> Tensor:
    """4 tanh(g/4) σ(g) · 25 tanh(u/25), computed in fp32, in g's dtype (K3 report, equation 12)."""
    if use_triton("situ_glu", g):
        from trivium.kernels.moe.triton_glu import TritonSiTUGLU

        return TritonSiTUGLU.apply(g, u)
    return SiTUGLU.apply(g, u)


@without_autocast
def route(logits_TE: Tensor, bias_E: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (indices_TK, probs_TK, cutoff_T) in fp32 (K3 report, equation 11).

    The k largest of σ(logits) + bias are chosen; the bias shifts only the choice; `cutoff_T` is the (k+1)-th value,
    which Quantile Balancing counts. Gradients flow to the chosen logits only. Raises ValueError when k ≥ E.
    """
    return route_counted(logits_TE, bias_E, k, None)[:3]


@without_autocast
def route_counted(
    logits_TE: Tensor, bias_E: Tensor, k: int, bins: int | None, real_T: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """As `route`, with the counts of this pass: int64 [E, 1 + bins], tokens routed to each expert, then the histogram
    of its margins (`kernels.quantile.histogram`); None where `bins` is None, loads alone where it is 0.

    `real_T` marks the tokens that are counted; all are routed. The caller adds counts of training passes only, each
    once. One launch on a GPU. Raises ValueError when k ≥ E.
    """
    if not 0 < k < logits_TE.shape[-1]:
        raise ValueError(f"k must lie between 1 and experts − 1 = {logits_TE.shape[-1] - 1}; found {k}")
    return Route.apply(logits_TE, bias_E, k, bins, real_T)


def experts(
    z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    *, activation: Activation = "situ",
) -> Tensor:  # fmt: skip
    """u_TL = Σ_j p_j w2_j glu(w1_j z, w3_j z) (K3 report, equation 13); no token is dropped.

    In z's dtype; inside autocast in autocast's, as any product. Deterministic: every sum has one order, whatever the
    number of threads gives each expert. Half precision on a GPU takes grouped products, without a host sync when
    widths are multiples of 8.
    """
    return _experts(product_operand(z_TL), indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF, activation)


@without_autocast
def _experts(
    z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    activation: Activation,
) -> Tensor:  # fmt: skip
    operands = z_TL, indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF, activation
    aligned = w1_EFL.shape[1] % ALIGNMENT == 0 and w1_EFL.shape[2] % ALIGNMENT == 0
    if z_TL.is_cuda and z_TL.dtype in (torch.bfloat16, torch.float16) and aligned and indices_TK.numel():
        fused = use_triton("experts", z_TL)
        if fused and fits(z_TL, indices_TK, w1_EFL, w3_EFL, w2_ELF):
            return FewExperts.apply(*operands)
        return GroupedExperts.apply(*operands, fused)
    return Experts.apply(*operands)
