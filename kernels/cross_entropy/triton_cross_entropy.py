"""Cross entropy on a GPU: products of large blocks with fp32 logits, and one pass over a block for everything else.

Rows without a loss are gathered away once, the only wait for the GPU. Of logits, 512 MiB in fp32 exist at a time (or 64
rows of a vocabulary beyond two million), and in the backward as many gradients in the rows' dtype; the head's gradient
is summed in fp32. Three launches a block forwards, six backwards.
T tokens, N tokens with a loss, D model width, V vocabulary.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.cross_entropy.reference import IGNORE

__all__ = ["TritonCrossEntropy"]

BLOCK_NUMBERS = 1 << 27  # logits of a block
MIN_BLOCK = 64  # rows
COLUMNS = 4096


@triton.jit
def _log_sum_exp(logits, lse, V, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c_V = tl.arange(0, COLS)
    most_V = tl.full([COLS], float("-inf"), tl.float32)
    for start in range(0, V, COLS):
        most_V = tl.maximum(most_V, tl.load(logits + row * V + start + c_V, mask=start + c_V < V, other=float("-inf")))
    most = tl.max(most_V, 0)
    sum_V = tl.zeros([COLS], tl.float32)
    for start in range(0, V, COLS):  # from the cache: the row has just been read
        x_V = tl.load(logits + row * V + start + c_V, mask=start + c_V < V, other=float("-inf"))
        sum_V += tl.exp(x_V - most)
    tl.store(lse + row, most + tl.log(tl.sum(sum_V, 0)))


@triton.jit
def _gradient(logits, lse, targets, dloss, dlogits, V, COLS: tl.constexpr):
    """dlogits = (softmax − one-hot) · dloss."""
    row = tl.program_id(0).to(tl.int64)
    c_V = tl.program_id(1) * COLS + tl.arange(0, COLS)
    x_V = tl.load(logits + row * V + c_V, mask=c_V < V, other=float("-inf"))
    p_V = tl.exp(x_V - tl.load(lse + row))
    p_V = tl.where(c_V == tl.load(targets + row), p_V - 1, p_V) * tl.load(dloss + row)
    tl.store(dlogits + row * V + c_V, p_V, mask=c_V < V)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b in fp32, whatever the operands."""
    return torch.mm(a, b) if a.dtype == torch.float32 else torch.mm(a, b, out_dtype=torch.float32)


def _blocks(rows: int, vocabulary: int) -> list[slice]:
    size = max(MIN_BLOCK, BLOCK_NUMBERS // vocabulary // 128 * 128)
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def _gather(x: Tensor, rows_N: Tensor) -> Tensor:
    return x if len(rows_N) == len(x) else x.index_select(0, rows_N)


def _spread(x_N: Tensor, targets_T: Tensor) -> Tensor:
    """The rows at their tokens, 0 where there is no loss; by a gather, which is deterministic and fast."""
    if len(x_N) == len(targets_T):
        return x_N
    if not len(x_N):
        return x_N.new_zeros(len(targets_T), *x_N.shape[1:])
    kept_T = targets_T != IGNORE
    place_T = kept_T.cumsum(0).sub_(1).clamp_(min=0)
    ignored_T = kept_T.logical_not_().view(-1, *[1] * (x_N.dim() - 1))
    return x_N.index_select(0, place_T).masked_fill_(ignored_T, 0)


class TritonCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
        rows_N = (targets_T != IGNORE).nonzero().squeeze(1)
        hidden_ND, targets_N = _gather(hidden_TD, rows_N).contiguous(), _gather(targets_T, rows_N)
        low_VD = weight_VD.to(hidden_TD.dtype)
        N, V = len(rows_N), len(weight_VD)
        lse_N, hit_N = hidden_TD.new_empty(2, N, dtype=torch.float32)
        for block in _blocks(N, V):
            logits = _product(hidden_ND[block], low_VD.T)
            torch.gather(logits, 1, targets_N[block, None], out=hit_N[block, None])
            _log_sum_exp[(len(logits),)](logits, lse_N[block], V, COLUMNS, num_warps=8)
            del logits  # before the next block's
        ctx.save_for_backward(hidden_ND, low_VD, targets_T, targets_N, rows_N, lse_N)
        ctx.dtype = weight_VD.dtype
        return _spread(lse_N - hit_N, targets_T)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dloss_T: Tensor) -> tuple[Tensor | None, ...]:
        hidden_ND, low_VD, targets_T, targets_N, rows_N, lse_N = ctx.saved_tensors
        V, dloss_N = len(low_VD), _gather(dloss_T, rows_N).contiguous()
        dhidden_ND, dweight_VD = torch.empty_like(hidden_ND), None
        for block in _blocks(len(rows_N), V):
            logits = _product(hidden_ND[block], low_VD.T)
            dlogits = torch.empty_like(logits, dtype=low_VD.dtype)
            grid = len(logits), triton.cdiv(V, COLUMNS)
            _gradient[grid](logits, lse_N[block], targets_N[block], dloss_N[block], dlogits, V, COLUMNS, num_warps=8)
            del logits
            dhidden_ND[block].copy_(_product(dlogits, low_VD))  # one rounding, also where the sum over V is split
            part_VD = _product(dlogits.T, hidden_ND[block])
            dweight_VD = part_VD if dweight_VD is None else dweight_VD.add_(part_VD)
            del dlogits, part_VD
        if dweight_VD is None:
            dweight_VD = torch.zeros_like(low_VD)
        return _spread(dhidden_ND, targets_T), dweight_VD.to(ctx.dtype), None
