"""Attention Residuals with the norm behind them in the table: sources [T, D] in the row's dtype, vectors [D] in fp32.

T tokens, D model width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.kernels.attnres import attnres_normed
from trivium.kernels.bench.case import Call, Contestant, Operator, Work
from trivium.kernels.bench.peers import attn_res as peers

__all__ = ["ATTN_RES", "TARGET", "DepthShape"]

MOST = 16  # sources


@dataclass(frozen=True, kw_only=True)
class DepthShape:
    """One read of a sublayer; `query` scales the logits' spread: 0 is how a model starts, 1e4 a choice of one."""

    tokens: int
    width: int
    sources: int
    query: float = 1.0

    @property
    def name(self) -> str:
        spread = "" if self.query == 1 else f", query × {self.query:g}"
        return f"T{self.tokens} D{self.width}, {self.sources} sources{spread}"


def _operands(shape: DepthShape, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    T, D = shape.tokens, shape.width
    query_D = shape.query * torch.randn(D, device=device) / D**0.5
    gamma_D, weight_D = (1 + 0.1 * torch.randn(D, device=device) for _ in range(2))
    return [query_D, gamma_D, weight_D, *(torch.randn(T, D, device=device).to(dtype) for _ in range(shape.sources))]


def _ours(shape: DepthShape, device: torch.device) -> Call:
    def call(query_D: Tensor, gamma_D: Tensor, weight_D: Tensor, *sources_TD: Tensor) -> tuple[Tensor, ...]:
        return (attnres_normed(sources_TD, query_D, gamma_D, weight_D, peers.EPS, peers.EPS),)

    return call


def _contestants(device: torch.device) -> list[Contestant[DepthShape]]:
    ours = Contestant(name="trivium", bind=_ours)
    if device.type == "cuda":
        return [ours, *peers.contestants(device)]
    return [ours, Contestant(name="definition", bind=peers.definition, peer=True)]


def _work(shape: DepthShape) -> tuple[Work, Work]:
    """Forwards every source read and the result written; backwards they and dy read, every gradient written, in bf16.

    Three products of an element forwards (its square, with the query, into the mixture); backwards it meets h, g, dh
    and itself, and goes into da.
    """
    elements = shape.tokens * shape.width
    forward = Work(2 * (shape.sources + 1) * elements, 6 * shape.sources * elements)
    return forward, Work(
        forward.bytes + 2 * (2 * shape.sources + 1) * elements, forward.flops + 14 * shape.sources * elements
    )


TARGET = DepthShape(tokens=8192, width=7168, sources=9)
TINY = (
    DepthShape(tokens=37, width=40, sources=3),
    DepthShape(tokens=5, width=40, sources=3, query=0.0),
    DepthShape(tokens=5, width=40, sources=3, query=1e4),
    DepthShape(tokens=1, width=24, sources=1),
)

ATTN_RES = Operator(
    name="attn_res",
    inputs=("query", "gamma", "weight", *(f"v{i}" for i in range(MOST))),
    outputs=("y",),
    operands=_operands,
    oracle=peers.definition,
    contestants=_contestants,
    work=_work,
    layouts=(
        TARGET,
        DepthShape(tokens=8192, width=2352, sources=5),
        DepthShape(tokens=2048, width=7168, sources=9, query=0.0),
        DepthShape(tokens=2048, width=7168, sources=9, query=100.0),
    ),
    quick=TINY,
    cold=tuple(DepthShape(tokens=n, width=7168, sources=9) for n in (1024, 2048, 777, 5003)),
    # With a zero query gamma has no gradient, and with one that chooses, what reaches query and gamma is rounding.
    tolerances={"dquery": 1e-1, "dgamma": 1e-1},
    counted=True,
)
