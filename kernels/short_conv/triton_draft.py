"""The drafting step of the short convolution in Triton: one launch for the tail and all drafts.

B sequences, N drafts now, M of the last step, C channels.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["draft"]

COLUMNS = 256


@triton.jit
def _seen(tail, last, b, i, M, c_C, ok_C, C):
    """Row `i` of a sequence's tail and last drafts beside each other."""
    from_tail_C = tl.load(tail + (b * 3 + i) * C + c_C, mask=ok_C & (i < 3), other=0.0)
    from_last_C = tl.load(last + (b * M + i - 3) * C + c_C, mask=ok_C & (i >= 3), other=0.0)
    return tl.where(i < 3, from_tail_C, from_last_C.to(from_tail_C.dtype))


@triton.jit(do_not_specialize=["N", "M"])  # one draft takes the same instructions as many
def _draft(x, weight, tail, last, accepted, y, after, N, M, C, REPLAY: tl.constexpr, COLS: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    c_C = tl.program_id(0) * COLS + tl.arange(0, COLS)
    ok_C = c_C < C
    count = 0
    if REPLAY:
        count = tl.minimum(tl.load(accepted + b).to(tl.int32), M)
    p3_C = _seen(tail, last, b, count, M, c_C, ok_C, C)
    p2_C = _seen(tail, last, b, count + 1, M, c_C, ok_C, C)
    p1_C = _seen(tail, last, b, count + 2, M, c_C, ok_C, C)
    tl.store(after + b * 3 * C + c_C, p3_C, mask=ok_C)
    tl.store(after + (b * 3 + 1) * C + c_C, p2_C, mask=ok_C)
    tl.store(after + (b * 3 + 2) * C + c_C, p1_C, mask=ok_C)
    w0_C = tl.load(weight + c_C * 4, mask=ok_C, other=0.0).to(tl.float32)
    w1_C = tl.load(weight + c_C * 4 + 1, mask=ok_C, other=0.0).to(tl.float32)
    w2_C = tl.load(weight + c_C * 4 + 2, mask=ok_C, other=0.0).to(tl.float32)
    w3_C = tl.load(weight + c_C * 4 + 3, mask=ok_C, other=0.0).to(tl.float32)
    for n in range(N):
        p0_C = tl.load(x + (b * N + n) * C + c_C, mask=ok_C, other=0.0).to(p1_C.dtype)
        pre_C = p0_C.to(tl.float32) * w3_C + p1_C.to(tl.float32) * w2_C
        pre_C += p2_C.to(tl.float32) * w1_C + p3_C.to(tl.float32) * w0_C
        tl.store(y + (b * N + n) * C + c_C, pre_C * tl.sigmoid(pre_C), mask=ok_C)
        p3_C = p2_C
        p2_C = p1_C
        p1_C = p0_C


def draft(
    x_BNC: Tensor, weight_C4: Tensor, tail_B3C: Tensor, last_BMC: Tensor | None, accepted_B: Tensor | None
) -> tuple[Tensor, Tensor]:
    """(y_BNC in x's dtype, the tail behind the accepted tokens)."""
    B, N, C = x_BNC.shape
    y_BNC = torch.empty_like(x_BNC, memory_format=torch.contiguous_format)
    tail_B3C = tail_B3C.contiguous()
    after_B3C = torch.empty_like(tail_B3C)
    if B:
        last = tail_B3C if last_BMC is None else last_BMC.contiguous()
        _draft[(triton.cdiv(C, COLUMNS), B)](
            x_BNC.contiguous(), weight_C4.contiguous(), tail_B3C, last, accepted_B, y_BNC, after_B3C, N,
            0 if last_BMC is None else last.shape[1], C, REPLAY=accepted_B is not None, COLS=COLUMNS, num_warps=4,
        )  # fmt: skip
    return y_BNC, after_B3C
