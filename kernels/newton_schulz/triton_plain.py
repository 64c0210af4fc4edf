"""Blocks of more than 128 rows: the plain iteration with symmetric products, in bf16 with fp32 sums.

A step is three launches: G = XXᵀ and F = bG + cG² by halves, then X ← aX + FX with the tile of X added in fp32, where
`baddbmm` would first copy X. Rows and columns are padded with zeros to sixteens, which change nothing: they stay zero.

B blocks, M ≤ N rows and columns of a block, both padded.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from trivium.kernels.newton_schulz.reference import EPSILON, A, B, C
from trivium.kernels.newton_schulz.triton_symmetric import ALIGNED, symmetric_product

__all__ = ["plain", "workspace_numbers"]


@triton.jit
def update(
    f, x, out, M, N, rows, columns, scale,
    ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """`out` [B, rows, columns] = scale · X + F X without the padding; neighbours in the grid share X's columns."""
    down = tl.cdiv(M, ROWS)
    each = down * tl.cdiv(N, COLS)
    block = (tl.program_id(0) // each).to(tl.int64)
    tile = tl.program_id(0) % each
    m_M = (tile % down) * ROWS + tl.arange(0, ROWS)
    n_N = (tile // down) * COLS + tl.arange(0, COLS)
    k_K = tl.arange(0, DEPTH)
    f += block * M * M
    x += block * M * N
    acc_MN = tl.zeros([ROWS, COLS], tl.float32)
    for start in range(0, M, DEPTH):
        ok_K = start + k_K < M
        f_MK = tl.load(
            f + m_M[:, None] * M + (start + k_K)[None, :], mask=(m_M < M)[:, None] & ok_K[None, :], other=0.0
        )
        x_KN = tl.load(
            x + (start + k_K)[:, None] * N + n_N[None, :], mask=ok_K[:, None] & (n_N < N)[None, :], other=0.0
        )
        acc_MN = tl.dot(f_MK, x_KN, acc_MN, input_precision="ieee")
    x_MN = tl.load(x + m_M[:, None] * N + n_N[None, :], mask=(m_M < M)[:, None] & (n_N < N)[None, :], other=0.0)
    acc_MN += scale * x_MN.to(tl.float32)
    tl.store(
        out + block * rows * columns + m_M[:, None] * columns + n_N[None, :], acc_MN,
        mask=(m_M < rows)[:, None] & (n_N < columns)[None, :],
    )  # fmt: skip


def shape(N: int, half: bool) -> tuple[dict[str, int], dict[str, int]]:
    """(tile, launch options) by the class of N alone."""
    if not half:
        return {"ROWS": 32, "COLS": 32, "DEPTH": 32}, {"num_warps": 4, "num_stages": 1}
    if N < 256:
        return {"ROWS": 128, "COLS": 128, "DEPTH": 64}, {"num_warps": 4, "num_stages": 3}
    return {"ROWS": 128, "COLS": 256, "DEPTH": 64}, {"num_warps": 8, "num_stages": 3}


def _launch(f_BMM: Tensor, x_BMN: Tensor, out: Tensor) -> None:
    blocks, M, N = x_BMN.shape
    tile, options = shape(N, x_BMN.dtype == torch.bfloat16)
    grid = (blocks * triton.cdiv(M, tile["ROWS"]) * triton.cdiv(N, tile["COLS"]),)
    update[grid](f_BMM, x_BMN, out, M, N, out.shape[1], out.shape[2], A, **tile, **options)


def _padded(rows: int) -> int:
    return -(-rows // ALIGNED) * ALIGNED


def workspace_numbers(rows: int, columns: int) -> int:
    """Entries of workspace that a block needs: X twice, G and F."""
    M, N = _padded(rows), _padded(columns)
    return 2 * M * (N + M)


def plain(x_BMN: Tensor, out_BMN: Tensor, steps: int, dtype: torch.dtype) -> None:
    """The iteration in `dtype` (bf16; fp32 in the interpreter), into `out_BMN`; `x_BMN` has strides of any kind."""
    blocks, rows, columns = x_BMN.shape
    M, N = _padded(rows), _padded(columns)
    scale_B11 = 1 / (torch.linalg.vector_norm(x_BMN, dim=(-2, -1), keepdim=True, dtype=torch.float32) + EPSILON)
    whole = (rows, columns) == (M, N)
    now_BMN = x_BMN.new_empty(blocks, M, N, dtype=dtype) if whole else x_BMN.new_zeros(blocks, M, N, dtype=dtype)
    torch.mul(x_BMN, scale_B11, out=now_BMN[:, :rows, :columns])
    next_BMN = torch.empty_like(now_BMN)
    gram_BMM, factor_BMM = (now_BMN.new_empty(blocks, M, M) for _ in range(2))
    for step in range(steps):
        symmetric_product(now_BMN, None, 1.0, 0.0, gram_BMM)
        symmetric_product(gram_BMM, gram_BMM, C, B, factor_BMM)
        _launch(factor_BMM, now_BMN, out_BMN if step + 1 == steps else next_BMN)
        now_BMN, next_BMN = next_BMN, now_BMN
