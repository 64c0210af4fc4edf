"""The targets as data: for each, how many times better than the best peer we must be, and mean to be.

Odd: where the goal also names an absolute figure, only the ratio decides; the figure shows that the peer is not broken.
"""

from dataclasses import dataclass
from typing import Literal

from trivium.kernels.bench.case import Layout
from trivium.kernels.bench.operators.rows import EVEN, LONG, ONE, RAGGED

__all__ = ["ALONE", "COLD", "EXACT", "RATIOS", "ROUNDING", "ColdTarget", "Quantity", "Ratio"]

Quantity = Literal["forward", "both", "peak"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The best peer's figure over ours must reach `must`; `goal` is what we mean to reach."""

    target: str
    op: str
    layout: Layout
    quantity: Quantity
    must: float
    goal: float
    absolute: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdTarget:
    """Seconds to the first results of all operators of a training step, one after another in one process."""

    target: str
    operators: tuple[str, ...]
    must: float
    goal: float


def _kda(
    target: str, lengths: tuple[int, ...], heads: int, quantity: Quantity, must: float, goal: float, absolute: str
) -> Ratio:
    layout = Layout(lengths=lengths, heads=heads)
    return Ratio(
        target=target, op="kda", layout=layout, quantity=quantity, must=must, goal=goal, absolute=absolute
    )  # fmt: skip


RATIOS = (
    *(_kda("K1", lengths, 96, "forward", 1.4, 2.4, "1.1 ms") for lengths in (ONE, RAGGED, EVEN)),
    _kda("K2", ONE, 96, "both", 1.3, 2.0, "6 ms"),
    _kda("K3", ONE, 96, "peak", 1.0, 2.0, ""),
    _kda("K4", LONG, 32, "both", 1.3, 2.0, ""),
)
COLD = ColdTarget(target="K5", operators=("kda", "short_conv", "gated_norm", "rms_norm"), must=60.0, goal=20.0)
# K6 compares errors of two roundings of the same operands: equal arithmetic differs by about so much by chance.
ROUNDING = 1.05
EXACT = 1e-5  # an error below is none
ALONE = 1e-1  # what is sound where every peer fails
