"""Shapes of the experts and of their router: those of the targets, and small ones for a CPU."""

from dataclasses import dataclass

from trivium.kernels.moe import Activation

__all__ = ["LATENT", "LATENT_FEWER", "PLAIN", "ROUTERS", "TINY_EXPERTS", "TINY_ROUTERS", "ExpertsShape", "RouterShape"]


@dataclass(frozen=True, kw_only=True)
class ExpertsShape:
    """Tokens routed to `experts_per_token` of the experts; each takes `width` to `hidden` and back."""

    tokens: int
    experts: int
    experts_per_token: int
    width: int
    hidden: int
    activation: Activation

    @property
    def name(self) -> str:
        """The shape in one line: `T32768 E128 k8, 2048 → 768 swiglu`."""
        sizes = f"T{self.tokens} E{self.experts} k{self.experts_per_token}"
        return f"{sizes}, {self.width} → {self.hidden} {self.activation}"


@dataclass(frozen=True, kw_only=True)
class RouterShape:
    """Logits [tokens, experts], of which each token takes `experts_per_token`."""

    tokens: int
    experts: int
    experts_per_token: int

    @property
    def name(self) -> str:
        return f"T{self.tokens} E{self.experts} k{self.experts_per_token}"


PLAIN = ExpertsShape(tokens=32768, experts=128, experts_per_token=8, width=2048, hidden=768, activation="swiglu")
# K3's latent experts (K3 report, section 2.3), 128 rows for each: all 896, and as many as fit a smaller machine.
LATENT, LATENT_FEWER = (
    ExpertsShape(tokens=8 * experts, experts=experts, experts_per_token=16, width=3584, hidden=1024, activation="situ")
    for experts in (896, 256)
)
TINY_EXPERTS = (
    ExpertsShape(tokens=65, experts=8, experts_per_token=2, width=64, hidden=32, activation="situ"),
    ExpertsShape(tokens=65, experts=8, experts_per_token=2, width=64, hidden=32, activation="swiglu"),
)

ROUTERS = tuple(
    RouterShape(tokens=tokens, experts=experts, experts_per_token=k)
    for experts, k in ((896, 16), (256, 8))
    for tokens in (8192, 32768)
)
TINY_ROUTERS = (RouterShape(tokens=67, experts=24, experts_per_token=3),)
