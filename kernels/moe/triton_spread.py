"""One value for each chosen expert, spread over all experts' columns: a write by index that is always deterministic.

T tokens, E experts, K experts a token.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["spread"]

TILE = 4096  # elements: 32 a thread


@triton.jit(do_not_specialize=["T"])
def _spread(indices, values, out, T, E: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r_R, c_E = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLS)
    row_RE = tl.zeros([ROWS, COLS], tl.float32)
    for k in range(K):
        index_R = tl.load(indices + r_R * K + k, mask=r_R < T, other=-1)
        value_R = tl.load(values + r_R * K + k, mask=r_R < T, other=0.0)
        row_RE = tl.where(c_E[None, :] == index_R[:, None], value_R[:, None], row_RE)
    tl.store(out + r_R[:, None] * E + c_E[None, :], row_RE, mask=(r_R < T)[:, None] & (c_E < E)[None, :])


def spread(indices_TK: Tensor, values_TK: Tensor, experts: int) -> Tensor:
    """Zeros [T, E] with `values` (fp32) in the columns `indices`, which differ within a row."""
    T, K = indices_TK.shape
    out_TE = values_TK.new_empty(T, experts, dtype=torch.float32)
    columns = triton.next_power_of_2(experts)
    rows = max(1, TILE // columns)
    if T:
        operands = indices_TK.contiguous(), values_TK.contiguous(), out_TE
        _spread[(triton.cdiv(T, rows),)](*operands, T, experts, K, rows, columns)
    return out_TE
