"""C = αAAᵀ + βS of a batch, S symmetric: half the tiles are computed, each written to both its places.

Odd: of a tile on the diagonal, too, only the lower half is written and mirrored, so that the result equals its
transpose bit for bit, whatever order the tensor cores sum in. Nothing depends on the number of blocks but the grid.

B blocks, M rows, K columns of A: multiples of 16, so that every access is whole and a block of any size has one key.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["symmetric_product"]

ALIGNED = 16  # what M and K must divide by


@triton.jit
def lower_tile(t):
    """(row, column) of the t-th tile on or below the diagonal, counted along rows."""
    i = ((tl.sqrt(8.0 * t.to(tl.float32) + 1.0) - 1.0) * 0.5).to(tl.int32)
    i = tl.where(i * (i + 1) // 2 > t, i - 1, i)  # a square root that was rounded to the wrong side
    i = tl.where((i + 1) * (i + 2) // 2 <= t, i + 1, i)
    return i, t - i * (i + 1) // 2


@triton.jit
def symmetric(
    a, s, c, M, K, alpha, beta, ADD: tl.constexpr, TILE: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(M, TILE)
    each = tiles * (tiles + 1) // 2
    block = (tl.program_id(0) // each).to(tl.int64)
    i, j = lower_tile(tl.program_id(0) % each)
    r_M, r_N = i * TILE + tl.arange(0, TILE), j * TILE + tl.arange(0, TILE)
    k_K = tl.arange(0, DEPTH)
    a += block * M * K
    acc_MN = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, K, DEPTH):
        ok_K = start + k_K < K
        left_MK = tl.load(
            a + r_M[:, None] * K + (start + k_K)[None, :], mask=(r_M < M)[:, None] & ok_K[None, :], other=0.0
        )
        right_KN = tl.load(
            a + r_N[None, :] * K + (start + k_K)[:, None], mask=(r_N < M)[None, :] & ok_K[:, None], other=0.0
        )
        acc_MN = tl.dot(left_MK, right_KN, acc_MN, input_precision="ieee")
    acc_MN *= alpha
    at_MN = r_M[:, None] * M + r_N[None, :]
    inside_MN = (r_M < M)[:, None] & (r_N < M)[None, :]
    if ADD:
        acc_MN += beta * tl.load(s + block * M * M + at_MN, mask=inside_MN, other=0.0).to(tl.float32)
    c += block * M * M
    c_MN = acc_MN.to(c.dtype.element_ty)
    tl.store(c + at_MN, c_MN, mask=inside_MN & (r_M[:, None] >= r_N[None, :]))
    mirrored_NM = r_N[:, None] * M + r_M[None, :]
    below_NM = (r_N < M)[:, None] & (r_M < M)[None, :] & (r_N[:, None] < r_M[None, :])
    tl.store(c + mirrored_NM, tl.trans(c_MN), mask=below_NM)


def shape(M: int, half: bool) -> tuple[dict[str, int], dict[str, int]]:
    """(tile, launch options) by the class of M alone."""
    if not half:
        return {"TILE": 32, "DEPTH": 32}, {"num_warps": 4, "num_stages": 1}
    if M <= 64:
        return {"TILE": 64, "DEPTH": 64}, {"num_warps": 4, "num_stages": 3}
    return {"TILE": 128, "DEPTH": 64}, {"num_warps": 4, "num_stages": 3}  # 96 KiB: two programs a multiprocessor


def symmetric_product(a_BMK: Tensor, s_BMM: Tensor | None, alpha: float, beta: float, c_BMM: Tensor) -> Tensor:
    """αAAᵀ + βS into `c_BMM`, all contiguous and of one dtype, fp32 sums; S is symmetric or None. M and K in sixteens.

    Raises ValueError for another M or K.
    """
    B, M, K = a_BMK.shape
    if M % ALIGNED or K % ALIGNED:
        raise ValueError(f"rows and columns must be multiples of {ALIGNED}; found {M} and {K}: pad them with zeros")
    tile, options = shape(M, a_BMK.dtype == torch.bfloat16)
    tiles = triton.cdiv(M, tile["TILE"])
    if B:
        grid = (B * tiles * (tiles + 1) // 2,)
        symmetric[grid](a_BMK, s_BMM, c_BMM, M, K, alpha, beta, s_BMM is not None, **tile, **options)
    return c_BMM
