"""Errors of an implementation against the definition in fp64, output by output and gradient by gradient."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Expected, Operator, Shape

__all__ = ["compare", "derive", "expect", "leaves_of", "projections", "pull", "relative", "verdict"]

LEAST_NORM = 1e-6  # below lies rounding alone: a saturated sigmoid's 1 − σ is 0 or 1e-16
TOLERANCES = {torch.bfloat16: 4e-2, torch.float32: 2e-4}


def leaves_of(operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands anew, those of floating point as leaves that want a gradient."""
    return [x.detach().requires_grad_() if x.is_floating_point() else x for x in operands]


def derive(outputs: Sequence[Tensor], leaves: Sequence[Tensor], weights: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of Σ weight · output over the outputs that have one, with respect to every leaf that wants one."""
    pairs = [(y, w.to(y.dtype)) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
    wanted = [x for x in leaves if x.requires_grad]
    gradients = torch.autograd.grad([y for y, _ in pairs], wanted, [w for _, w in pairs], allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, wanted, strict=True)]


def pull(call: Call, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs, and the gradients of Σ weight · output with respect to every operand of floating point."""
    leaves = leaves_of(operands)
    outputs = call(*leaves)
    gradients = derive(outputs, leaves, weights)
    return [y.detach() for y in outputs], gradients


def projections(outputs: Sequence[Tensor]) -> list[Tensor]:
    """A random weight of each output, exact in bf16."""
    return [torch.randn(y.shape, device=y.device).bfloat16() for y in outputs]


def _heads(operator: Operator[Any], name: str, x: Tensor) -> Tensor:
    """The heads that the oracle takes, evenly spread, of an output, an operand or (`d` before its name) a gradient."""
    outputs = dict(zip(operator.outputs, operator.output_axes, strict=False))
    operands = dict(zip(operator.inputs, operator.axes, strict=False))
    axis = outputs[name] if name in outputs else operands.get(name, operands.get(name.removeprefix("d")))
    few = operator.oracle_heads
    if axis is None or few is None or few >= x.shape[axis]:
        return x
    return x.index_select(axis, torch.arange(few, device=x.device) * x.shape[axis] // few)


def expect(
    operator: Operator[Any],
    shape: Shape,
    operands: Sequence[Tensor],
    weights: Sequence[Tensor],
    *,
    exact: bool = False,
) -> Expected:
    """Outputs and gradients of the definition in fp64 on equal values."""
    if operator.sampled is not None and not exact:
        return operator.sampled.expect(shape, operands, weights)
    call = (operator.exact if exact and operator.exact is not None else operator.oracle)(shape, operands[0].device)
    named = list(zip(operator.inputs, operands, strict=False))
    small = [_heads(operator, name, x) for name, x in named]
    fitting = [_heads(operator, name, w) for name, w in zip(operator.outputs, weights, strict=False)]
    outputs, gradients = pull(call, [x.double() if x.is_floating_point() else x for x in small], fitting)
    names = [*operator.outputs[: len(outputs)], *(f"d{name}" for name, x in named if x.is_floating_point())]
    return dict(zip(names, [*outputs, *gradients], strict=True))


def relative(found: Tensor, expected: Tensor) -> float:
    """‖found − expected‖ / ‖expected‖; NaN when `found` holds one."""
    found = found.double()
    if torch.equal(found, expected):
        return 0.0
    return float((found - expected).norm() / expected.norm().clamp(min=LEAST_NORM))


def compare(
    operator: Operator[Any],
    shape: Shape,
    outputs: Sequence[Tensor],
    gradients: Sequence[Tensor],
    expected: Expected,
) -> dict[str, float]:
    """Error by name; infinite where any value, in the oracle's part or not, is not finite."""
    errors = {}
    for (name, right), whole in zip(expected.items(), [*outputs, *gradients], strict=True):
        sampled = operator.sampled
        part = _heads(operator, name, whole) if sampled is None else sampled.part(shape, name, whole)
        finite = bool(torch.isfinite(whole).all())
        error = operator.measures[name].error if name in operator.measures else relative
        errors[name] = error(part, right) if finite else math.inf
    return errors


def verdict(operator: Operator[Any], errors: dict[str, float], dtype: torch.dtype) -> str:
    """Empty when every error is within its bound, else what leaves it."""
    scale = TOLERANCES[dtype] / TOLERANCES[torch.bfloat16]
    for name, error in errors.items():
        bound = operator.tolerances.get(name, TOLERANCES[torch.bfloat16]) * scale
        if name in operator.measures:
            bound = operator.measures[name].bound
        if not error <= bound:
            return f"{name} is {error:.1e} off, more than {bound:.1e}" if error < math.inf else f"{name} is not finite"
    return ""
