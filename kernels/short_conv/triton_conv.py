"""The short convolution in Triton: one pass forwards, one backwards.

Forwards every element is read once from memory (its three shifted readings hit the cache) and written once. Backwards
a program walks its rows from the last to the first and carries the three later gradients and the three earlier inputs
in registers, so that the sum before the SiLU is recomputed once an element and nothing of the forward is kept; each
program writes its part of the weight's gradient, and the parts are added in a fixed order.
Bytes an element in bf16: 4 forwards, 6 backwards, plus 16 bytes a channel every 64 rows.
D documents, T tokens in the row, C channels, S segments of LENGTH rows.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.short_conv.plan import TapPlan
from trivium.kernels.short_conv.reference import WIDTH

__all__ = ["TritonShortConv"]

FORWARD_ROWS, FORWARD_CHANNELS = 32, 128  # a tile of the forward
LENGTH = 64  # rows that a program of the backward walks: 3 of 67 are walked twice
BACKWARD_CHANNELS = 512  # 4 a thread: twelve vectors of state stay in registers


@triton.jit
def _seen(x, tail, place_T, document_T, t_T, c_C, j: tl.constexpr, ok_TC, C, HAS_TAIL: tl.constexpr):
    """The input `j` rows before, from the row, from the document's initial tail, or 0."""
    inside = (place_T >= j)[:, None] & ok_TC
    seen = tl.load(x + (t_T - j)[:, None] * C + c_C[None, :], mask=inside, other=0.0).to(tl.float32)
    if HAS_TAIL:
        row = document_T * 3 + 3 - j + place_T
        before = (place_T < j)[:, None] & ok_TC
        seen += tl.load(tail + row[:, None] * C + c_C[None, :], mask=before, other=0.0).to(tl.float32)
    return seen


