"""What an operator brings to the table: operands, its definition in fp64, who runs it, and the work it can't avoid.

Each operator has shapes of its own kind: `Layout` for packed rows of heads, `operators.routed` for experts.
T tokens, H heads, K head width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from trivium.kernels.bench.report import Waste

__all__ = ["Call", "Contestant", "Expected", "Hard", "Layout", "Measure", "Operator", "Sampled", "Shape", "Work"]

Call = Callable[..., tuple[Tensor, ...]]  # operands in their order → outputs; gradients by autograd
Expected = dict[str, Tensor]  # outputs and gradients by name, in fp64, on the part that the oracle took


class Shape(Protocol):
    """What an operator is measured on; the report knows it by its name."""

    @property
    def name(self) -> str: ...

    @property
    def tokens(self) -> int: ...


S = TypeVar("S", bound=Shape)
C = TypeVar("C", bound=Shape, contravariant=True)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A packed row: lengths of its documents in tokens, heads and their width."""

    lengths: tuple[int, ...]
    heads: int
    width: int = 128

    @property
    def tokens(self) -> int:
        return sum(self.lengths)

    @property
    def name(self) -> str:
        """The shape in one line: `T8192 H96 K128, 6 ragged documents`."""
        count, distinct = len(self.lengths), set(self.lengths)
        row = "one row" if count == 1 else f"{count} × {distinct.pop()}" if len(distinct) == 1 else f"{count} ragged"
        return f"T{self.tokens} H{self.heads} K{self.width}, {row}"

    def cu_seqlens(self, device: torch.device | str = "cpu") -> Tensor:
        return torch.tensor([0, *self.lengths], device=device).cumsum(0)


@dataclass(frozen=True, slots=True)
class Work:
    """The least that one pass must do: bytes read and written once, floating-point operations of its products."""

    bytes: int
    flops: int


@dataclass(frozen=True, kw_only=True)
class Contestant(Generic[S]):
    """One implementation. `bind` sees a shape once, outside all timing, as a model does in a step of many layers."""

    name: str
    bind: Callable[[S, torch.device], Call]
    peer: bool = False
    package: str | None = None  # the distribution whose version the report names
    takes: Callable[[S], bool] = lambda shape: True  # not every peer has every operator's semantics
    # A peer keeps parameters in a layout of its own: our operands in it, made once, outside all timing, and gradients
    # of those back in ours.
    arrange: Callable[[Sequence[Tensor]], list[Tensor]] = list
    restore: Callable[[Sequence[Tensor]], list[Tensor]] = list


@dataclass(frozen=True, slots=True)
class Measure:
    """An error other than the relative one, and its bound in any dtype: `error(found, expected)`."""

    error: Callable[[Tensor, Tensor], float]
    bound: float


class Sampled(Protocol[C]):
    """What is right on a sample of the values, where the whole is too large for fp64."""

    def expect(self, shape: C, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> Expected:
        """Outputs, and gradients of Σ weight · output, of the definition in fp64."""

    def part(self, shape: C, name: str, found: Tensor) -> Tensor:
        """The same sample of an output or (`d` before its name) a gradient."""


@dataclass(frozen=True, kw_only=True)
class Hard:
    """A case where errors are compared and nothing is timed."""

    name: str
    layout: Layout
    operands: Callable[[Layout, torch.device, torch.dtype], list[Tensor]]
    positions: tuple[int, ...] = ()  # tokens whose edit must leave every earlier output bit-equal


@dataclass(frozen=True, kw_only=True)
class Operator(Generic[S]):
    """`axes` and `output_axes` say which dimension of an operand or output is heads (None: none).

    Operands of integers have no gradient, and outputs that need none (integers, a cutoff) none that flows back.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operands: Callable[[S, torch.device, torch.dtype], list[Tensor]]
    # The definition on fp64 operands: `exact` token by token for hard cases, `oracle` as fast as a long row needs.
    oracle: Callable[[S, torch.device], Call]
    contestants: Callable[[torch.device], Sequence[Contestant[S]]]
    work: Callable[[S], tuple[Work, Work]]  # forwards; forwards and backwards
    layouts: tuple[S, ...]
    quick: tuple[S, ...]
    axes: tuple[int | None, ...] = ()
    output_axes: tuple[int | None, ...] = ()
    oracle_heads: int | None = None  # the oracle takes this many, evenly spread; None: all
    sampled: Sampled[S] | None = None  # in place of the oracle
    exact: Callable[[S, torch.device], Call] | None = None
    hard: tuple[Hard, ...] = ()
    cold: tuple[S, ...] = ()  # first call, and others of which nothing may be compiled anew
    # Largest relative error by tensor; sums over a whole row cancel, so their bound is wider.
    tolerances: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)  # by tensor, in place of the relative error
    counted: bool = False  # kernels launched and waits of the host are measured too
    # Of the outputs (which hold what autograd keeps) and operands: rows that are computed for nothing.
    waste: Callable[[S, Sequence[Tensor], Sequence[Tensor]], Waste] | None = None
