"""Gated MLP: the dense first layer and the shared experts, which are one MLP of their joint width.

Odd: SiTU-GLU caps both factors smoothly (K3 report, Eq. 12); SwiGLU is the K2 baseline's.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from trivium.kernels.moe import Activation, situ_glu

__all__ = ["Activation", "GatedMLP", "glu"]


def glu(gate: Tensor, up: Tensor, activation: Activation) -> Tensor:
    """Elementwise gated unit of two tensors of one shape."""
    return situ_glu(gate, up) if activation == "situ" else F.silu(gate) * up


class GatedMLP(nn.Module):
    """down(glu(gate(x), up(x))), no biases."""

    def __init__(self, width: int, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)
        self.activation: Activation = activation

    def forward(self, x_TD: Tensor) -> Tensor:
        return self.down_proj(glu(self.gate_proj(x_TD), self.up_proj(x_TD), self.activation))
