"""Products of the experts' weights with few rows each: weights stand where tokens usually do.

A matrix instruction of Hopper takes 64 rows of its left operand and any multiple of 8 columns of its right one. So the
weights are on the left, and an expert's rows on the right in pieces of 128, 64, 32 and 16 that share one tile of
weights: what is computed in vain is the rounding to 16 rows (few_plan.py). A program owns a tile of rows and a block of
the weights; which pieces the tile has is decided once, before the loop, so the kernel holds one loop for each number
of units. Every output is one sum in one order.
E experts, P pairs sorted by expert, T tokens, N rows of a weight, K its columns, M the block of outputs of a program.
"""

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from trivium.kernels.moe.few_experts import UNIT
from trivium.kernels.moe.torch_glu import Activation
from trivium.kernels.moe.triton_glu import GATE, UP, _tanh

__all__ = ["Shape", "few_dgrad", "few_forward", "few_glu"]

ROWS = tl.constexpr(UNIT)


class Shape(NamedTuple):
    """How a product is cut: outputs of a block, terms of a step, warps, stages of the pipeline, rows of a tile at most
    (no more than 224: three pieces).
    """

    block: int
    step: int = 64
    warps: int = 8
    stages: int = 4
    cap: int = 128


@triton.constexpr_function
def _piece(units, i):
    """Columns of the i-th piece of a tile of so many units, the largest first; 0 behind the last."""
    sizes = [UNIT << bit for bit in range(8, -1, -1) if units >> bit & 1]
    return sizes[i] if i < len(sizes) else 0


@triton.jit
def _places(x, tokens, first, last, AT: tl.constexpr, SIZE: tl.constexpr, STRIDE: tl.constexpr):
    """Where the rows of a piece begin; those past the tile's last are its last again, and are never stored."""
    row_S = tl.minimum(first + AT + tl.arange(0, SIZE), last)
    if tokens is not None:
        row_S = tl.load(tokens + row_S)
    return x + row_S.to(tl.int64)[:, None] * STRIDE


@triton.jit
def _terms(at_S1, start, STEP: tl.constexpr, TERMS: tl.constexpr):
    """[STEP, S] of the rows at `at_S1`; zeros past the last term."""
    c_C = start + tl.arange(0, STEP)
    if TERMS % STEP == 0:
        x_SC = tl.load(at_S1 + c_C[None, :])
    else:
        x_SC = tl.load(at_S1 + c_C[None, :], mask=(c_C < TERMS)[None, :], other=0.0)
    return x_SC.T


@triton.jit
def _weights(w, expert, block, start, N: tl.constexpr, M: tl.constexpr, DOWN: tl.constexpr):
    """[M, STEP]: rows of the weight, or its columns where the sum runs over the rows."""
    if DOWN:
        return w.load([expert * N + start, block * M]).T
    else:
        return w.load([expert * N + block * M, start])


@triton.jit
def _keep(to, value_MS, first, last, block, AT: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr):
    M: tl.constexpr = value_MS.shape[0]
    SIZE: tl.constexpr = value_MS.shape[1]
    row_S, c_M = first + AT + tl.arange(0, SIZE), block * M + tl.arange(0, M)
    ok_SM = (row_S <= last)[:, None] & (c_M < WIDTH)[None, :]
    value_SM = value_MS.to(to.dtype.element_ty).T
    tl.store(to + row_S.to(tl.int64)[:, None] * STRIDE + c_M[None, :], value_SM, mask=ok_SM)


@triton.jit
def _keep_glu(
    hidden, y, p, g_MS, u_MS, first, last, block, AT: tl.constexpr, WIDTH: tl.constexpr, SITU: tl.constexpr
):  # fmt: skip
    """g | u for the backward, and p · glu(g, u) from the sums in fp32."""
    _keep(hidden, g_MS, first, last, block, AT, WIDTH, 2 * WIDTH)
    _keep(hidden + WIDTH, u_MS, first, last, block, AT, WIDTH, 2 * WIDTH)
    p_S = tl.load(p + tl.minimum(first + AT + tl.arange(0, g_MS.shape[1]), last))
    if SITU:
        y_MS = (GATE * UP) * _tanh(g_MS / GATE) * tl.sigmoid(g_MS) * _tanh(u_MS / UP)
    else:
        y_MS = g_MS * tl.sigmoid(g_MS) * u_MS
    _keep(y, y_MS * p_S[None, :], first, last, block, AT, WIDTH, WIDTH)


