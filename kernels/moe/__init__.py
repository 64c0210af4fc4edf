"""Stable LatentMoE's operators: SiTU-GLU, the sigmoid router with its balancing bias, the grouped experts."""

from trivium.kernels.moe.reference import (
    BETA_GATE,
    BETA_UP,
    experts_reference,
    route_reference,
    situ_glu_reference,
)

__all__ = [
    "BETA_GATE",
    "BETA_UP",
    "experts",
    "experts_reference",
    "route",
    "route_reference",
    "situ_glu",
    "situ_glu_reference",
]

experts = experts_reference
route = route_reference
situ_glu = situ_glu_reference
