"""RMSNorm of the tower and of the backbone, on the project's own operator (here because model imports vision)."""

import torch
from torch import Tensor, nn

from trivium.kernels.gated_norm import rms_norm


class RMSNorm(nn.Module):
    """x · rsqrt(mean x² + eps) · weight over the last dimension; statistics in fp32, result in the input's dtype."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.eps)