@triton.jit
def _glu_tile(
    x, tokens, w1, w3, p, hidden, y, expert, first, last, block, UNITS: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr, SITU: tl.constexpr, M: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A block of both halves for the tile's rows: up to three pieces, two sums each."""
    A: tl.constexpr = _piece(UNITS, 0)
    B: tl.constexpr = _piece(UNITS, 1)
    C: tl.constexpr = _piece(UNITS, 2)
    at_A = _places(x, tokens, first, last, 0, A, K)
    ga, ua = tl.zeros([M, A], tl.float32), tl.zeros([M, A], tl.float32)
    if B:
        at_B = _places(x, tokens, first, last, A, B, K)
        gb, ub = tl.zeros([M, B], tl.float32), tl.zeros([M, B], tl.float32)
    if C:
        at_C = _places(x, tokens, first, last, A + B, C, K)
        gc, uc = tl.zeros([M, C], tl.float32), tl.zeros([M, C], tl.float32)
    for start in tl.range(0, K, STEP, num_stages=STAGES):
        w1_MC = _weights(w1, expert, block, start, N, M, False)
        w3_MC = _weights(w3, expert, block, start, N, M, False)
        x_CA = _terms(at_A, start, STEP, K)
        ga, ua = tl.dot(w1_MC, x_CA, ga), tl.dot(w3_MC, x_CA, ua)
        if B:
            x_CB = _terms(at_B, start, STEP, K)
            gb, ub = tl.dot(w1_MC, x_CB, gb), tl.dot(w3_MC, x_CB, ub)
        if C:
            x_CC = _terms(at_C, start, STEP, K)
            gc, uc = tl.dot(w1_MC, x_CC, gc), tl.dot(w3_MC, x_CC, uc)
    _keep_glu(hidden, y, p, ga, ua, first, last, block, 0, N, SITU)
    if B:
        _keep_glu(hidden, y, p, gb, ub, first, last, block, A, N, SITU)
    if C:
        _keep_glu(hidden, y, p, gc, uc, first, last, block, A + B, N, SITU)


@triton.jit
def _sum_tile(
    x, tokens, w, w2, out, expert, first, last, block, UNITS: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    STRIDE: tl.constexpr, DOWN: tl.constexpr, TWO: tl.constexpr, M: tl.constexpr, STEP: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """A block of w x, or of wᵀ x (DOWN), or of wᵀ x + w2ᵀ x' (TWO; x' stands N behind x in its row)."""
    A: tl.constexpr = _piece(UNITS, 0)
    B: tl.constexpr = _piece(UNITS, 1)
    C: tl.constexpr = _piece(UNITS, 2)
    TERMS: tl.constexpr = N if DOWN else K
    at_A, sum_A = _places(x, tokens, first, last, 0, A, STRIDE), tl.zeros([M, A], tl.float32)
    if B:
        at_B, sum_B = _places(x, tokens, first, last, A, B, STRIDE), tl.zeros([M, B], tl.float32)
    if C:
        at_C, sum_C = _places(x, tokens, first, last, A + B, C, STRIDE), tl.zeros([M, C], tl.float32)
    for start in tl.range(0, TERMS, STEP, num_stages=STAGES):
        w_MC = _weights(w, expert, block, start, N, M, DOWN)
        sum_A = tl.dot(w_MC, _terms(at_A, start, STEP, TERMS), sum_A)
        if B:
            sum_B = tl.dot(w_MC, _terms(at_B, start, STEP, TERMS), sum_B)
        if C:
            sum_C = tl.dot(w_MC, _terms(at_C, start, STEP, TERMS), sum_C)
        if TWO:
            w_MC = _weights(w2, expert, block, start, N, M, DOWN)
            sum_A = tl.dot(w_MC, _terms(at_A + N, start, STEP, TERMS), sum_A)
            if B:
                sum_B = tl.dot(w_MC, _terms(at_B + N, start, STEP, TERMS), sum_B)
            if C:
                sum_C = tl.dot(w_MC, _terms(at_C + N, start, STEP, TERMS), sum_C)
    WIDTH: tl.constexpr = K if DOWN else N
    _keep(out, sum_A, first, last, block, 0, WIDTH, WIDTH)
    if B:
        _keep(out, sum_B, first, last, block, A, WIDTH, WIDTH)
    if C:
        _keep(out, sum_C, first, last, block, A + B, WIDTH, WIDTH)


@triton.jit
def _tile(tiles_N4, BLOCKS: tl.constexpr):
    """(expert, first row, last row, units, block) of this program; no units past the last tile."""
    at = tiles_N4 + tl.program_id(0) // BLOCKS * 4
    first, rows = tl.load(at + 1), tl.load(at + 2)
    return tl.load(at), first, first + rows - 1, (rows + ROWS - 1) // ROWS, tl.program_id(0) % BLOCKS


@triton.jit
def _glu(
    x, tokens, w1, w3, p, hidden, y, tiles_N4, N: tl.constexpr, K: tl.constexpr, SITU: tl.constexpr,
    CAP: tl.constexpr, M: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    expert, first, last, units, block = _tile(tiles_N4, (N + M - 1) // M)
    for u in tl.static_range(1, CAP // ROWS + 1):
        if units == u:
            _glu_tile(x, tokens, w1, w3, p, hidden, y, expert, first, last, block, u, N, K, SITU, M, STEP, STAGES)


@triton.jit
def _sum(
    x, tokens, w, w2, out, tiles_N4, N: tl.constexpr, K: tl.constexpr, STRIDE: tl.constexpr, DOWN: tl.constexpr,
    TWO: tl.constexpr, CAP: tl.constexpr, M: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = K if DOWN else N
    expert, first, last, units, block = _tile(tiles_N4, (WIDTH + M - 1) // M)
    for u in tl.static_range(1, CAP // ROWS + 1):
        if units == u:
            _sum_tile(x, tokens, w, w2, out, expert, first, last, block, u, N, K, STRIDE, DOWN, TWO, M, STEP, STAGES)


GLU = Shape(block=128)
FORWARD = Shape(block=256, stages=3, cap=192)
DGRAD = Shape(block=256, stages=3, cap=192)
DGRAD_TWO = Shape(block=256, step=32, cap=192)


def _described(w_ENK: Tensor, block: int, step: int, down: bool) -> TensorDescriptor:
    """All experts' rows below each other, in boxes of [step, block] or [block, step]; raises where rows don't touch."""
    E, N, K = w_ENK.shape
    if not w_ENK.is_contiguous():
        raise ValueError(f"the experts' weights must be contiguous; found strides {w_ENK.stride()}")
    return TensorDescriptor(w_ENK, [E * N, K], [K, 1], [step, block] if down else [block, step])


def _pairs(x: Tensor, tokens_P: Tensor | None) -> int:
    return len(x) if tokens_P is None else len(tokens_P)


def few_glu(
    x: Tensor, tokens_P: Tensor | None, w1_ENK: Tensor, w3_ENK: Tensor, p_P: Tensor, tiles_N4: Tensor,
    activation: Activation, shape: Shape = GLU,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return (g | u [P, 2N], p · glu(g, u) [P, N]), g = w1 x and u = w3 x, of rows of `x` [T, K] at `tokens_P`."""
    _, N, K = w1_ENK.shape
    P = _pairs(x, tokens_P)
    hidden_P2N, y_PN = x.new_empty(P, 2 * N), x.new_empty(P, N)
    w1, w3 = (_described(w, shape.block, shape.step, False) for w in (w1_ENK, w3_ENK))
    if P:
        _glu[(len(tiles_N4) * triton.cdiv(N, shape.block),)](
            x, tokens_P, w1, w3, p_P, hidden_P2N, y_PN, tiles_N4, N, K, activation == "situ", shape.cap, shape.block,
            shape.step, shape.stages, num_warps=shape.warps,
        )  # fmt: skip
    return hidden_P2N, y_PN


def few_forward(x: Tensor, tokens_P: Tensor | None, w_ENK: Tensor, tiles_N4: Tensor, shape: Shape = FORWARD) -> Tensor:
    """[P, N]: w x of rows of `x` [T, K] at `tokens_P`, or of x [P, K] in the order of pairs."""
    _, N, K = w_ENK.shape
    P = _pairs(x, tokens_P)
    out_PN = x.new_empty(P, N)
    w = _described(w_ENK, shape.block, shape.step, False)
    if P:
        _sum[(len(tiles_N4) * triton.cdiv(N, shape.block),)](
            x, tokens_P, w, None, out_PN, tiles_N4, N, K, K, False, False, shape.cap, shape.block, shape.step,
            shape.stages, num_warps=shape.warps,
        )  # fmt: skip
    return out_PN


def few_dgrad(
    dy: Tensor, tokens_P: Tensor | None, w_ENK: Tensor, w2_ENK: Tensor | None, tiles_N4: Tensor,
    shape: Shape | None = None,
) -> Tensor:  # fmt: skip
    """[P, K]: wᵀ dy of rows of `dy` [·, N]; with a second weight wᵀ dg + w2ᵀ du of rows dg | du [·, 2N], in one sum."""
    _, N, K = w_ENK.shape
    two = w2_ENK is not None
    shape = shape or (DGRAD_TWO if two else DGRAD)
    P = _pairs(dy, tokens_P)
    out_PK = dy.new_empty(P, K)
    w = _described(w_ENK, shape.block, shape.step, True)
    w2 = _described(w2_ENK, shape.block, shape.step, True) if w2_ENK is not None else None
    if P:
        _sum[(len(tiles_N4) * triton.cdiv(K, shape.block),)](
            dy, tokens_P, w, w2, out_PK, tiles_N4, N, K, 2 * N if two else N, True, two, shape.cap, shape.block,
            shape.step, shape.stages, num_warps=shape.warps,
        )  # fmt: skip
    return out_PK
