"""Errors of an implementation against the definition in fp64, output by output and gradient by gradient."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Layout, Operator

__all__ = ["Expected", "compare", "expect", "projections", "pull", "relative", "verdict"]

LEAST_NORM = 1e-6  # below lies rounding alone: a saturated sigmoid's 1 − σ is 0 or 1e-16
TOLERANCES = {torch.bfloat16: 4e-2, torch.float32: 2e-4}

Expected = dict[str, Tensor]  # by name, in fp64, on the heads that the oracle took


def pull(call: Call, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs, and the gradients of Σ weight · output with respect to every operand."""
    leaves = [x.detach().requires_grad_() for x in operands]
    outputs = call(*leaves)
    weights = [w.to(y.dtype) for w, y in zip(weights, outputs, strict=True)]
    gradients = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
    found = [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, leaves, strict=True)]
    return [y.detach() for y in outputs], found


def projections(outputs: Sequence[Tensor]) -> list[Tensor]:
    """A random weight of each output, exact in bf16."""
    return [torch.randn(y.shape, device=y.device).bfloat16() for y in outputs]


def _names(operator: Operator, outputs: int, operands: int) -> list[str]:
    return [*operator.outputs[:outputs], *(f"d{name}" for name in operator.inputs[:operands])]


def _part(x: Tensor, axis: int | None, operator: Operator, layout: Layout) -> Tensor:
    """The heads that the oracle takes, evenly spread over all."""
    if axis is None or operator.oracle_heads is None or operator.oracle_heads >= layout.heads:
        return x
    return x.index_select(
        axis, torch.arange(operator.oracle_heads, device=x.device) * layout.heads // operator.oracle_heads
    )


def _parts(xs: Sequence[Tensor], axes: Sequence[int | None], operator: Operator, layout: Layout) -> list[Tensor]:
    known = [*axes, *[None] * (len(xs) - len(axes))]
    return [_part(x, axis, operator, layout) for x, axis in zip(xs, known, strict=False)]


def expect(
    operator: Operator, layout: Layout, operands: Sequence[Tensor], weights: Sequence[Tensor], *, exact: bool = False
) -> Expected:
    """Outputs and gradients of the definition in fp64 on equal values."""
    make = operator.exact if exact and operator.exact is not None else operator.oracle
    call = make(layout, operands[0].device)
    small = _parts(operands, operator.axes, operator, layout)
    outputs, gradients = pull(
        call, [x.double() for x in small], _parts(weights, operator.output_axes, operator, layout)
    )
    return dict(zip(_names(operator, len(outputs), len(operands)), [*outputs, *gradients], strict=True))


def relative(found: Tensor, expected: Tensor) -> float:
    """‖found − expected‖ / ‖expected‖; NaN when `found` holds one."""
    found = found.double()
    if torch.equal(found, expected):
        return 0.0
    return float((found - expected).norm() / expected.norm().clamp(min=LEAST_NORM))


def compare(
    operator: Operator, layout: Layout, outputs: Sequence[Tensor], gradients: Sequence[Tensor], expected: Expected
) -> dict[str, float]:
    """Relative error by name; infinite where any value, on whatever head, is not finite."""
    parts = [
        *_parts(outputs, operator.output_axes, operator, layout),
        *_parts(gradients, operator.axes, operator, layout),
    ]
    names = _names(operator, len(outputs), len(gradients))
    errors = {}
    for name, whole, part in zip(names, [*outputs, *gradients], parts, strict=True):
        finite = bool(torch.isfinite(whole).all())
        errors[name] = relative(part, expected[name]) if finite else math.inf
    return errors


def verdict(operator: Operator, errors: dict[str, float], dtype: torch.dtype) -> str:
    """Empty when every error is within its bound, else what leaves it."""
    scale = TOLERANCES[dtype] / TOLERANCES[torch.bfloat16]
    for name, error in errors.items():
        bound = operator.tolerances.get(name, TOLERANCES[torch.bfloat16]) * scale
        if not error <= bound:
            return f"{name} is {error:.1e} off, more than {bound:.1e}" if error < math.inf else f"{name} is not finite"
    return ""
