"""The operators of the table, one file each."""

from typing import Any

from trivium.errors import UsageError
from trivium.kernels.bench.case import Operator
from trivium.kernels.bench.operators.attn_res import ATTN_RES
from trivium.kernels.bench.operators.cross_entropy import CROSS_ENTROPY
from trivium.kernels.bench.operators.kda import KDA
from trivium.kernels.bench.operators.kda_segments import KDA_SEGMENTS
from trivium.kernels.bench.operators.mla import MLA
from trivium.kernels.bench.operators.moe import MOE, MOE_FP32_WEIGHTS
from trivium.kernels.bench.operators.norms import GATED_NORM, RMS_NORM
from trivium.kernels.bench.operators.route import ROUTE
from trivium.kernels.bench.operators.short_conv import SHORT_CONV

__all__ = ["OPERATORS", "chosen"]

OPERATORS: tuple[Operator[Any], ...] = (
    KDA, SHORT_CONV, GATED_NORM, RMS_NORM, KDA_SEGMENTS, MOE, MOE_FP32_WEIGHTS, ROUTE, MLA, ATTN_RES,
    CROSS_ENTROPY,
)  # fmt: skip


def chosen(names: list[str]) -> list[Operator[Any]]:
    """The operators named, all when none is. Raises UsageError for a name that no operator has."""
    known = {operator.name: operator for operator in OPERATORS}
    for name in names:
        if name not in known:
            raise UsageError(f"no operator {name!r} in the table; there are: {', '.join(known)}")
    return [known[name] for name in names] if names else list(OPERATORS)
