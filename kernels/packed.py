"""What every packed operator knows of `cu_seqlens`: D documents lie one after another in one row of T tokens."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

__all__ = ["accumulation_dtype", "offsets"]


def offsets(cu_seqlens: Tensor | Sequence[int], tokens: int) -> list[int]:
    """Return the D + 1 document borders as integers (empty documents allowed).

    Raises ValueError when they don't begin at 0, decrease, or don't end at `tokens`.
    """
    borders = [int(border) for border in (cu_seqlens.tolist() if isinstance(cu_seqlens, Tensor) else cu_seqlens)]
    if not borders or borders[0] != 0 or borders[-1] != tokens:
        raise ValueError(
            f"cu_seqlens must run from 0 to {tokens} (the row's tokens); found {borders[:1]}…{borders[-1:]}"
        )
    if any(after < before for before, after in pairwise(borders)):
        raise ValueError("cu_seqlens must not decrease; found a document of negative length")
    return borders


def accumulation_dtype(*tensors: Tensor) -> torch.dtype:
    """fp64 when any operand is fp64 (the tests' precision), else fp32."""
    return torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32
