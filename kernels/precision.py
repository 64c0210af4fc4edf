"""Operators choose their own precision: autocast stops at their door.

Inside an autocast region torch rewrites the operands of every product, so an operator that keeps a state or a sum in
fp32 would meet bf16 in the middle of its own arithmetic, forwards but not backwards.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

__all__ = ["product_operand", "without_autocast"]

P = ParamSpec("P")
R = TypeVar("R")


def without_autocast(operator: Callable[P, R]) -> Callable[P, R]:
    """Runs `operator` with autocast off on the device of its first tensor (or of the first in a list)."""

    @functools.wraps(operator)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        operand: Any = arguments[0] if arguments else next(iter(options.values()))
        first = operand if isinstance(operand, Tensor) else operand[0]
        if not isinstance(first, Tensor):
            raise TypeError(f"{operator.__name__} takes tensors; its first operand is a {type(operand).__name__}")
        if not torch.is_autocast_enabled(first.device.type):
            return operator(*arguments, **options)
        with torch.autocast(first.device.type, enabled=False):
            return operator(*arguments, **options)

    return run


def product_operand(x: Tensor) -> Tensor:
    """`x` as a product inside the present autocast region would read it; unchanged outside of one, and in fp64."""
    if x.dtype == torch.float64 or not torch.is_autocast_enabled(x.device.type):
        return x
    return x.to(torch.get_autocast_dtype(x.device.type))
