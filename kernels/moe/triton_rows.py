"""Rows between token order and expert order in Triton: each byte is read and written once, sums have one order.

A token's row is read once and stored at its K places. PyTorch's gather reads it K times, writes the K gathered rows
before it adds them, and clears idle experts' gradients by a pass over all of them.
T tokens, E experts, K experts a token, L width of a row, P = T·K pairs, sorted by expert.
"""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["clear_idle", "mix_rows", "take_rows"]

TILE = 1024  # elements of a tile: 8 a thread, times K loads or stores in flight
CLEARED, PROGRAMS = 4096, 8  # elements at once, programs an expert


@triton.jit(do_not_specialize=["T"])
def _take(x, place, out, T, K: tl.constexpr, L: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    t_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c_C = tl.program_id(1) * COLS + tl.arange(0, COLS)
    ok_RC = (t_R < T)[:, None] & (c_C < L)[None, :]
    x_RC = tl.load(x + t_R[:, None] * L + c_C[None, :], mask=ok_RC)
    for k in tl.static_range(K):
        row_R = tl.load(place + t_R * K + k, mask=t_R < T, other=0).to(tl.int64)
        tl.store(out + row_R[:, None] * L + c_C[None, :], x_RC, mask=ok_RC)


@triton.jit(do_not_specialize=["T"])
def _mix(
    first, second, place, out, T, K: tl.constexpr, L: tl.constexpr, TWO: tl.constexpr, ROWS: tl.constexpr,
    COLS: tl.constexpr,
):  # fmt: skip
    t_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c_C = tl.program_id(1) * COLS + tl.arange(0, COLS)
    ok_RC = (t_R < T)[:, None] & (c_C < L)[None, :]
    sum_RC = tl.zeros([ROWS, COLS], tl.float32)
    for k in tl.static_range(K):
        row_R = tl.load(place + t_R * K + k, mask=t_R < T, other=0).to(tl.int64)
        from_RC = row_R[:, None] * L + c_C[None, :]
        sum_RC += tl.load(first + from_RC, mask=ok_RC, other=0.0).to(tl.float32)
        if TWO:
            sum_RC += tl.load(second + from_RC, mask=ok_RC, other=0.0).to(tl.float32)
    tl.store(out + t_R[:, None] * L + c_C[None, :], sum_RC, mask=ok_RC)


@triton.jit
def _clear(dw, ends, SIZE: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    e = tl.program_id(0)
    before = tl.load(ends + e - 1, mask=e > 0, other=0)
    if tl.load(ends + e) == before:
        for start in range(tl.program_id(1) * BLOCK, SIZE, PROGRAMS * BLOCK):
            i_B = start + tl.arange(0, BLOCK)
            zero_B = tl.zeros([BLOCK], dw.dtype.element_ty)
            tl.store(dw + e.to(tl.int64) * SIZE + i_B, zero_B, mask=i_B < SIZE)


def _tile(width: int) -> tuple[int, int]:
    columns = min(TILE, triton.next_power_of_2(width))
    return TILE // columns, columns


def take_rows(x_TL: Tensor, place_P: Tensor, K: int) -> Tensor:
    """Each token's row at the places of its pairs: [P, L]."""
    T, L = x_TL.shape
    out_PL = x_TL.new_empty(len(place_P), L)
    if T:
        rows, columns = _tile(L)
        grid = triton.cdiv(T, rows), triton.cdiv(L, columns)
        _take[grid](x_TL.contiguous(), place_P, out_PL, T, K, L, rows, columns)
    return out_PL


def mix_rows(parts: Sequence[Tensor], place_P: Tensor, K: int) -> Tensor:
    """Σ over a token's K rows and over one or two `parts` [P, L], in fp32, in one order: [T, L] in their dtype."""
    first, second = parts[0], parts[-1]
    T, L = len(place_P) // K, first.shape[1]
    out_TL = first.new_empty(T, L)
    if T:
        rows, columns = _tile(L)
        grid = triton.cdiv(T, rows), triton.cdiv(L, columns)
        _mix[grid](first, second, place_P, out_TL, T, K, L, len(parts) == 2, rows, columns)
    return out_TL


def clear_idle(dw_EXY: Tensor, ends_E: Tensor) -> None:
    """Writes zeros where an expert has no rows: not every architecture's grouped product does."""
    if dw_EXY.numel():
        _clear[(len(dw_EXY), PROGRAMS)](dw_EXY, ends_E, dw_EXY[0].numel(), PROGRAMS, CLEARED)
