"""The targets as data: for each, how many times better than the best peer we must be, and mean to be.

Odd: where the goal also names an absolute figure, only the ratio decides; the figure shows that the peer is not broken.
"""

from dataclasses import dataclass
from typing import Literal

from trivium.kernels.bench.case import Layout, Shape
from trivium.kernels.bench.operators.attn_res import TARGET as DEPTH
from trivium.kernels.bench.operators.head_shapes import HEAD, HEAD_LONG
from trivium.kernels.bench.operators.mla import DOCUMENTS
from trivium.kernels.bench.operators.routed import LATENT, LATENT_FEWER, PLAIN, ROUTERS
from trivium.kernels.bench.operators.rows import EVEN, LONG, ONE, RAGGED

__all__ = [
    "ALONE",
    "COLD",
    "EXACT",
    "LATENT_EXPERTS",
    "RATIOS",
    "ROUNDING",
    "ROUTER",
    "ColdTarget",
    "LatentTarget",
    "Quantity",
    "Ratio",
    "RouterTarget",
]

Quantity = Literal["forward", "both", "peak"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The best peer's figure over ours must reach `must` (None: nothing must); `goal` is what we mean to reach."""

    target: str
    op: str
    layout: Shape
    quantity: Quantity
    must: float | None
    goal: float
    absolute: str = ""
    known: str = ""  # the peer's figure from elsewhere: one far from it is no fair comparison
    against: str = ""  # this contestant alone, where the others do less; empty: the best of all peers


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdTarget:
    """Seconds of a preset's first training step in a fresh process with an empty cache."""

    target: str
    preset: str
    must: float
    goal: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentTarget:
    """The experts without a wait of the host; at most these shares of rows for nothing, at least this product rate."""

    target: str
    op: str
    shapes: tuple[Shape, ...]
    padded: float
    wasted: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterTarget:
    """All of the router in one kernel, in at most `goal` times the reading of its logits."""

    target: str
    op: str
    shape: Shape
    goal: float


def _kda(
    target: str, lengths: tuple[int, ...], heads: int, quantity: Quantity, must: float, goal: float, absolute: str
) -> Ratio:
    layout = Layout(lengths=lengths, heads=heads)
    return Ratio(
        target=target, op="kda", layout=layout, quantity=quantity, must=must, goal=goal, absolute=absolute
    )  # fmt: skip


FP32_SUMS = "liger-kernel, fp32 sums"  # the peer that sums the head's gradient in fp32, as we do
RATIOS = (
    *(_kda("K1", lengths, 96, "forward", 1.4, 2.4, "1.1 ms") for lengths in (ONE, RAGGED, EVEN)),
    _kda("K2", ONE, 96, "both", 1.3, 2.0, "6 ms"),
    _kda("K3", ONE, 96, "peak", 1.0, 2.0, ""),
    _kda("K4", LONG, 32, "both", 1.3, 2.0, ""),
    Ratio(
        target="K8", op="moe", layout=PLAIN, quantity="both", must=1.1, goal=1.5, absolute="17 ms, 430 TFLOP/s",
        known="25.5 ms",
    ),
    Ratio(target="K8", op="moe", layout=PLAIN, quantity="peak", must=None, goal=1.0),
    Ratio(
        target="K7", op="attn_res", layout=DEPTH, quantity="forward", must=1.2, goal=1.4, absolute="0.32 ms",
        known="0.449 ms",
    ),
    Ratio(
        target="K7", op="attn_res", layout=DEPTH, quantity="both", must=1.2, goal=1.68, absolute="0.95 ms",
        known="1.60 ms",
    ),
    Ratio(
        target="K10", op="cross_entropy", layout=HEAD, quantity="both", must=1.0, goal=1.3, absolute="30 ms",
        known="39.1 ms",
    ),
    Ratio(
        target="K10", op="cross_entropy", layout=HEAD_LONG, quantity="both", must=1.0, goal=1.2, absolute="115 ms",
        against=FP32_SUMS,
    ),
    *(
        Ratio(
            target="K10", op="cross_entropy", layout=layout, quantity="peak", must=1.0, goal=1.0, against=FP32_SUMS
        )
        for layout in (HEAD, HEAD_LONG)
    ),
    *(
        Ratio(
            target="K12", op="mla", layout=Layout(lengths=lengths, heads=96), quantity=quantity, must=0.9, goal=goal
        )
        for lengths, goal in ((ONE, 1.0), (DOCUMENTS, 1.2))
        for quantity in ("forward", "both")
    ),
)  # fmt: skip
LATENT_EXPERTS = LatentTarget(target="K9", op="moe", shapes=(LATENT, LATENT_FEWER), padded=0.05, wasted=0.10, rate=0.5)
ROUTER = RouterTarget(
    target="K11", op="route", shape=next(s for s in ROUTERS if (s.tokens, s.experts) == (32768, 896)), goal=1.2
)
COLD = ColdTarget(target="K5", preset="base", must=60.0, goal=20.0)
# K6 compares errors of two roundings of the same operands: equal arithmetic differs by about so much by chance.
ROUNDING = 1.05
EXACT = 1e-5  # an error below is none
ALONE = 1e-1  # what is sound where every peer fails
