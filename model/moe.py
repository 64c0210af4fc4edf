"""Stable LatentMoE (K3 report, section 2.3): shared experts at full width plus K of E routed experts in a latent space.

Odd: the RMSNorm between the mixed experts and the up-projection makes the common scale of the router weights
irrelevant; with `latent=None` (the K2 baseline) experts work at full width and a scaling factor takes its place.

T tokens, D width, L latent width, H expert hidden width, E experts, K experts a token, B bins.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from trivium.data.config import Strict
from trivium.kernels.moe import experts, experts_step, route
from trivium.kernels.precision import without_autocast
from trivium.model.balance import Balance, Method
from trivium.model.mlp import Activation, GatedMLP, glu
from trivium.vision.norm import RMSNorm


class Mixed(NamedTuple):
    """y_TD and, when asked for, this pass's counts [E, 1 + B]: tokens routed to each expert, then its histogram."""

    y_TD: Tensor
    counts_EX: Tensor | None


class Experts(nn.Module):
    """The routed experts' weights: w2 · glu(w1 z, w3 z)."""

    def __init__(self, count: int, hidden: int, width: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(count, hidden, width))
        self.w3 = nn.Parameter(torch.empty(count, hidden, width))
        self.w2 = nn.Parameter(torch.empty(count, width, hidden))


class LatentMoE(nn.Module):
    """x_TD → y_TD; no token is dropped and no auxiliary loss is added."""

    class Config(Strict, frozen=True, kw_only=True):
        experts: int
        experts_per_token: int
        hidden: int
        latent: int | None
        shared: int  # shared experts, built as one MLP of width shared · hidden
        scaling: float = 1.0
        balance: Method = "quantile"

        def __post_init__(self) -> None:
            if not 0 < self.experts_per_token < self.experts:
                raise ValueError(
                    f"experts_per_token is {self.experts_per_token} of {self.experts} experts; balancing needs the "
                    "next expert's score too, so give fewer than all"
                )

        def build(self, width: int, eps: float, activation: Activation) -> "LatentMoE":
            return LatentMoE(self, width, eps, activation)

    def __init__(self, config: Config, width: int, eps: float, activation: Activation) -> None:
        super().__init__()
        self.config = config
        self.activation: Activation = activation
        inner = width if config.latent is None else config.latent
        self.router = nn.Linear(width, config.experts, bias=False)
        self.balance = Balance(config.experts, config.experts_per_token, config.balance)
        if config.latent is not None:
            self.latent_down = nn.Linear(width, inner, bias=False)
            self.latent_norm = RMSNorm(inner, eps=eps)
            self.latent_up = nn.Linear(inner, width, bias=False)
        self.experts = Experts(config.experts, config.hidden, inner)
        self.shared = GatedMLP(width, config.shared * config.hidden, activation)

    def forward(
        self, x_TD: Tensor, *, count: bool = False, real_T: Tensor | None = None, decoding: bool = False
    ) -> Mixed:
        """`count` asks for the balance counts, over the tokens that `real_T` marks (all when None).

        `decoding` says that these are single tokens, whose experts are fetched one by one.
        """
        config = self.config
        logits_TE = router_logits(x_TD, self.router.weight)
        index_TK, share_TK, cutoff_T = route(logits_TE, self.balance.bias, config.experts_per_token)
        y_TD = self.shared(x_TD) + self._routed(x_TD, index_TK, share_TK, decoding)
        if not count:
            return Mixed(y_TD, None)
        return Mixed(y_TD, self.balance.measure(logits_TE, index_TK, cutoff_T, real_T))

    def _routed(self, x_TD: Tensor, index_TK: Tensor, share_TK: Tensor, decoding: bool) -> Tensor:
        config, weights = self.config, (self.experts.w1, self.experts.w3, self.experts.w2)
        mix = experts if self.activation == "situ" else swiglu_experts
        if decoding and mix is experts and index_TK.numel() <= config.experts:
            mix = experts_step
        if config.latent is None:
            return mix(x_TD, index_TK, share_TK, *weights) * config.scaling
        return self.latent_up(self.latent_norm(mix(self.latent_down(x_TD), index_TK, share_TK, *weights)))


@without_autocast
def router_logits(x_TD: Tensor, weight_ED: Tensor) -> Tensor:
    """[T, E] in fp32 (fp64 for fp64 rows) inside autocast too: a rounded logit would choose another expert."""
    dtype = torch.promote_types(x_TD.dtype, torch.float32)
    return x_TD.to(dtype) @ weight_ED.to(dtype).t()


def swiglu_experts(
    z_TL: Tensor, index_TK: Tensor, share_TK: Tensor, w1_EHL: Tensor, w3_EHL: Tensor, w2_ELH: Tensor
) -> Tensor:
    """The K2 baseline's experts, one product an expert; the K3 experts have an operator of their own."""
    u_TL = torch.zeros_like(z_TL)
    for expert in range(w1_EHL.shape[0]):
        token_N, slot_N = (index_TK == expert).nonzero(as_tuple=True)
        z_NL = z_TL[token_N]
        hidden_NH = glu(z_NL @ w1_EHL[expert].t(), z_NL @ w3_EHL[expert].t(), "swiglu")
        share_N1 = share_TK[token_N, slot_N].to(z_TL.dtype)[:, None]
        u_TL = u_TL.index_add(0, token_N, ((hidden_NH * share_N1) @ w2_ELH[expert].t()).to(u_TL.dtype))
    return u_TL
