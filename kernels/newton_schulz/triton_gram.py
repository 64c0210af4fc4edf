"""Blocks of at most 128 rows: three launches, which read X twice and write the result once.

`gram` sums G = XXᵀ over runs of columns, `chain` takes G of one block through all steps to the matrix Q whose product
with X is the result, `apply` multiplies. ‖X‖² is G's trace, so that no pass is spent on the norm.

Odd: a matrix of the chain is two bf16 numbers an entry, its rounded value and what rounding took, and a product three
(a_hi b_hi + a_hi b_lo + a_lo b_hi); and the identity stays out of the products: (aI + R) Y is R Y and, in fp32, + a Y.
An error of G in a direction that is small grows by a² = 12 a step. With P = aI + R in one TF32 product the result ends
twice as wrong as the plain form in bf16 (condition 1e4); as written it differs from fp64 by X's own rounding alone.
Q, up to a⁵ = 485, needs its two parts before X too. What a block becomes does not depend on the blocks beside it, to
the bit: no tile and no order of a sum knows how many there are.

B blocks, M ≤ N rows and columns of a block, S runs of columns.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from trivium.kernels.newton_schulz import MOST_ROWS, reference

__all__ = ["by_gram"]

RUN = 1024  # columns that one program sums or multiplies
PROGRAMS = 132  # of the chain: one for each of an H200's multiprocessors; more blocks take turns
A, B, C = tl.constexpr(reference.A), tl.constexpr(reference.B), tl.constexpr(reference.C)
EPSILON = tl.constexpr(reference.EPSILON)
G, R, H, Q = (tl.constexpr(place) for place in range(4))  # of the chain's matrices in its workspace


def _places(*places: tl.constexpr) -> tl.constexpr:
    """Of the four products of a step, two bits each."""
    return tl.constexpr(sum(place.value << 2 * i for i, place in enumerate(places)))


INTO, LEFT, RIGHT, ADDED = _places(R, Q, H, G), _places(G, R, R, H), _places(G, Q, G, R), _places(G, Q, G, H)


@triton.jit(do_not_specialize=["M", "S"])
def gram(
    x, parts, M, N, S, LENGTH: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """The share of a run of columns in XXᵀ: parts [B, S, ROWS, ROWS] in fp32."""
    block = (tl.program_id(0) // S).to(tl.int64)
    first = (tl.program_id(0) % S) * LENGTH
    m_M = tl.arange(0, ROWS)
    x += block * M * N
    acc_MM = tl.zeros([ROWS, ROWS], tl.float32)
    for start in range(first, min(first + LENGTH, N), COLS):
        n_N = start + tl.arange(0, COLS)
        x_MN = tl.load(x + m_M[:, None] * N + n_N[None, :], mask=(m_M < M)[:, None] & (n_N < N)[None, :], other=0.0)
        if HALF:
            x_MN = x_MN.to(tl.bfloat16)
        acc_MM = tl.dot(x_MN, tl.trans(x_MN), acc_MM, input_precision="ieee")
    at_MM = m_M[:, None] * ROWS + m_M[None, :]
    tl.store(parts + tl.program_id(0).to(tl.int64) * (ROWS * ROWS) + at_MM, acc_MM)


@triton.jit
def keep(to, x_MM, at_MM, ROWS: tl.constexpr, HALF: tl.constexpr):
    """x's parts into memory: what bf16 rounds it to and what that took; in the interpreter x alone."""
    tl.debug_barrier()  # all have read what lay there
    if HALF:
        high_MM = x_MM.to(tl.bfloat16)
        tl.store(to + at_MM, high_MM)
        tl.store(to + ROWS * ROWS + at_MM, (x_MM - high_MM.to(tl.float32)).to(tl.bfloat16))
    else:
        tl.store(to + at_MM, x_MM)
    tl.debug_barrier()  # all will find what was written


@triton.jit
def product(a, b, ROWS: tl.constexpr, DEPTH: tl.constexpr, HALF: tl.constexpr):
    """(a + a_low)(b + b_low) in fp32 without the product of the two small ones."""
    m_M, k_K = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    acc_MM = tl.zeros([ROWS, ROWS], tl.float32)
    for start in range(0, ROWS, DEPTH):
        left_MK = m_M[:, None] * ROWS + (start + k_K)[None, :]
        right_KM = (start + k_K)[:, None] * ROWS + m_M[None, :]
        a_MK, b_KM = tl.load(a + left_MK), tl.load(b + right_KM)
        if HALF:
            acc_MM = tl.dot(tl.load(a + ROWS * ROWS + left_MK), b_KM, acc_MM)
            acc_MM = tl.dot(a_MK, tl.load(b + ROWS * ROWS + right_KM), acc_MM)
        acc_MM = tl.dot(a_MK, b_KM, acc_MM, input_precision="ieee")
    return acc_MM


@triton.jit
def both(x, at_MM, ROWS: tl.constexpr, HALF: tl.constexpr):
    """What `keep` wrote, in fp32."""
    x_MM = tl.load(x + at_MM).to(tl.float32)
    if HALF:
        x_MM += tl.load(x + ROWS * ROWS + at_MM).to(tl.float32)
    return x_MM


