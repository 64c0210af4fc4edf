"""RMSNorm and sigmoid-gated RMSNorm in Triton, for rows one head wide and rows as wide as the model.

One pass forwards and one backwards; the backward holds its rows again, so it takes the statistics anew and the forward
keeps nothing beside its operands. A fixed number of programs each add up their rows' part of the weight's gradient,
and the parts are added in a fixed order. Bytes an element in bf16: 4 and 6 plain, 6 and 10 gated.
R rows, W width, P programs.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["TritonNorm"]

TILE = 4096  # elements of a tile of narrow rows: 32 a thread
PROGRAMS = 528  # four for each of an H100's 132 multiprocessors


@triton.jit(do_not_specialize=["R"])
def _forward(
    x, gate, weight, y, R, W: tl.constexpr, eps, GATED: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    r_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c_W = tl.arange(0, COLS)
    at_RW = r_R[:, None] * W + c_W[None, :]
    ok_RW = (r_R < R)[:, None] & (c_W < W)[None, :]
    x_RW = tl.load(x + at_RW, mask=ok_RW, other=0.0).to(tl.float32)
    weight_W = tl.load(weight + c_W, mask=c_W < W, other=0.0).to(tl.float32)
    rstd_R = tl.rsqrt(tl.sum(x_RW * x_RW, 1) / W + eps)
    y_RW = x_RW * rstd_R[:, None] * weight_W[None, :]
    if GATED:
        y_RW *= tl.sigmoid(tl.load(gate + at_RW, mask=ok_RW, other=0.0).to(tl.float32))
    tl.store(y + at_RW, y_RW, mask=ok_RW)


@triton.jit(do_not_specialize=["R", "tiles", "programs"])
def _backward(
    x, gate, weight, dy, dx, dgate, dweight, R, tiles, programs, W: tl.constexpr, eps, GATED: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    c_W = tl.arange(0, COLS)
    weight_W = tl.load(weight + c_W, mask=c_W < W, other=0.0).to(tl.float32)
    dweight_RW = tl.zeros([ROWS, COLS], tl.float32)
    for i in range(tiles):
        r_R = (tl.program_id(0) + i * programs).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        at_RW = r_R[:, None] * W + c_W[None, :]
        ok_RW = (r_R < R)[:, None] & (c_W < W)[None, :]
        x_RW = tl.load(x + at_RW, mask=ok_RW, other=0.0).to(tl.float32)
        dn_RW = tl.load(dy + at_RW, mask=ok_RW, other=0.0).to(tl.float32)
        rstd_R = tl.rsqrt(tl.sum(x_RW * x_RW, 1) / W + eps)
        unit_RW = x_RW * rstd_R[:, None]
        if GATED:
            open_RW = tl.sigmoid(tl.load(gate + at_RW, mask=ok_RW, other=0.0).to(tl.float32))
            dgate_RW = dn_RW * open_RW * (1 - open_RW) * unit_RW * weight_W[None, :]
            tl.store(dgate + at_RW, dgate_RW, mask=ok_RW)
            dn_RW *= open_RW
        dweight_RW += dn_RW * unit_RW
        dn_RW *= weight_W[None, :]
        inner_R = tl.sum(dn_RW * unit_RW, 1) / W
        tl.store(dx + at_RW, (dn_RW - unit_RW * inner_R[:, None]) * rstd_R[:, None], mask=ok_RW)
    tl.store(dweight + tl.program_id(0) * W + c_W, tl.sum(dweight_RW, 0), mask=c_W < W)


def _shape(width: int) -> tuple[int, int, int]:
    """(rows a tile, padded width, warps): one row a tile from 4096 columns on."""
    columns = triton.next_power_of_2(width)
    return max(1, TILE // columns), columns, 4 if columns <= TILE else 8


class TritonNorm(torch.autograd.Function):
    """y = σ(gate) ⊙ x · rstd(x) · weight, the gate left out when it is None; y in the gate's (or x's) dtype."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gate: Tensor | None, weight: Tensor, eps: float) -> Tensor:
        x, weight = x.contiguous(), weight.contiguous()
        gate = None if gate is None else gate.contiguous()
        W = x.shape[-1]
        rows, columns, warps = _shape(W)
        R = x.numel() // W
        y = torch.empty_like(x if gate is None else gate)
        if R:
            _forward[(triton.cdiv(R, rows),)](
                x, gate, weight, y, R, W, eps, gate is not None, rows, columns, num_warps=warps
            )
        ctx.save_for_backward(x, gate, weight)
        ctx.eps = eps
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, gate, weight = ctx.saved_tensors
        W = x.shape[-1]
        rows, columns, warps = _shape(W)
        R = x.numel() // W
        tiles = triton.cdiv(R, rows)
        programs = min(PROGRAMS, tiles)
        dx, dgate = torch.empty_like(x), None if gate is None else torch.empty_like(gate)
        dweight_PW = x.new_empty(programs, W, dtype=torch.float32)
        if R:
            _backward[(programs,)](
                x, gate, weight, dy.contiguous(), dx, dgate, dweight_PW, R, triton.cdiv(tiles, programs), programs, W,
                ctx.eps, gate is not None, rows, columns, num_warps=warps,
            )  # fmt: skip
        return dx, dgate, dweight_PW.sum(0).to(weight.dtype), None
