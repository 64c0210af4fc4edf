"""The gradient of the experts' weights with few rows each: what is written is many times what is read.

A program owns a block of one expert's gradient and takes the expert's rows in steps; steps past its last row are zeros
in both operands, so that no other expert's rows are ever multiplied. An expert without rows gets zeros by the same way.
E experts, P pairs sorted by expert, N rows of a weight, K its columns; a block is [M, C], a step R rows.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

__all__ = ["Shape", "few_wgrad", "few_wgrad_two"]


class Shape(NamedTuple):
    """How a gradient is cut: rows and columns of a block, rows of a step, warps, stages; `bulk` stores by TMA."""

    rows: int = 128
    columns: int = 128
    step: int = 16  # more rows, more of them zeros
    warps: int = 4
    stages: int = 5
    bulk: bool = True


@triton.jit
def _wgrad(
    dy, dy_tokens, x, x_tokens, ends, dw, dw2, N: tl.constexpr, K: tl.constexpr, TWO: tl.constexpr,
    M: tl.constexpr, C: tl.constexpr, R: tl.constexpr, STAGES: tl.constexpr, BULK: tl.constexpr,
):  # fmt: skip
    """dw = dyᵀ x; TWO: rows of `dy` are dg | du and dw2 takes the second half."""
    COLS: tl.constexpr = (K + C - 1) // C
    BLOCKS: tl.constexpr = (N + M - 1) // M
    HALVES: tl.constexpr = 2 if TWO else 1
    at_C, at_M = tl.program_id(0) % COLS * C, tl.program_id(0) // COLS % BLOCKS * M
    half, expert = tl.program_id(0) // (COLS * BLOCKS) % HALVES, tl.program_id(0) // (COLS * BLOCKS * HALVES)
    begin, end = tl.load(ends + expert - 1, mask=expert > 0, other=0), tl.load(ends + expert)
    m_M, c_C = at_M + tl.arange(0, M), at_C + tl.arange(0, C)
    sum_MC = tl.zeros([M, C], tl.float32)
    # Triton shares the stages between the loads of tokens and those at tokens.
    GATHERED: tl.constexpr = dy_tokens is not None or x_tokens is not None
    for start in tl.range(begin, end, R, num_stages=2 * STAGES - 1 if GATHERED else STAGES):
        r_R = start + tl.arange(0, R)
        ok_R, of_dy_R, of_x_R = r_R < end, r_R, r_R
        if dy_tokens is not None:
            of_dy_R = tl.load(dy_tokens + r_R, mask=ok_R, other=0)
        if x_tokens is not None:
            of_x_R = tl.load(x_tokens + r_R, mask=ok_R, other=0)
        from_dy_RM = of_dy_R.to(tl.int64)[:, None] * (HALVES * N) + half * N + m_M[None, :]
        dy_RM = tl.load(dy + from_dy_RM, mask=ok_R[:, None] & (m_M < N)[None, :], other=0.0)
        from_x_RC = of_x_R.to(tl.int64)[:, None] * K + c_C[None, :]
        x_RC = tl.load(x + from_x_RC, mask=ok_R[:, None] & (c_C < K)[None, :], other=0.0)
        sum_MC = tl.dot(dy_RM.T, x_RC, sum_MC)
    if BULK:
        to, value_MC = expert * N + at_M, sum_MC.to(dw.dtype)
        if half == 0:
            dw.store([to, at_C], value_MC)
        elif TWO:
            dw2.store([to, at_C], value_MC)
    else:
        to = dw
        if TWO:
            to = dw if half == 0 else dw2
        ok_MC = (m_M < N)[:, None] & (c_C < K)[None, :]
        to += expert.to(tl.int64) * N * K
        tl.store(to + m_M[:, None] * K + c_C[None, :], sum_MC.to(dw.dtype.element_ty), mask=ok_MC)


SHAPE = Shape()


def _launch(
    dy: Tensor, dy_tokens_P: Tensor | None, x: Tensor, x_tokens_P: Tensor | None, ends_E: Tensor, two: bool,
    dtype: torch.dtype, shape: Shape,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    E, N, K = len(ends_E), dy.shape[1] // (2 if two else 1), x.shape[1]
    dw_ENK = x.new_empty(E, N, K, dtype=dtype)
    dw2_ENK = torch.empty_like(dw_ENK) if two else None
    bulk = shape.bulk and N % shape.rows == 0  # a box may reach past the last column, never into another expert
    to = [
        TensorDescriptor(dw, [E * N, K], [K, 1], [shape.rows, shape.columns]) if bulk and dw is not None else dw
        for dw in (dw_ENK, dw2_ENK)
    ]
    blocks = triton.cdiv(N, shape.rows) * triton.cdiv(K, shape.columns)
    _wgrad[(E * (2 if two else 1) * blocks,)](
        dy, dy_tokens_P, x, x_tokens_P, ends_E, *to, N, K, two, shape.rows, shape.columns, shape.step, shape.stages,
        bulk, num_warps=shape.warps,
    )  # fmt: skip
    return dw_ENK, dw2_ENK


def few_wgrad(
    dy: Tensor, dy_tokens_P: Tensor | None, x: Tensor, x_tokens_P: Tensor | None, ends_E: Tensor,
    dtype: torch.dtype | None = None, shape: Shape = SHAPE,
) -> Tensor:  # fmt: skip
    """[E, N, K]: each expert's dyᵀ x, of rows of dy [·, N] and x [·, K], either at given tokens; in `dtype`."""
    return _launch(dy, dy_tokens_P, x, x_tokens_P, ends_E, False, dtype or x.dtype, shape)[0]


def few_wgrad_two(
    dhidden_P2N: Tensor, x: Tensor, x_tokens_P: Tensor | None, ends_E: Tensor,
    dtype: torch.dtype | None = None, shape: Shape = SHAPE,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Both gradients [E, N, K] of dg | du, in one launch."""
    dw1_ENK, dw3_ENK = _launch(dhidden_P2N, None, x, x_tokens_P, ends_E, True, dtype or x.dtype, shape)
    assert dw3_ENK is not None
    return dw1_ENK, dw3_ENK