@triton.jit(do_not_specialize=["blocks", "S"])
def chain(
    parts, work, final, blocks, S,
    STEPS: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """final [B, 2 or 1, ROWS, ROWS], the parts of Q: the product of all steps' polynomials over ‖X‖.

    A step is R = bG + cG², Q ← aQ + RQ, H = aG + RG, G ← aH + HR. All four lie in memory (the second-level cache holds
    them) and all products are one loop's body: written one by one they spill, in addresses more than in matrices. A
    program takes block after block, so that `work` [programs, 4, …] does not grow with their number.
    """
    SIZE: tl.constexpr = ROWS * ROWS
    KEPT: tl.constexpr = (2 if HALF else 1) * SIZE
    m_M = tl.arange(0, ROWS)
    at_MM = m_M[:, None] * ROWS + m_M[None, :]
    work += tl.program_id(0) * (4 * KEPT)
    parts += tl.program_id(0).to(tl.int64) * S * SIZE
    final += tl.program_id(0).to(tl.int64) * KEPT
    for _ in range(tl.program_id(0), blocks, tl.num_programs(0)):
        g_MM = tl.zeros([ROWS, ROWS], tl.float32)
        for s in range(S):
            g_MM += tl.load(parts + s * SIZE + at_MM)
        diagonal_MM = m_M[:, None] == m_M[None, :]
        square = tl.sum(tl.sum(tl.where(diagonal_MM, g_MM, 0.0), 1), 0)
        square = tl.where(square < float("inf"), square, float("nan"))  # too large for fp32: not silently zero
        scale = 1.0 / (tl.sqrt(square) + EPSILON)
        keep(work + G * KEPT, g_MM * scale * scale, at_MM, ROWS, HALF)
        keep(work + Q * KEPT, tl.where(diagonal_MM, scale, 0.0), at_MM, ROWS, HALF)
        for turn in range(4 * STEPS - 2):  # the last G would go unread
            kind = turn % 4
            left, right = work + ((LEFT >> 2 * kind) & 3) * KEPT, work + ((RIGHT >> 2 * kind) & 3) * KEPT
            added = work + ((ADDED >> 2 * kind) & 3) * KEPT
            x_MM = product(left, right, ROWS, DEPTH, HALF) * tl.where(kind == 0, C, 1.0)
            x_MM += both(added, at_MM, ROWS, HALF) * tl.where(kind == 0, B, A)
            keep(work + ((INTO >> 2 * kind) & 3) * KEPT, x_MM, at_MM, ROWS, HALF)
        keep(final, both(work + Q * KEPT, at_MM, ROWS, HALF), at_MM, ROWS, HALF)
        parts += tl.num_programs(0) * S * SIZE
        final += tl.num_programs(0) * KEPT


@triton.jit(do_not_specialize=["M", "S"])
def apply(
    q, x, out, M, N, S, LENGTH: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """out = Q X over a run of columns."""
    block = (tl.program_id(0) // S).to(tl.int64)
    first = (tl.program_id(0) % S) * LENGTH
    m_M = tl.arange(0, ROWS)
    at_MM = m_M[:, None] * ROWS + m_M[None, :]
    q += block * ((2 if HALF else 1) * ROWS * ROWS)
    x += block * M * N
    out += block * M * N
    q_MM = tl.load(q + at_MM)
    low_MM = q_MM
    if HALF:
        low_MM = tl.load(q + ROWS * ROWS + at_MM)
    for start in range(first, min(first + LENGTH, N), COLS):
        n_N = start + tl.arange(0, COLS)
        at_MN = m_M[:, None] * N + n_N[None, :]
        ok_MN = (m_M < M)[:, None] & (n_N < N)[None, :]
        x_MN = tl.load(x + at_MN, mask=ok_MN, other=0.0)
        if HALF:
            x_MN = x_MN.to(tl.bfloat16)
            acc_MN = tl.dot(q_MM, x_MN, tl.dot(low_MM, x_MN))
        else:
            acc_MN = tl.dot(q_MM, x_MN.to(tl.float32), input_precision="ieee")
        tl.store(out + at_MN, acc_MN, mask=ok_MN)


def shape(M: int, half: bool) -> tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int]]:
    """(constants of all three, tile of runs, tile of the chain, launch options) by the class of M alone."""
    rows = max(16, triton.next_power_of_2(M))
    same = {"ROWS": rows, "HALF": half}
    if not half:
        one = {"num_warps": 4, "num_stages": 1}
        return same, {"LENGTH": 64, "COLS": 32}, {"DEPTH": 16, **one}, one
    warps = 8 if rows == MOST_ROWS else 4
    chained = {"DEPTH": min(64, rows), "num_warps": warps, "num_stages": 2}
    return same, {"LENGTH": RUN, "COLS": 64}, chained, {"num_warps": warps, "num_stages": 3}


def by_gram(x_BMN: Tensor, steps: int, half: bool) -> Tensor:
    """The iteration of blocks of at most MOST_ROWS rows, in x's type; `half` False is for the interpreter, in fp32.

    Beside input and result (and a copy of an input that is not contiguous): of ROWS rows, M at the next power of two
    and 16 at the least, ROWS² · (4 · ⌈N / 1024⌉ + 4) bytes a block (7168 columns of 128 rows: 512 KiB, a seventh of
    the block) and at most 33 MiB for the chain.
    """
    blocks, M, N = x_BMN.shape
    x_BMN = x_BMN.contiguous()
    out_BMN = torch.empty_like(x_BMN)
    if not x_BMN.numel():
        return out_BMN
    same, run, chained, options = shape(M, half)
    S, rows, programs = triton.cdiv(N, run["LENGTH"]), same["ROWS"], min(blocks, PROGRAMS)
    parts = x_BMN.new_empty(blocks, S, rows, rows, dtype=torch.float32)
    dtype = torch.bfloat16 if half else torch.float32
    work, q = (x_BMN.new_empty(*many, 1 + half, rows, rows, dtype=dtype) for many in ((programs, 4), (blocks,)))
    gram[(blocks * S,)](x_BMN, parts, M, N, S, **run, **same, **options)
    chain[(programs,)](parts, work, q, blocks, S, steps, **same, **chained)
    apply[(blocks * S,)](q, x_BMN, out_BMN, M, N, S, **run, **same, **options)
    return out_BMN
