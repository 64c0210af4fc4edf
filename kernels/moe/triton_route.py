"""The router in one launch: σ, bias, the k + 1 largest, shares, and Quantile Balancing's integer histogram.

A warp keeps whole rows of logits in registers and takes the largest value k + 1 times; among equal ones the first
expert wins. Margins are counted by integer atomics, so that the counts are the same in any order and on any number of
ranks; their bins are found in fp64, as on the PyTorch path.
T tokens, E experts, K experts a token, B bins.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["route_rows"]

TILE = 1024  # elements: a warp has whole rows, so that no maximum passes through shared memory


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
    logits, bias, bounds, real, indices, probs, chosen, cutoff, counts, T, E: tl.constexpr, K: tl.constexpr,
    B: tl.constexpr, COUNT: tl.constexpr, MASKED: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
    PLACES: tl.constexpr,
):  # fmt: skip
    r_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    e_C, k_P = tl.arange(0, COLS), tl.arange(0, PLACES)
    row_R, ok_RC = r_R < T, (r_R < T)[:, None] & (e_C < E)[None, :]
    score_RC = tl.sigmoid(tl.load(logits + r_R[:, None] * E + e_C[None, :], mask=ok_RC, other=0.0).to(tl.float32))
    bias_C = tl.load(bias + e_C, mask=e_C < E, other=0.0).to(tl.float32)
    left_RC = score_RC + bias_C[None, :]
    left_RC = tl.where(left_RC == left_RC, left_RC, float("inf"))  # NaN comes first, as in PyTorch, and can be compared
    left_RC = tl.where((e_C < E)[None, :], left_RC, float("-inf"))
    counted_R = row_R
    if MASKED:
        counted_R = row_R & (tl.load(real + r_R, mask=row_R, other=0) != 0)
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
        known_RC = tl.where(score_RC == score_RC, score_RC, 0.0)
        margin_RC = (cutoff_R.to(tl.float64)[:, None] - known_RC.to(tl.float64) - low) / width
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
    if T:
        real = None if real_T is None else real_T.to(torch.uint8)
        operands = logits_TE.contiguous(), bias_E, bounds_2, real, indices_TK, probs_TK, chosen_TK, cutoff_T, counts_EX
        _route[(triton.cdiv(T, rows),)](
            *operands, T, E, k, bins, counts_EX is not None, real is not None, rows, columns,
            triton.next_power_of_2(k), num_warps=max(1, columns // TILE),
        )  # fmt: skip
    return indices_TK, probs_TK, chosen_TK, cutoff_T, counts_EX
