"""A block of cross entropy on a GPU: three products with fp32 logits, and one kernel over a row for everything else.

The kernel goes over a row once for its log-sum (maximum and sum together) and once more for the gradient, from its end
back, since the end is what the cache still holds. The gradient, in the rows' dtype, takes the logits' place: in each
row's second half, where it overwrites only logits that have been read.
N tokens of the block, D model width, V vocabulary.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from trivium.kernels.cross_entropy.torch_cross_entropy import target_logits
from trivium.kernels.cross_entropy.weight_gradient import HalvedGradient, WholeGradient, weight_gradient

__all__ = ["TritonPath"]

BLOCK_NUMBERS = 1013 * 163840  # logits of a block: 633 MiB, or 64 rows of a vocabulary beyond two and a half million
MIN_BLOCK = 64  # rows
COLUMNS = 16384  # that a program reads at a time; a smaller vocabulary at once


@triton.jit
def _rows(
    logits, dlogits, targets, lse, weights, V, stride, z_loss,
    COLS: tl.constexpr, STATISTICS: tl.constexpr, GRADIENT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    c_C = tl.arange(0, COLS)
    logits += row * V
    if STATISTICS:
        most_C = tl.full([COLS], -1e38, tl.float32)
        sum_C = tl.zeros([COLS], tl.float32)
        for start in range(0, V, COLS):
            x_C = tl.load(logits + start + c_C, mask=start + c_C < V, other=float("-inf"))
            beyond_C = x_C - most_C
            factor_C = tl.exp(-tl.abs(beyond_C))
            sum_C = tl.where(beyond_C > 0, sum_C * factor_C + 1, sum_C + factor_C)
            most_C = tl.where(beyond_C > 0, x_C, most_C)
        most = tl.max(most_C, 0)
        value = most + tl.log(tl.sum(sum_C * tl.exp(most_C - most), 0))
        tl.store(lse + row, value)
    else:
        value = tl.load(lse + row)
    if GRADIENT:
        weight = tl.load(weights + row)
        target = tl.load(targets + row)
        slope = weight * (1 + 2 * z_loss * value)
        chunks = tl.cdiv(V, COLS)
        for chunk in range(chunks):
            place_C = c_C + (chunks - 1 - chunk) * COLS
            x_C = tl.load(logits + place_C, mask=place_C < V, other=float("-inf"))
            d_C = tl.exp(x_C - value) * slope
            d_C = tl.where(place_C == target, d_C - weight, d_C)
            tl.debug_barrier()  # what is written lies over what other threads have just read
            tl.store(dlogits + row * stride + place_C, d_C, mask=place_C < V)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in fp32, whatever the operands."""
    return torch.mm(a, b) if a.dtype == torch.float32 else torch.mm(a, b, out_dtype=torch.float32)


class TritonPath:
    dtype = torch.float32

    def __init__(self, hidden_TD: Tensor, weight_VD: Tensor) -> None:
        self.weight_VD, self.given_VD = weight_VD.to(hidden_TD.dtype).contiguous(), weight_VD

    def operand(self, hidden_ND: Tensor) -> Tensor:
        return hidden_ND

    def rows(self, vocabulary: int) -> int:
        return max(MIN_BLOCK, BLOCK_NUMBERS // max(1, vocabulary))

    def logits(self, hidden_ND: Tensor) -> Tensor:
        return _product(hidden_ND, self.weight_VD.T)

    def statistics(self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, hit_N: Tensor) -> None:
        hit_N.copy_(target_logits(logits_NV, targets_N))
        self._launch(logits_NV, targets_N, lse_N, lse_N, 0.0, statistics=True, gradient=False)

    def gradient(self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, weights_N: Tensor, z_loss: float) -> Tensor:
        return self._launch(logits_NV, targets_N, lse_N, weights_N, z_loss, statistics=False, gradient=True)

    def both(
        self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, hit_N: Tensor, weights_N: Tensor, z_loss: float
    ) -> Tensor:
        hit_N.copy_(target_logits(logits_NV, targets_N))
        return self._launch(logits_NV, targets_N, lse_N, weights_N, z_loss, statistics=True, gradient=True)

    def dhidden(self, dlogits_NV: Tensor) -> Tensor:
        return _product(dlogits_NV, self.weight_VD)

    def dweight(self) -> HalvedGradient | WholeGradient:
        return weight_gradient(self.given_VD)

    def _launch(
        self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, weights_N: Tensor, z_loss: float,
        *, statistics: bool, gradient: bool,
    ) -> Tensor:  # fmt: skip
        N, V = logits_NV.shape
        dtype = self.weight_VD.dtype
        dlogits_NV = logits_NV if dtype == torch.float32 else logits_NV.view(dtype)[:, V:]
        columns = min(COLUMNS, triton.next_power_of_2(V))
        _rows[(N,)](
            logits_NV, dlogits_NV, targets_N, lse_N, weights_N, V, dlogits_NV.stride(0), z_loss,
            columns, statistics, gradient, num_warps=min(32, max(4, columns // 512)),
        )  # fmt: skip
        return dlogits_NV
