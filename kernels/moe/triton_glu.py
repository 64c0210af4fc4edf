"""The gated units in Triton: one pass forwards, one backwards, for the experts' rows and for plain pairs of tensors.

A program takes some rows from the first column to the last, so that a row's inner product (the gradient of its
probability) stays inside it and has one order. Nothing is kept but the operands.
R rows, F expert hidden width.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.moe.reference import BETA_GATE, BETA_UP
from trivium.kernels.moe.torch_glu import Activation

__all__ = ["TritonSiTUGLU", "weighted_glu", "weighted_glu_backward"]

TILE = 2048  # elements: 16 a thread
COLUMNS = 128
GATE, UP = tl.constexpr(BETA_GATE), tl.constexpr(BETA_UP)


@triton.jit
def _tanh(x):
    """2 σ(2x) − 1, and for |x| < 1/4, where that difference cancels, the series (its next term is below 4e-7)."""
    square = x * x
    series = x * (1 + square * (-1 / 3 + square * (2 / 15 + square * (-17 / 315))))
    return tl.where(square < 0.0625, series, 2 * tl.sigmoid(2 * x) - 1)


@triton.jit(do_not_specialize=["R"])
def _forward(
    g, u, p, y, R, STRIDE: tl.constexpr, F: tl.constexpr, SITU: tl.constexpr, WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    r_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    p_R = tl.full([ROWS], 1.0, tl.float32)
    if WEIGHTED:
        p_R = tl.load(p + r_R, mask=r_R < R, other=0.0).to(tl.float32)
    for start in range(0, F, COLS):
        c_F = start + tl.arange(0, COLS)
        ok_RF = (r_R < R)[:, None] & (c_F < F)[None, :]
        from_RF = r_R[:, None] * STRIDE + c_F[None, :]
        at_RF = r_R[:, None] * F + c_F[None, :]
        g_RF = tl.load(g + from_RF, mask=ok_RF, other=0.0).to(tl.float32)
        u_RF = tl.load(u + from_RF, mask=ok_RF, other=0.0).to(tl.float32)
        if SITU:
            y_RF = (GATE * UP) * _tanh(g_RF / GATE) * tl.sigmoid(g_RF) * _tanh(u_RF / UP)
        else:
            y_RF = g_RF * tl.sigmoid(g_RF) * u_RF
        tl.store(y + at_RF, y_RF * p_R[:, None], mask=ok_RF)


@triton.jit(do_not_specialize=["R"])
def _backward(
    g, u, p, dy, dg, du, y, dp, R, STRIDE: tl.constexpr, F: tl.constexpr, SITU: tl.constexpr, WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """Gradients of g and u in their layout; WEIGHTED also writes y = p · glu and dp = ⟨glu, dy⟩."""
    r_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    p_R = tl.full([ROWS], 1.0, tl.float32)
    if WEIGHTED:
        p_R = tl.load(p + r_R, mask=r_R < R, other=0.0).to(tl.float32)
    dp_R = tl.zeros([ROWS], tl.float32)
    for start in range(0, F, COLS):
        c_F = start + tl.arange(0, COLS)
        ok_RF = (r_R < R)[:, None] & (c_F < F)[None, :]
        from_RF = r_R[:, None] * STRIDE + c_F[None, :]
        at_RF = r_R[:, None] * F + c_F[None, :]
        g_RF = tl.load(g + from_RF, mask=ok_RF, other=0.0).to(tl.float32)
        u_RF = tl.load(u + from_RF, mask=ok_RF, other=0.0).to(tl.float32)
        dy_RF = tl.load(dy + at_RF, mask=ok_RF, other=0.0).to(tl.float32)
        open_RF = tl.sigmoid(g_RF)
        if SITU:
            a_RF, b_RF = GATE * _tanh(g_RF / GATE), UP * _tanh(u_RF / UP)
            da_RF = 1 - (a_RF / GATE) * (a_RF / GATE) + a_RF * (1 - open_RF)
            db_RF = 1 - (b_RF / UP) * (b_RF / UP)
        else:
            a_RF, b_RF = g_RF, u_RF
            da_RF, db_RF = 1 + g_RF * (1 - open_RF), 1.0
        scaled_RF = dy_RF * p_R[:, None] * open_RF
        tl.store(dg + from_RF, scaled_RF * b_RF * da_RF, mask=ok_RF)
        tl.store(du + from_RF, scaled_RF * a_RF * db_RF, mask=ok_RF)
        if WEIGHTED:
            y_RF = a_RF * open_RF * b_RF
            dp_R += tl.sum(y_RF * dy_RF, 1)
            tl.store(y + at_RF, y_RF * p_R[:, None], mask=ok_RF)
    if WEIGHTED:
        tl.store(dp + r_R, dp_R, mask=r_R < R)


def _shape(rows: int, width: int) -> tuple[tuple[int], int, int]:
    """(grid, rows a tile, columns a tile)."""
    columns = min(COLUMNS, triton.next_power_of_2(width))
    tile = TILE // columns
    return (triton.cdiv(rows, tile),), tile, columns


def weighted_glu(g_RF: Tensor, u_RF: Tensor, p_R: Tensor, activation: Activation) -> Tensor:
    """p · glu(g, u) in the dtype of g, computed in fp32."""
    R, F = g_RF.shape
    y_RF = g_RF.new_empty(R, F)
    grid, *tile = _shape(R, F)
    if R:
        _forward[grid](g_RF, u_RF, p_R, y_RF, R, g_RF.stride(0), F, activation == "situ", True, *tile)
    return y_RF


def weighted_glu_backward(
    g_RF: Tensor, u_RF: Tensor, p_R: Tensor, dy_RF: Tensor, activation: Activation
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (the gradients of g and of u, p · glu again, the gradient of p: ⟨glu, dy⟩).

    Where g and u are the halves of one tensor, so are their gradients.
    """
    R, F = dy_RF.shape
    stride, y_RF, dp_R = g_RF.stride(0), torch.empty_like(dy_RF), torch.empty_like(p_R)
    if stride == 2 * F:
        dg_RF, du_RF = dy_RF.new_empty(R, 2 * F).chunk(2, dim=1)
    else:
        dg_RF, du_RF = torch.empty_like(dy_RF), torch.empty_like(dy_RF)
    grid, *tile = _shape(R, F)
    if R:
        operands = g_RF, u_RF, p_R, dy_RF, dg_RF, du_RF, y_RF, dp_R
        _backward[grid](*operands, R, stride, F, activation == "situ", True, *tile)
    return dg_RF, du_RF, y_RF, dp_R


class TritonSiTUGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, g: Tensor, u: Tensor) -> Tensor:
        g, u = g.contiguous(), u.contiguous()
        F = g.shape[-1]
        R = g.numel() // max(F, 1)
        y = torch.empty_like(g)
        grid, *tile = _shape(R, F)
        if R:
            _forward[grid](g, u, None, y, R, F, F, True, False, *tile)
        ctx.save_for_backward(g, u)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        g, u = ctx.saved_tensors
        F = g.shape[-1]
        R = g.numel() // max(F, 1)
        dg, du = torch.empty_like(g), torch.empty_like(u)
        grid, *tile = _shape(R, F)
        if R:
            _backward[grid](g, u, None, dy.contiguous(), dg, du, None, None, R, F, F, True, False, *tile)
        return dg, du
