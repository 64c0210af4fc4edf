"""What every packed operator asks of its operands: documents in one row, shapes, one device, numbers with a point.

D documents lie one after another in one row of T tokens; `cu_seqlens` holds their D + 1 borders.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

__all__ = ["accumulation_dtype", "expect", "expect_row", "offsets"]


def offsets(cu_seqlens: Tensor | Sequence[int], tokens: int) -> list[int]:
    """Return the D + 1 document borders as integers (empty documents allowed).

    Raises ValueError when they are no line of integers, don't begin at 0, decrease, or don't end at `tokens`.
    """
    if isinstance(cu_seqlens, Tensor) and (cu_seqlens.dim() != 1 or cu_seqlens.is_floating_point()) and len(cu_seqlens):
        raise ValueError(
            f"cu_seqlens must be integers [D + 1], the borders of D documents; found {cu_seqlens.dtype} "
            f"{list(cu_seqlens.shape)}"
        )
    borders = [int(border) for border in (cu_seqlens.tolist() if isinstance(cu_seqlens, Tensor) else cu_seqlens)]
    if not borders or borders[0] != 0 or borders[-1] != tokens:
        raise ValueError(
            f"cu_seqlens must run from 0 to {tokens} (the row's tokens): borders, not lengths; found "
            + (f"{borders[0]} to {borders[-1]}" if borders else "none")
        )
    for document, (start, stop) in enumerate(pairwise(borders)):
        if stop < start:
            raise ValueError(f"cu_seqlens must not decrease; document {document} runs from {start} to {stop}")
    return borders


def expect_row(borders: Sequence[int], cu_seqlens: Tensor | Sequence[int], tokens: int) -> None:
    """Raise ValueError unless a plan of these borders is one of this row.

    Borders that lie on a device are counted alone: to read them would make the host wait in every layer.
    """
    if borders[-1] != tokens:
        raise ValueError(
            f"the plan was built for {borders[-1]} tokens and the row has {tokens}; build it from this row"
        )
    here = not isinstance(cu_seqlens, Tensor) or cu_seqlens.device.type == "cpu"
    if len(cu_seqlens) != len(borders) or (here and offsets(cu_seqlens, tokens) != list(borders)):
        raise ValueError(
            f"the plan was built for another cu_seqlens ({len(borders) - 1} documents, here {len(cu_seqlens) - 1}); "
            "build it from this one"
        )


def expect(
    sizes: Mapping[str, int], like: Tensor, operands: Iterable[tuple[str, Sequence[str], Tensor | None]]
) -> None:
    """Raise ValueError unless each (name, axes, operand) has the sizes of its axes, `like`'s device, a float dtype.

    A kernel reads by its own shapes: a wrong operand would be another's memory, not an error. None is left out.
    """
    for name, axes, x in operands:
        if x is None:
            continue
        wanted = [sizes[axis] for axis in axes]
        if list(x.shape) != wanted:
            raise ValueError(f"{name} must be [{', '.join(axes)}] = {wanted}; found {list(x.shape)}")
        if not x.is_floating_point():
            raise ValueError(f"{name} must have a floating-point dtype; found {x.dtype}")
        if x.device != like.device:
            raise ValueError(f"{name} lies on {x.device}, the row on {like.device}; bring both to one device")


def accumulation_dtype(*tensors: Tensor) -> torch.dtype:
    """fp64 when any operand is fp64 (the tests' precision), else fp32."""
    return torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32
