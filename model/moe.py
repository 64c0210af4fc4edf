"""Stable LatentMoE (K3 report, section 2.3): shared experts at full width plus K of E routed experts in a latent space.

Odd: the RMSNorm between the mixed experts and the up-projection makes the common scale of the router weights
irrelevant; with `latent=None` (the K2 baseline) experts work at full width and a scaling factor takes its place.

T tokens, D width, L latent width, H expert hidden width, E experts, K experts a token, B bins.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from trivium.data.config import Strict
from trivium.kernels.moe import experts, experts_step, route_counted
from trivium.kernels.precision import without_autocast
from trivium.model.balance import Balance, Method
from trivium.model.mlp import Activation, GatedMLP
from trivium.vision.norm import RMSNorm

# (router logits [T, E], the choice [T, K], its shares [T, K]) → the choice and shares to use: `model.routing`.
Steer = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


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
        balance_ema: float = 0.0  # share of the old bias that quantile balancing keeps at each step

        def __post_init__(self) -> None:
            if self.hidden < 1 or (self.latent is not None and self.latent < 1) or not self.scaling > 0:
                raise ValueError(
                    f"hidden is {self.hidden}, latent {self.latent}, scaling {self.scaling:g}; give widths of at least "
                    "1 (latent may be null: experts at full width) and a scaling above 0"
                )
            if not 0 < self.experts_per_token < self.experts:
                raise ValueError(
                    f"experts_per_token is {self.experts_per_token} of {self.experts} experts; balancing needs the "
                    "next expert's score too, so give fewer than all"
                )
            if not 0 <= self.balance_ema < 1 or (self.balance_ema and self.balance != "quantile"):
                raise ValueError(
                    f"balance_ema is {self.balance_ema:g} with balance {self.balance}; give the share of the old bias "
                    "that quantile balancing keeps, from 0 (none) up to 1, and 0 with any other rule"
                )

        def build(self, width: int, eps: float, activation: Activation) -> "LatentMoE":
            return LatentMoE(self, width, eps, activation)

    def __init__(self, config: Config, width: int, eps: float, activation: Activation) -> None:
        super().__init__()
        self.config = config
        self.activation: Activation = activation
        self.steer: Steer | None = None
        inner = width if config.latent is None else config.latent
        self.router = nn.Linear(width, config.experts, bias=False)
        self.balance = Balance(config.experts, config.experts_per_token, config.balance, config.balance_ema)
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

        `decoding` says that these are a few single tokens, whose experts are fetched one by one.
        """
        config = self.config
        logits_TE = router_logits(x_TD, self.router.weight)
        bins = self.balance.bins if count and self.steer is None else None
        index_TK, share_TK, cutoff_T, counts_EX = route_counted(
            logits_TE, self.balance.bias, config.experts_per_token, bins, real_T
        )
        if self.steer is not None:
            index_TK, share_TK = self.steer(logits_TE, index_TK, share_TK)
            counts_EX = self.balance.measure(logits_TE, index_TK, cutoff_T, real_T) if count else None
        return Mixed(self.shared(x_TD) + self._routed(x_TD, index_TK, share_TK, decoding), counts_EX)

    def _routed(self, x_TD: Tensor, index_TK: Tensor, share_TK: Tensor, decoding: bool) -> Tensor:
        config, weights = self.config, (self.experts.w1, self.experts.w3, self.experts.w2)
        mix = experts_step if decoding else experts
        z_TL = x_TD if config.latent is None else self.latent_down(x_TD)
        u_TL = mix(z_TL, index_TK, share_TK, *weights, activation=self.activation)
        return u_TL * config.scaling if config.latent is None else self.latent_up(self.latent_norm(u_TL))


@without_autocast
def router_logits(x_TD: Tensor, weight_ED: Tensor) -> Tensor:
    """[T, E] in fp32 (fp64 for fp64 rows) inside autocast too: a rounded logit would choose another expert."""
    dtype = torch.promote_types(x_TD.dtype, torch.float32)
    return x_TD.to(dtype) @ weight_ED.to(dtype).t()
