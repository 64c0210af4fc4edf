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
from trivium.kernels.moe.torch_glu import CONSTANT, Activation, SiTUGLU
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
    once. One launch on a GPU. Raises ValueError when k ≥ E, or for shapes that do not go together.
    """
    if logits_TE.dim() != 2 or bias_E.shape != logits_TE.shape[1:]:
        raise ValueError(f"logits must be [T, E] and bias [E]; found {list(logits_TE.shape)} and {list(bias_E.shape)}")
    if real_T is not None and (real_T.dtype != torch.bool or real_T.shape != logits_TE.shape[:1]):
        raise ValueError(
            f"real_T must be one truth value a token, [{len(logits_TE)}]; found {real_T.dtype} {list(real_T.shape)}"
        )
    if isinstance(k, bool) or not 0 < k < logits_TE.shape[-1]:
        raise ValueError(f"k must lie between 1 and experts − 1 = {logits_TE.shape[-1] - 1}; found {k}")
    if bins is not None and (isinstance(bins, bool) or bins < 0):
        raise ValueError(f"bins must be None, 0 (loads alone) or how many the histogram has; found {bins}")
    return Route.apply(logits_TE, bias_E, k, bins, real_T)


def experts(
    z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    *, activation: Activation = "situ",
) -> Tensor:  # fmt: skip
    """u_TL = Σ_j p_j w2_j glu(w1_j z, w3_j z) (K3 report, equation 13); no token is dropped.

    In z's dtype; inside autocast in autocast's, as any product. Deterministic: every sum has one order, whatever the
    number of threads gives each expert. bf16 on a GPU takes grouped products, without a host sync when widths are
    multiples of 8; for the same reason nobody looks there whether the indices lie in 0 … E − 1, as they must. Raises
    ValueError for shapes that do not go together and for an unknown activation.
    """
    _agree(z_TL, indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF, activation)
    return _experts(product_operand(z_TL), indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF, activation)


def _agree(
    z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    activation: Activation,
) -> None:  # fmt: skip
    if activation not in CONSTANT:
        raise ValueError(f"activation must be {' or '.join(CONSTANT)}; found {activation!r}")
    shapes = [list(x.shape) for x in (z_TL, indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF)]
    told = "z {} must be [T, L], indices {} and probs {} [T, K], w1 {} and w3 {} [E, F, L], w2 {} [E, L, F]"
    if [len(shape) for shape in shapes] != [2, 2, 2, 3, 3, 3]:
        raise ValueError(told.format(*shapes))
    (T, L), (E, F, _) = shapes[0], shapes[3]
    wanted = [[T, L], [T, shapes[1][1]], [T, shapes[1][1]], [E, F, L], [E, F, L], [E, L, F]]
    if shapes != wanted:
        raise ValueError(told.format(*shapes))


@without_autocast
def _experts(
    z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    activation: Activation,
) -> Tensor:  # fmt: skip
    operands = z_TL, indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF, activation
    aligned = w1_EFL.shape[1] % ALIGNMENT == 0 and w1_EFL.shape[2] % ALIGNMENT == 0
    if z_TL.is_cuda and z_TL.dtype == torch.bfloat16 and aligned and indices_TK.numel():
        fused = use_triton("experts", z_TL)
        if fused and fits(z_TL, indices_TK, w1_EFL, w3_EFL, w2_ELF):
            return FewExperts.apply(*operands)
        return GroupedExperts.apply(*operands, fused)
    return Experts.apply(*operands)
