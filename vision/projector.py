"""From the tower's merged patches to the backbone's width: linear, GELU, linear, RMSNorm (K3 config; no biases)."""

from torch import Tensor, nn
from torch.nn import functional as F

from trivium.data.config import Strict
from trivium.data.patches import MERGE
from trivium.vision.norm import RMSNorm


class Projector(nn.Module):
    """[M, 4·W] merged patches → [M, D] vectors that stand at the media tokens' places."""

    class Config(Strict, frozen=True, kw_only=True):
        norm_eps: float = 1e-5

        def build(self, vision_width: int, width: int) -> "Projector":
            return Projector(self, vision_width, width)

    def __init__(self, config: Config, vision_width: int, width: int) -> None:
        super().__init__()
        merged = MERGE * MERGE * vision_width
        self.fc0 = nn.Linear(merged, merged, bias=False)
        self.fc1 = nn.Linear(merged, width, bias=False)
        self.norm = RMSNorm(width, eps=config.norm_eps)

    def forward(self, x_MX: Tensor) -> Tensor:
        return self.norm(self.fc1(F.gelu(self.fc0(x_MX))))
