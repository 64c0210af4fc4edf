"""Attention Residuals in Triton: the mixture and, where wanted, the norm that reads it, in one pass each way.

A program takes whole rows and reads each source once forwards (softmax online) and three times backwards, where the
last two readings come from the cache: mixture and norm are made again, so nothing is kept but the sources. A fixed
number of programs each add up their rows' part of the vectors' gradients, and the parts are added in a fixed order.
N sources, T tokens, W model width, R rows of a program, P programs, M = N up to a power of two.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["TritonAttnRes"]

TILE = 1024  # elements: 8 a thread, since the loads of all sources are under way at once
PROGRAMS = 528  # four for each of an H100's 132 multiprocessors


@triton.jit
def _row(x, r_R, c_W, ok_RW, W: tl.constexpr):
    return tl.load(x + r_R[:, None] * W + c_W[None, :], mask=ok_RW, other=0.0).to(tl.float32)


@triton.jit
def _vector(x, c_W, W: tl.constexpr):
    return tl.load(x + c_W, mask=c_W < W, other=0.0).to(tl.float32)


@triton.jit
def _mix(sources, a_W, r_R, c_W, ok_RW, eps, N: tl.constexpr, M: tl.constexpr, W: tl.constexpr):
    """Return (mixture, its softmax [R, M], rstd [R, M], logits [R, M]), 0 behind the last source."""
    n_M = tl.arange(0, M)
    logits_RM = tl.where((n_M < N)[None, :] & (r_R >= 0)[:, None], 0.0, float("-inf"))
    rstd_RM = tl.where((n_M < N)[None, :] & (r_R >= 0)[:, None], 1.0, 0.0)
    h_RW = tl.where(ok_RW, 0.0, 0.0)
    total_R = tl.where(r_R >= 0, 0.0, 0.0)
    most_R = tl.where(r_R >= 0, float("-inf"), 0.0)
    for i in tl.static_range(N):
        v_RW = _row(sources[i], r_R, c_W, ok_RW, W)
        rstd_R = tl.rsqrt(tl.sum(v_RW * v_RW, 1) / W + eps)
        logit_R = tl.sum(v_RW * a_W[None, :], 1) * rstd_R
        logits_RM = tl.where(n_M[None, :] == i, logit_R[:, None], logits_RM)
        rstd_RM = tl.where(n_M[None, :] == i, rstd_R[:, None], rstd_RM)
        higher_R = tl.maximum(most_R, logit_R)
        shrink_R, weight_R = tl.exp(most_R - higher_R), tl.exp(logit_R - higher_R)
        h_RW = h_RW * shrink_R[:, None] + v_RW * weight_R[:, None]
        total_R = total_R * shrink_R + weight_R
        most_R = higher_R
    p_RM = tl.exp(logits_RM - most_R[:, None]) / total_R[:, None]
    # Divided at the end and rightly rounded: with equal logits the result is the mean, bit for bit.
    h_RW = tl.div_rn(h_RW, total_R[:, None] + h_RW * 0)
    return h_RW, p_RM, rstd_RM, tl.where((n_M < N)[None, :], logits_RM, 0.0)


@triton.jit
def _forward(
    sources, query, gamma, weight, y, T, eps, norm_eps, NORM: tl.constexpr, N: tl.constexpr, M: tl.constexpr,
    W: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    r_R, c_W = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLS)
    ok_RW = (r_R < T)[:, None] & (c_W < W)[None, :]
    a_W = _vector(query, c_W, W) * _vector(gamma, c_W, W)
    h_RW, _, _, _ = _mix(sources, a_W, r_R, c_W, ok_RW, eps, N, M, W)
    if NORM:
        h_RW *= tl.rsqrt(tl.sum(h_RW * h_RW, 1) / W + norm_eps)[:, None] * _vector(weight, c_W, W)[None, :]
    tl.store(y + r_R[:, None] * W + c_W[None, :], h_RW, mask=ok_RW)


@triton.jit
def _backward(
    sources, query, gamma, weight, dy, dsources, da, dweight, T, tiles, programs, eps, norm_eps, NORM: tl.constexpr,
    N: tl.constexpr, M: tl.constexpr, W: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """With along = ds · rstd: dv = p · dh + along · a − v · along · rstd · logit / W, da = Σ along · v."""
    c_W, n_M = tl.arange(0, COLS), tl.arange(0, M)
    a_W = _vector(query, c_W, W) * _vector(gamma, c_W, W)
    da_RW = tl.zeros([ROWS, COLS], tl.float32)
    dweight_RW = tl.zeros([ROWS, COLS], tl.float32)
    for tile in range(tiles):
        r_R = (tl.program_id(0) + tile * programs).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        ok_RW = (r_R < T)[:, None] & (c_W < W)[None, :]
        h_RW, p_RM, rstd_RM, logits_RM = _mix(sources, a_W, r_R, c_W, ok_RW, eps, N, M, W)
        dh_RW = _row(dy, r_R, c_W, ok_RW, W)
        if NORM:
            rstd_R = tl.rsqrt(tl.sum(h_RW * h_RW, 1) / W + norm_eps)
            unit_RW = h_RW * rstd_R[:, None]
            dweight_RW += dh_RW * unit_RW
            dh_RW *= _vector(weight, c_W, W)[None, :]
            dh_RW = (dh_RW - unit_RW * (tl.sum(dh_RW * unit_RW, 1) / W)[:, None]) * rstd_R[:, None]
        dp_RM = p_RM * 0
        for i in tl.static_range(N):
            dp_R = tl.sum(_row(sources[i], r_R, c_W, ok_RW, W) * dh_RW, 1)
            dp_RM = tl.where(n_M[None, :] == i, dp_R[:, None], dp_RM)
        along_RM = p_RM * (dp_RM - tl.sum(p_RM * dp_RM, 1)[:, None]) * rstd_RM
        shrink_RM = along_RM * rstd_RM * logits_RM / W
        for i in tl.static_range(N):
            v_RW = _row(sources[i], r_R, c_W, ok_RW, W)
            own_RM = n_M[None, :] == i
            p_R1 = tl.sum(tl.where(own_RM, p_RM, 0.0), 1)[:, None]
            along_R1 = tl.sum(tl.where(own_RM, along_RM, 0.0), 1)[:, None]
            shrink_R1 = tl.sum(tl.where(own_RM, shrink_RM, 0.0), 1)[:, None]
            dv_RW = p_R1 * dh_RW + along_R1 * a_W[None, :] - shrink_R1 * v_RW
            tl.store(dsources[i] + r_R[:, None] * W + c_W[None, :], dv_RW, mask=ok_RW)
            da_RW += along_R1 * v_RW
    at_W = tl.program_id(0) * W + c_W
    tl.store(da + at_W, tl.sum(da_RW, 0), mask=c_W < W)
    if NORM:
        tl.store(dweight + at_W, tl.sum(dweight_RW, 0), mask=c_W < W)


def _shape(width: int) -> tuple[int, int, int]:
    """(rows a program, padded width, warps)."""
    columns = triton.next_power_of_2(width)
    return max(1, TILE // columns), columns, 4 if columns <= 2048 else 8


class TritonAttnRes(torch.autograd.Function):
    """The mixture (`weight` None) or its RMSNorm times `weight`, in the first source's dtype."""

    @staticmethod
    def forward(
        ctx: Any, query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, eps: float, norm_eps: float,
        *sources_TW: Tensor,
    ) -> Tensor:  # fmt: skip
        sources = tuple(source.contiguous() for source in sources_TW)
        W, N = sources[0].shape[-1], len(sources)
        T = sources[0].numel() // W
        rows, columns, warps = _shape(W)
        y = torch.empty_like(sources[0])
        if T:
            _forward[(triton.cdiv(T, rows),)](
                sources, query_W, gamma_W, weight_W, y, T, eps, norm_eps, weight_W is not None, N,
                triton.next_power_of_2(N), W, rows, columns, num_warps=warps,
            )  # fmt: skip
        ctx.save_for_backward(query_W, gamma_W, weight_W, *sources)
        ctx.eps, ctx.norm_eps = eps, norm_eps
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        query_W, gamma_W, weight_W, *sources = ctx.saved_tensors
        W, N = sources[0].shape[-1], len(sources)
        T = sources[0].numel() // W
        rows, columns, warps = _shape(W)
        tiles = triton.cdiv(T, rows)
        programs = min(PROGRAMS, tiles)
        dsources = tuple(torch.empty_like(source) for source in sources)
        sums_2PW = sources[0].new_empty(2, programs, W, dtype=torch.float32)
        if T:
            _backward[(programs,)](
                tuple(sources), query_W, gamma_W, weight_W, dy.contiguous(), dsources, sums_2PW[0], sums_2PW[1], T,
                triton.cdiv(tiles, programs), programs, ctx.eps, ctx.norm_eps, weight_W is not None, N,
                triton.next_power_of_2(N), W, rows, columns, num_warps=warps,
            )  # fmt: skip
        da_W = sums_2PW[0].sum(0)
        dweight_W = None if weight_W is None else sums_2PW[1].sum(0).to(weight_W.dtype)
        dquery_W, dgamma_W = (da_W * gamma_W).to(query_W.dtype), (da_W * query_W).to(gamma_W.dtype)
        return dquery_W, dgamma_W, dweight_W, None, None, *dsources
