"""What an operator brings to the table: operands, its definition in fp64, who runs it, and the work it can't avoid.

T tokens, H heads, K head width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

__all__ = ["Call", "Contestant", "Hard", "Layout", "Operator", "Work"]

Call = Callable[..., tuple[Tensor, ...]]  # operands in their order → outputs; gradients by autograd


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
class Contestant:
    """One implementation. `bind` sees a layout once, outside all timing, as a model does in a step of many layers."""

    name: str
    bind: Callable[[Layout, torch.device], Call]
    peer: bool = False
    package: str | None = None  # the distribution whose version the report names


@dataclass(frozen=True, kw_only=True)
class Hard:
    """A case where errors are compared and nothing is timed."""

    name: str
    layout: Layout
    operands: Callable[[Layout, torch.device, torch.dtype], list[Tensor]]
    positions: tuple[int, ...] = ()  # tokens whose edit must leave every earlier output bit-equal


@dataclass(frozen=True, kw_only=True)
class Operator:
    """`axes` and `output_axes` say which dimension of an operand or output is heads (None: none)."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operands: Callable[[Layout, torch.device, torch.dtype], list[Tensor]]
    # The definition on fp64 operands: `exact` token by token for hard cases, `oracle` as fast as a long row needs.
    oracle: Callable[[Layout, torch.device], Call]
    contestants: Callable[[torch.device], Sequence[Contestant]]
    work: Callable[[Layout], tuple[Work, Work]]  # forwards; forwards and backwards
    layouts: tuple[Layout, ...]
    quick: tuple[Layout, ...]
    axes: tuple[int | None, ...] = ()
    output_axes: tuple[int | None, ...] = ()
    oracle_heads: int | None = None  # the oracle takes this many, evenly spread; None: all
    exact: Callable[[Layout, torch.device], Call] | None = None
    hard: tuple[Hard, ...] = ()
    cold: tuple[Layout, ...] = ()  # first call, and others of which nothing may be compiled anew
    # Largest relative error by tensor; sums over a whole row cancel, so their bound is wider.
    tolerances: Mapping[str, float] = field(default_factory=dict)
