"""Router balance without an auxiliary loss: quantile balancing, the sign-step baseline, or none.

Odd: the layer never counts by itself. A forward pass returns its counts and the model adds them once, after the pass:
recomputation under activation checkpointing throws its second copy away, evaluation never adds, and micro-batches sum.

T tokens, E experts, B bins.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from trivium.kernels.moe import count
from trivium.kernels.quantile import BINS, quantile_bias

SIGN_STEP = 1e-3  # DeepSeek-V3's constant; K2's own is not published

Method = Literal["quantile", "sign", "none"]


class Balance(nn.Module):
    """Holds the routing bias and what the running step has counted.

    Quantile balancing sets b ← ε·b + (1 − ε)·(b̂ − mean b̂) from the step's quantiles b̂; ε = `ema` is 0 (K3 report,
    equation 14) unless batches are small: the moving average of the quantiles takes out what differs from one to the
    next (appendix D, which gives no ε). A bias of zeros is the start and no average: the first b̂ is taken whole.

    `bias` is part of a checkpoint. `histogram` and `load` belong to the running optimizer step, `last_load` to the
    one before: none is kept, since checkpoints stand between steps.
    """

    bias: Tensor
    histogram: Tensor
    load: Tensor
    last_load: Tensor

    def __init__(self, experts: int, experts_per_token: int, method: Method, ema: float = 0.0) -> None:
        super().__init__()
        self.experts_per_token = experts_per_token
        self.method: Method = method
        self.ema = ema
        self.bins = BINS if method == "quantile" else 0
        self.register_buffer("bias", torch.zeros(experts))
        self.register_buffer("histogram", torch.zeros(experts, self.bins, dtype=torch.int64), persistent=False)
        self.register_buffer("load", torch.zeros(experts, dtype=torch.int64), persistent=False)
        self.register_buffer("last_load", torch.zeros(experts, dtype=torch.int64), persistent=False)

    @torch.no_grad()
    def measure(self, logits_TE: Tensor, index_TK: Tensor, cutoff_T: Tensor, real_T: Tensor | None) -> Tensor:
        """One forward pass's counts [E, 1 + B] where another than the router chose: as `route_counted` gives them."""
        return count(logits_TE.sigmoid(), index_TK, cutoff_T, self.bias, self.bins, real_T)

    @torch.no_grad()
    def add(self, counts_EX: Tensor) -> None:
        """Adds one forward pass's counts: [E, 1 + B], the routed tokens of each expert, then its histogram."""
        self.load += counts_EX[:, 0]
        if self.method == "quantile":
            self.histogram += counts_EX[:, 1:]

    @torch.no_grad()
    def counts(self) -> Tensor:
        """What `add` has summed since the last update, [E, 1 + B]: integers that ranks may sum in any order."""
        return torch.cat([self.load[:, None], self.histogram], dim=1)

    @torch.no_grad()
    def update(self, counts_EX: Tensor) -> None:
        """The bias of the next step from the counts of the whole step, summed over ranks; starts the next count."""
        load_E = counts_EX[:, 0]
        if int(load_E.sum()) > 0:
            if self.method == "quantile":
                histogram_EB = counts_EX[:, 1:]
                tokens = int(histogram_EB[0].sum())
                self.bias.copy_(quantile_bias(histogram_EB, self.bias, tokens, self.experts_per_token, self.ema))
            elif self.method == "sign":
                # Twice the integer imbalance keeps the sign exact.
                gap_E = load_E.sum() - load_E * load_E.numel()
                self.bias += SIGN_STEP * gap_E.sign().to(self.bias.dtype)
        self.last_load.copy_(load_E)
        self.load.zero_()
        self.histogram.zero_()