@triton.jit(do_not_specialize=["T"])
def _forward(x, weight, tail, place, document, y, T, C, HAS_TAIL: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    blocks = tl.cdiv(C, COLS)
    t_T = (tl.program_id(0) // blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c_C = (tl.program_id(0) % blocks) * COLS + tl.arange(0, COLS)
    ok_TC = (t_T < T)[:, None] & (c_C < C)[None, :]
    place_T = tl.load(place + t_T, mask=t_T < T, other=0)
    document_T = place_T
    if HAS_TAIL:
        document_T = tl.load(document + t_T, mask=t_T < T, other=0)
    pre_TC = tl.zeros([ROWS, COLS], tl.float32)
    for j in tl.static_range(4):
        w_C = tl.load(weight + c_C * 4 + 3 - j, mask=c_C < C, other=0.0).to(tl.float32)
        pre_TC += _seen(x, tail, place_T, document_T, t_T, c_C, j, ok_TC, C, HAS_TAIL) * w_C[None, :]
    tl.store(y + t_T[:, None] * C + c_C[None, :], pre_TC * tl.sigmoid(pre_TC), mask=ok_TC)


@triton.jit
def _silu_gradient(dy, pre):
    s = tl.sigmoid(pre)
    return dy * s * (1 + pre * (1 - s))


@triton.jit(do_not_specialize=["T"])
def _backward(
    x, weight, tail, place, document, dy, dx, dweight, T, C, HAS_TAIL: tl.constexpr, LENGTH: tl.constexpr,
    COLS: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(C, COLS)
    segment = (tl.program_id(0) // blocks).to(tl.int64)
    c_C = (tl.program_id(0) % blocks) * COLS + tl.arange(0, COLS)
    ok_C = c_C < C
    w0_C = tl.load(weight + c_C * 4, mask=ok_C, other=0.0).to(tl.float32)
    w1_C = tl.load(weight + c_C * 4 + 1, mask=ok_C, other=0.0).to(tl.float32)
    w2_C = tl.load(weight + c_C * 4 + 2, mask=ok_C, other=0.0).to(tl.float32)
    w3_C = tl.load(weight + c_C * 4 + 3, mask=ok_C, other=0.0).to(tl.float32)
    # Each starts as a value of its own: Triton 3.6 takes a name that shares its first value with another for a constant
    # of the loop when the loop only hands that other name on.
    g1_C, g2_C, g3_C = tl.zeros([COLS], tl.float32), tl.zeros([COLS], tl.float32), tl.zeros([COLS], tl.float32)
    p1, p2, p3 = segment.to(tl.int32) * 0, segment.to(tl.int32) * 0, segment.to(tl.int32) * 0
    dw0_C, dw1_C = tl.zeros([COLS], tl.float32), tl.zeros([COLS], tl.float32)
    dw2_C, dw3_C = tl.zeros([COLS], tl.float32), tl.zeros([COLS], tl.float32)
    last = segment * LENGTH + LENGTH + 2
    x0_C = tl.load(x + last * C + c_C, mask=ok_C & (last < T), other=0.0).to(tl.float32)
    x1_C = tl.load(x + (last - 1) * C + c_C, mask=ok_C & (last - 1 < T), other=0.0).to(tl.float32)
    x2_C = tl.load(x + (last - 2) * C + c_C, mask=ok_C & (last - 2 < T), other=0.0).to(tl.float32)
    for i in range(LENGTH + 3):  # g1, g2, g3: before the SiLU of rows t + 1, t + 2, t + 3; p: their places
        t = last - i
        x3_C = tl.load(x + (t - 3) * C + c_C, mask=ok_C & (t >= 3) & (t - 3 < T), other=0.0).to(tl.float32)
        dy_C = tl.load(dy + t * C + c_C, mask=ok_C & (t < T), other=0.0).to(tl.float32)
        p0 = tl.load(place + t, mask=t < T, other=0)
        a1_C = tl.where(p0 >= 1, x1_C, 0.0)
        a2_C = tl.where(p0 >= 2, x2_C, 0.0)
        a3_C = tl.where(p0 >= 3, x3_C, 0.0)
        if HAS_TAIL:
            rows = tail + (tl.load(document + t, mask=t < T, other=0).to(tl.int64) * 3 + p0) * C + c_C
            reach = ok_C & (t < T)
            a1_C += tl.load(rows + 2 * C, mask=reach & (p0 < 1), other=0.0).to(tl.float32)
            a2_C += tl.load(rows + C, mask=reach & (p0 < 2), other=0.0).to(tl.float32)
            a3_C += tl.load(rows, mask=reach & (p0 < 3), other=0.0).to(tl.float32)
        pre_C = x0_C * w3_C + a1_C * w2_C + a2_C * w1_C + a3_C * w0_C
        g0_C = _silu_gradient(dy_C, pre_C)
        if t < segment * LENGTH + LENGTH:
            dx_C = g0_C * w3_C + tl.where(p1 >= 1, g1_C, 0.0) * w2_C
            dx_C += tl.where(p2 >= 2, g2_C, 0.0) * w1_C + tl.where(p3 >= 3, g3_C, 0.0) * w0_C
            tl.store(dx + t * C + c_C, dx_C, mask=ok_C & (t < T))
            dw0_C += g0_C * a3_C
            dw1_C += g0_C * a2_C
            dw2_C += g0_C * a1_C
            dw3_C += g0_C * x0_C
        g3_C, g2_C, g1_C = g2_C, g1_C, g0_C
        p3, p2, p1 = p2, p1, p0
        x0_C, x1_C, x2_C = x1_C, x2_C, x3_C
    out = dweight + segment * 4 * C + c_C
    tl.store(out, dw0_C, mask=ok_C)
    tl.store(out + C, dw1_C, mask=ok_C)
    tl.store(out + 2 * C, dw2_C, mask=ok_C)
    tl.store(out + 3 * C, dw3_C, mask=ok_C)


@triton.jit
def _tail_gradient(x, weight, tail, starts, dy, dtail, C, COLS: tl.constexpr):
    """Rows 0, 1, 2 of each document meet its tail: tail row m at distance p + 3 − m of row p ≤ m."""
    blocks = tl.cdiv(C, COLS)
    d = tl.program_id(0) // blocks
    c_C = (tl.program_id(0) % blocks) * COLS + tl.arange(0, COLS)
    start = tl.load(starts + d).to(tl.int64)
    length = tl.load(starts + d + 1).to(tl.int64) - start
    tail_d = d.to(tl.int64) * 3
    for m in tl.static_range(3):
        sum_C = tl.zeros([COLS], tl.float32)
        for p in tl.static_range(m + 1):
            here = (c_C < C) & (p < length)
            pre_C = tl.zeros([COLS], tl.float32)
            for j in tl.static_range(4):
                w_C = tl.load(weight + c_C * 4 + 3 - j, mask=here, other=0.0).to(tl.float32)
                if p >= j:
                    seen_C = tl.load(x + (start + p - j) * C + c_C, mask=here, other=0.0)
                else:
                    seen_C = tl.load(tail + (tail_d + 3 - j + p) * C + c_C, mask=here, other=0.0)
                pre_C += seen_C.to(tl.float32) * w_C
            dy_C = tl.load(dy + (start + p) * C + c_C, mask=here, other=0.0).to(tl.float32)
            w_C = tl.load(weight + c_C * 4 + m - p, mask=here, other=0.0).to(tl.float32)
            sum_C += _silu_gradient(dy_C, pre_C) * w_C
        tl.store(dtail + (tail_d + m) * C + c_C, sum_C, mask=c_C < C)


class TritonShortConv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, weight_C4: Tensor, initial_tail: Tensor | None, plan: TapPlan) -> Tensor:
        T, C = x_TC.shape
        x_TC, weight_C4 = x_TC.contiguous(), weight_C4.contiguous()
        tail = None if initial_tail is None else initial_tail.contiguous()
        places = plan.places(x_TC.device)
        y_TC = torch.empty_like(x_TC)
        grid = (triton.cdiv(T, FORWARD_ROWS) * triton.cdiv(C, FORWARD_CHANNELS),)
        if T:
            _forward[grid](
                x_TC, weight_C4, tail, places.place_T, places.document_T, y_TC, T, C, tail is not None, FORWARD_ROWS,
                FORWARD_CHANNELS, num_warps=4,
            )  # fmt: skip
        ctx.save_for_backward(x_TC, weight_C4, tail)
        ctx.places = places
        return y_TC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_TC: Tensor) -> tuple[Tensor | None, ...]:
        x_TC, weight_C4, tail = ctx.saved_tensors
        (T, C), places, dy_TC = x_TC.shape, ctx.places, dy_TC.contiguous()
        columns = min(BACKWARD_CHANNELS, triton.next_power_of_2(C))
        blocks, segments = triton.cdiv(C, columns), triton.cdiv(T, LENGTH)
        dx_TC = torch.empty_like(x_TC)
        dweight_S4C = x_TC.new_empty(segments, WIDTH, C, dtype=torch.float32)
        if T:
            _backward[(segments * blocks,)](
                x_TC, weight_C4, tail, places.place_T, places.document_T, dy_TC, dx_TC, dweight_S4C, T, C,
                tail is not None, LENGTH, columns, num_warps=4,
            )  # fmt: skip
        dtail = None
        if tail is not None:
            dtail = torch.empty_like(tail)
            if len(tail):
                _tail_gradient[(len(tail) * blocks,)](
                    x_TC, weight_C4, tail, places.starts, dy_TC, dtail, C, columns, num_warps=4
                )  # fmt: skip
        return dx_TC, dweight_S4C.sum(0).t().to(weight_C4.dtype), dtail, None
