"""Attention Residuals in two phases, in Triton and without gradients: a block's queries read its bank once.

Three kernels: `products` takes a piece of the columns of all sources times all queries; `mix` adds the pieces' parts,
weighs and mixes; `join` adds the running sum to one query's mixture and, where wanted, norms it. No cut depends on the
number of rows, and no row meets another: its bits are the same whatever stands in the others.
N sources, S queries (padded to Q), B rows, W model width, P pieces of the columns in `products`, R rows of a program,
C columns of a program's step; tuples run over sources.
"""

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from trivium.kernels.attnres.triton_forward import dots, piece, vector

__all__ = ["run_bank", "run_join"]

ROWS = 16  # the smallest tile of a product
STEP = 64  # columns of one product
PIECE = 512  # columns of a program of `products`
MIXED = 512  # columns of a program of `mix`


@triton.jit
def _times(v_RC, a_CQ):
    """v · a in fp32: bf16 rows times three parts of `a`, whose bits they hold; fp32 rows as they are."""
    if v_RC.dtype == tl.bfloat16:
        high_CQ = a_CQ.to(tl.bfloat16)
        rest_CQ = a_CQ - high_CQ.to(tl.float32)
        middle_CQ = rest_CQ.to(tl.bfloat16)
        low_CQ = (rest_CQ - middle_CQ.to(tl.float32)).to(tl.bfloat16)
        y_RQ = tl.dot(v_RC, high_CQ, tl.dot(v_RC, middle_CQ, tl.dot(v_RC, low_CQ)))
    else:
        y_RQ = tl.dot(v_RC, a_CQ, input_precision="ieee")
    return y_RQ


