"""One depth-wise query of Block Attention Residuals (K3 report, section 2.2)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from trivium.kernels.attnres import attnres, attnres_normed
from trivium.vision.norm import RMSNorm


class AttnRes(nn.Module):
    """Mixes the sources by softmax of query · RMSNorm(source); a zero query gives their mean.

    Odd: a single source is returned as it is (its weight is 1), so the first layer's query never gets a gradient.
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(width))
        self.gamma = nn.Parameter(torch.empty(width))
        self.eps = eps

    def forward(self, sources_TD: Sequence[Tensor], norm: RMSNorm | None = None) -> Tensor:
        """The mixture, or what a sublayer's `norm` makes of it; the mixture is then not kept for the gradient."""
        if len(sources_TD) == 1:
            return sources_TD[0] if norm is None else norm(sources_TD[0])
        if norm is None:
            return attnres(sources_TD, self.query, self.gamma, self.eps)
        return attnres_normed(sources_TD, self.query, self.gamma, norm.weight, self.eps, norm.eps)
