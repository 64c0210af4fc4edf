"""The head's gradient as it grows: fp32 sums that the products themselves add to, and one rounding at the end.

Odd: sums for a bf16 weight lie in two halves of the vocabulary. Rounded, both fit into the first half's memory, so that
a gradient in bf16 costs no memory beside its sums.
N tokens of a block, D model width, V vocabulary.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["HalvedGradient", "WholeGradient", "weight_gradient"]

FIRST_ROWS = 4096  # rounded by way of a copy; each piece behind is as long as all before it
BLOCK = 4096


def _add(sum_VD: Tensor, dlogits_VN: Tensor, hidden_ND: Tensor, *, first: bool) -> None:
    """sum += dlogits @ hidden by the product itself; what stands in `sum` is not read for the first block."""
    kind = {} if hidden_ND.dtype == torch.float32 else {"out_dtype": torch.float32}
    torch.addmm(sum_VD, dlogits_VN, hidden_ND, beta=0 if first else 1, **kind, out=sum_VD)


@triton.jit
def _scale(x, scale, size, BLOCK: tl.constexpr):
    factor = tl.load(scale).to(tl.float32)
    if factor != 1:
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < size) * factor, mask=i < size)


class WholeGradient:
    """One sum, handed out as it is for an fp32 weight: times 1 costs nothing."""

    def __init__(self, weight_VD: Tensor) -> None:
        self.sum_VD = torch.empty_like(weight_VD, dtype=torch.float32, memory_format=torch.contiguous_format)
        self.dtype, self.empty = weight_VD.dtype, True

    def add(self, dlogits_NV: Tensor, hidden_ND: Tensor) -> None:
        _add(self.sum_VD, dlogits_NV.T, hidden_ND, first=self.empty)
        self.empty = False

    def take(self, scale: Tensor | None) -> Tensor:
        if self.empty:
            self.sum_VD.zero_()
        elif scale is not None:
            size = self.sum_VD.numel()
            _scale[(triton.cdiv(size, BLOCK),)](self.sum_VD, scale, size, BLOCK)
        return self.sum_VD.to(self.dtype)


class HalvedGradient:
    """Two sums of a bf16 weight's gradient, which `take` turns into it within the first one's memory."""

    def __init__(self, weight_VD: Tensor) -> None:
        self.vocabulary, width = weight_VD.shape
        half = (self.vocabulary + 1) // 2
        self.halves = [weight_VD.new_empty(rows, width, dtype=torch.float32) for rows in (half, self.vocabulary - half)]
        self.dtype, self.empty = weight_VD.dtype, True

    def add(self, dlogits_NV: Tensor, hidden_ND: Tensor) -> None:
        sizes = [len(half) for half in self.halves]
        for half, part_NV in zip(self.halves, dlogits_NV.split(sizes, 1), strict=True):
            if len(half):
                _add(half, part_NV.T, hidden_ND, first=self.empty)
        self.empty = False

    def take(self, scale: Tensor | None) -> Tensor:
        first, second = self.halves
        if self.empty:
            first.zero_(), second.zero_()
        factor = first.new_ones(()) if scale is None else scale.float()
        rounded_VD = first.view(self.dtype).view(-1, first.shape[1])
        start = min(FIRST_ROWS, len(first))
        rounded_VD[:start] = (first[:start] * factor).to(self.dtype)
        while start < len(first):  # row r lies behind row r / 2 of the sums, so a piece overwrites none of its own
            stop = min(2 * start, len(first))
            torch.mul(first[start:stop], factor, out=rounded_VD[start:stop])
            start = stop
        torch.mul(second, factor, out=rounded_VD[len(first) : self.vocabulary])
        self.halves = []
        return rounded_VD[: self.vocabulary]


def weight_gradient(weight_VD: Tensor) -> HalvedGradient | WholeGradient:
    return HalvedGradient(weight_VD) if weight_VD.dtype == torch.bfloat16 else WholeGradient(weight_VD)