@triton.jit(do_not_specialize=["B"])
def products(
    sources, a, of_a, squares, B, N: tl.constexpr, S: tl.constexpr, Q: tl.constexpr, W: tl.constexpr, P: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Piece p's part of v · a, [B, N, P, Q], and of v · v, [B, N, P]."""
    p = tl.program_id(1)
    r_R = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    ok_R = r_R < B
    q_Q = tl.arange(0, Q)
    sums = ()
    twos = ()
    for _ in tl.static_range(N):
        sums += (tl.zeros([R, Q], tl.float32),)
        twos += (tl.zeros([R], tl.float32),)
    for step in range(STEPS):
        j = p * STEPS + step
        c_C = j * C + tl.arange(0, C)
        ok_CQ = (c_C < W)[:, None] & (q_Q < S)[None, :]
        a_CQ = tl.load(a + q_Q[None, :] * W + c_C[:, None], mask=ok_CQ, other=0.0).to(tl.float32)
        more = ()
        squared = ()
        for i in tl.static_range(N):
            v_RC = piece(sources[i], r_R, ok_R, j, W, C)
            more += (sums[i] + _times(v_RC, a_CQ),)
            x_RC = v_RC.to(tl.float32)
            squared += (twos[i] + tl.sum(x_RC * x_RC, 1),)
        sums = more
        twos = squared
    for i in tl.static_range(N):
        at_R = (r_R * N + i) * P + p
        tl.store(squares + at_R, twos[i], mask=ok_R)
        tl.store(of_a + at_R[:, None] * Q + q_Q[None, :], sums[i], mask=ok_R[:, None])


@triton.jit(do_not_specialize=["B"])
def mix(
    sources, of_a, squares, mixed, total, B, eps, N: tl.constexpr, S: tl.constexpr, Q: tl.constexpr, W: tl.constexpr,
    P: tl.constexpr, P2: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """One row's piece of all queries' mixtures, [S, B, W], and the logs of their weights' sums, [S, B]."""
    row, j = tl.program_id(0).to(tl.int64), tl.program_id(1)
    p_P = tl.arange(0, P2)
    q_Q = tl.arange(0, Q)
    logits = ()
    most_Q = tl.full([Q], float("-inf"), tl.float32)
    for i in tl.static_range(N):
        at_P = (row * N + i) * P + p_P
        parts_PQ = tl.load(of_a + at_P[:, None] * Q + q_Q[None, :], mask=(p_P < P)[:, None], other=0.0)
        square = tl.sum(tl.load(squares + at_P, mask=p_P < P, other=0.0), 0)
        logits += (tl.sum(parts_PQ, 0) * tl.rsqrt(square / W + eps),)
        most_Q = tl.maximum(most_Q, logits[i])
    sum_Q = most_Q * 0
    for i in tl.static_range(N):
        sum_Q += tl.exp(logits[i] - most_Q)
    c_C = j * C + tl.arange(0, C)
    h_QC = tl.zeros([Q, C], tl.float32)
    for i in tl.static_range(N):
        v_C = tl.load(sources[i] + row * W + c_C, mask=c_C < W, other=0.0).to(tl.float32)
        h_QC += tl.exp(logits[i] - most_Q)[:, None] * v_C[None, :]
    h_QC = h_QC / sum_Q[:, None]
    at_Q = q_Q.to(tl.int64) * B + row
    tl.store(mixed + at_Q[:, None] * W + c_C[None, :], h_QC, mask=(q_Q < S)[:, None] & (c_C < W)[None, :])
    if j == 0:
        tl.store(total + at_Q, most_Q + tl.log(sum_Q), mask=q_Q < S)


@triton.jit(do_not_specialize=["B"])
def join(
    own, mixed, total, a, weight, y, B, eps, norm_eps, NORM: tl.constexpr, W: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """Whole rows of the mixture with the running sum, or of its norm."""
    r_R = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    ok_R = r_R < B
    c_C = tl.arange(0, C)
    ok_RC = ok_R[:, None] & (c_C < W)[None, :]
    v_RC = piece(own, r_R, ok_R, 0, W, C).to(tl.float32)
    squares_R, along_R = dots(v_RC * v_RC, v_RC * vector(a, 0, W, C)[None, :])
    logit_R = along_R * tl.rsqrt(squares_R / W + eps)
    bank_R = tl.load(total + r_R, mask=ok_R, other=0.0)
    most_R = tl.maximum(logit_R, bank_R)
    own_R, bank_R = tl.exp(logit_R - most_R), tl.exp(bank_R - most_R)
    m_RC = piece(mixed, r_R, ok_R, 0, W, C).to(tl.float32)
    h_RC = (m_RC * bank_R[:, None] + v_RC * own_R[:, None]) / (own_R + bank_R)[:, None]
    if NORM:
        h_RC = h_RC * tl.rsqrt(tl.sum(h_RC * h_RC, 1) / W + norm_eps)[:, None] * vector(weight, 0, W, C)[None, :]
    tl.store(y + r_R[:, None] * W + c_C[None, :], h_RC, mask=ok_RC)


def run_bank(bank: Sequence[Tensor], a_SW: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(mixtures [S, B, W], logs of their weights' sums [S, B]), fp32."""
    sources = tuple(source.contiguous() for source in bank)
    (B, W), N, S = sources[0].shape, len(sources), a_SW.shape[0]
    Q, P = max(16, triton.next_power_of_2(S)), triton.cdiv(W, PIECE)
    new = {"dtype": torch.float32, "device": a_SW.device}
    mixed_SBW, total_SB = torch.empty(S, B, W, **new), torch.empty(S, B, **new)
    if B:
        of_a_BNPQ, squares_BNP = torch.empty(B, N, P, Q, **new), torch.empty(B, N, P, **new)
        products[(triton.cdiv(B, ROWS), P)](
            sources, a_SW.contiguous(), of_a_BNPQ, squares_BNP, B, N, S, Q, W, P, ROWS, STEP, PIECE // STEP,
            num_warps=4,
        )  # fmt: skip
        mix[(B, triton.cdiv(W, MIXED))](
            sources, of_a_BNPQ, squares_BNP, mixed_SBW, total_SB, B, eps, N, S, Q, W, P, triton.next_power_of_2(P),
            MIXED, num_warps=8,
        )  # fmt: skip
    return mixed_SBW, total_SB


def run_join(
    own_BW: Tensor, mixed_BW: Tensor, total_B: Tensor, a_W: Tensor, weight_W: Tensor | None, eps: float, norm_eps: float
) -> Tensor:
    """The mixture with the running sum (`weight` None), or its RMSNorm times `weight`, in the sum's dtype."""
    B, W = own_BW.shape
    y_BW = torch.empty_like(own_BW, memory_format=torch.contiguous_format)
    columns = triton.next_power_of_2(W)
    rows = max(1, 1024 // columns)
    if B:
        join[(triton.cdiv(B, rows),)](
            own_BW.contiguous(), mixed_BW.contiguous(), total_B.contiguous(), a_W.contiguous(), weight_W, y_BW,
            B, eps, norm_eps, weight_W is not None, W, rows, columns, num_warps=8 if W > 2048 else 4,
        )  # fmt: skip
    return y_BW
