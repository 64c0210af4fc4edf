"""The router in one launch: σ, bias, the k + 1 largest, shares, and Quantile Balancing's integer histogram.

A warp keeps whole rows of logits in registers. The (k + 1)-th largest of 32 groups' maxima is a bound that few values
reach: those are written side by side and the largest is taken of them k + 1 times; rows in which many reach it (equal
scores) take it of all values. Among equal ones the first expert wins. Margins are counted by integer atomics, so that
the counts are the same in any order and on any number of ranks; their bins are found in fp64, as on the PyTorch path.
T tokens, E experts, K experts a token, B bins.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["route_rows"]

TILE = 1024  # elements: a warp has whole rows, so that no maximum passes through shared memory
GROUPS, LEAST_COLUMNS = 32, 128  # whose maxima are taken: 32 groups of at least one vector of four
FEW = 64  # values that may reach the bound


@triton.jit
def _bound(left_RC, K: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """A value that at least K + 1 of each row reach: the (K + 1)-th largest of the maxima of 32 groups, or less."""
    most_RG = tl.max(tl.max(tl.reshape(left_RC, [ROWS, COLS // 128, 32, 4]), 3), 1)
    for _ in range(K):
        most_RG = tl.where(most_RG == tl.max(most_RG, 1)[:, None], float("-inf"), most_RG)
    return tl.max(most_RG, 1)


@triton.jit
def _largest(left_RC, K: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, PLACES: tl.constexpr):
    """Columns of the K largest, the first among equal ones, and the next value."""
    c_C, k_P = tl.arange(0, COLS), tl.arange(0, PLACES)
    column_RP = tl.zeros([ROWS, PLACES], tl.int32)
    for k in range(K):
        _, at_R = tl.max(left_RC, 1, return_indices=True, return_indices_tie_break_left=True)
        left_RC = tl.where(c_C[None, :] == at_R[:, None], float("-inf"), left_RC)
        column_RP = tl.where((k_P == k)[None, :], at_R[:, None], column_RP)
    return column_RP, tl.max(left_RC, 1)


@triton.jit(do_not_specialize=["T"])
def _route(
    logits, bias, bounds, real, indices, probs, chosen, cutoff, counts, reached, expert, T, E: tl.constexpr,
    K: tl.constexpr, B: tl.constexpr, COUNT: tl.constexpr, MASKED: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
    PLACES: tl.constexpr, FEW: tl.constexpr,
):  # fmt: skip
    r_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    e_C, k_P = tl.arange(0, COLS), tl.arange(0, PLACES)
    row_R, ok_RC = r_R < T, (r_R < T)[:, None] & (e_C < E)[None, :]
    score_RC = tl.sigmoid(tl.load(logits + r_R[:, None] * E + e_C[None, :], mask=ok_RC, other=0.0).to(tl.float32))
    bias_C = tl.load(bias + e_C, mask=e_C < E, other=0.0).to(tl.float32)
    left_RC = tl.where((e_C < E)[None, :], score_RC + bias_C[None, :], float("-inf"))
    counted_R = row_R
    if MASKED:
        counted_R = row_R & (tl.load(real + r_R, mask=row_R, other=0) != 0)
    if FEW > 0:
        reach_RC = left_RC >= _bound(left_RC, K, ROWS, COLS)[:, None]
        place_RC = tl.cumsum(reach_RC.to(tl.int32), 1) - 1
        count_R = tl.max(place_RC, 1) + 1
        if tl.max(count_R, 0) <= FEW:
            s_S = tl.arange(0, FEW)
            to_RC = r_R[:, None] * FEW + place_RC
            tl.store(reached + to_RC, left_RC, mask=ok_RC & reach_RC)
            tl.store(expert + to_RC, tl.zeros([ROWS, COLS], tl.int32) + e_C[None, :], mask=ok_RC & reach_RC)
            tl.debug_barrier()
            filled_RS = row_R[:, None] & (s_S[None, :] < count_R[:, None])
            from_RS = r_R[:, None] * FEW + s_S[None, :]
            left_RS = tl.load(reached + from_RS, mask=filled_RS, other=float("-inf"))
            column_RP, cutoff_R = _largest(left_RS, K, ROWS, FEW, PLACES)
            kept_RP = row_R[:, None] & (k_P < K)[None, :]
            index_RP = tl.load(expert + r_R[:, None] * FEW + column_RP, mask=kept_RP, other=0)
        else:
            index_RP, cutoff_R = _largest(left_RC, K, ROWS, COLS, PLACES)
    else:
        index_RP, cutoff_R = _largest(left_RC, K, ROWS, COLS, PLACES)
    to_RP, kept_RP = r_R[:, None] * K + k_P[None, :], row_R[:, None] & (k_P < K)[None, :]
    taken_RP = tl.load(logits + r_R[:, None] * E + index_RP, mask=kept_RP, other=0.0).to(tl.float32)
    chosen_RP = tl.where(kept_RP, tl.sigmoid(taken_RP), 0.0)
    share_RP = chosen_RP / tl.where(row_R, tl.sum(chosen_RP, 1), 1.0)[:, None]
    tl.store(indices + to_RP, index_RP.to(tl.int64), mask=kept_RP)
    tl.store(chosen + to_RP, chosen_RP, mask=kept_RP)
    tl.store(probs + to_RP, share_RP, mask=kept_RP)
    tl.store(cutoff + r_R, cutoff_R, mask=row_R)
    if COUNT:
        load_RP = counts + index_RP.to(tl.int64) * (1 + B)
        tl.atomic_add(load_RP, 1, mask=counted_R[:, None] & kept_RP, sem="relaxed")
    if COUNT and B > 0:
        low, width = tl.load(bounds), tl.load(bounds + 1)
        margin_RC = (cutoff_R.to(tl.float64)[:, None] - score_RC.to(tl.float64) - low) / width
        bin_RC = tl.minimum(tl.maximum(margin_RC, 0.0), B - 1.0).to(tl.int32)
        to_RC = counts + e_C[None, :].to(tl.int64) * (1 + B) + 1 + bin_RC
        tl.atomic_add(to_RC, 1, mask=counted_R[:, None] & (e_C < E)[None, :], sem="relaxed")


def route_rows(
    logits_TE: Tensor, bias_E: Tensor, k: int, bounds_2: Tensor | None, bins: int, real_T: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Return (indices [T, K], shares, chosen scores, cutoff [T], counts [E, 1 + B] in int32).

    `bounds_2` are the fp64 lower end and width of the bins; None: nothing is counted. `real_T` marks counted tokens.
    """
    T, E = logits_TE.shape
    indices_TK = torch.empty(T, k, dtype=torch.int64, device=logits_TE.device)
    probs_TK, chosen_TK = (torch.empty(T, k, dtype=torch.float32, device=logits_TE.device) for _ in range(2))
    cutoff_T = torch.empty(T, dtype=torch.float32, device=logits_TE.device)
    counts_EX = None
    if bounds_2 is not None:
        counts_EX = torch.zeros(E, 1 + bins, dtype=torch.int32, device=logits_TE.device)
    columns = triton.next_power_of_2(E)
    rows = max(1, TILE // columns)
    few = FEW if columns >= LEAST_COLUMNS and k < GROUPS else 0
    if T:
        real = None if real_T is None else real_T.to(torch.uint8)
        reached_TS = logits_TE.new_empty(T, few, dtype=torch.float32)
        expert_TS = logits_TE.new_empty(T, few, dtype=torch.int32)
        operands = logits_TE.contiguous(), bias_E, bounds_2, real, indices_TK, probs_TK, chosen_TK, cutoff_T, counts_EX
        _route[(triton.cdiv(T, rows),)](
            *operands, reached_TS, expert_TS, T, E, k, bins, counts_EX is not None, real is not None, rows, columns,
            triton.next_power_of_2(k), few, num_warps=max(1, columns // TILE),
        )  # fmt: skip
    return indices_TK, probs_TK, chosen_TK, cutoff_T, counts_EX
