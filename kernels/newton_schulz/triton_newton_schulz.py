"""Which kernels a batch of blocks takes, within how much memory: small blocks by their Gram matrix, others plain.

What a block becomes does not depend on the blocks beside it: no tile and no order of a sum knows how many there are.

B blocks, M ≤ N rows and columns of a block.
"""

import torch
from torch import Tensor

from trivium.kernels.newton_schulz.triton_gram import MOST_ROWS, by_gram
from trivium.kernels.newton_schulz.triton_plain import plain, workspace_numbers

__all__ = ["WORKSPACE", "by_kernels"]

WORKSPACE = 1 << 28  # entries of 2 bytes beside input and result, 512 MiB, or what one block needs


def by_kernels(x_BMN: Tensor, steps: int, half: bool = True) -> Tensor:
    """bf16 operands and fp32 sums, in x's type; `half` False is for the interpreter, which has no product of bf16.

    Beside input and result: for blocks of more than 128 rows at most 512 MiB, or what one block needs; for smaller
    ones, of ROWS rows at the next power of two, ROWS² · (4 · ⌈N / 1024⌉ + 4) bytes a block (7168 columns of 128 rows:
    512 KiB, a seventh of the block) and at most 33 MiB for the chain.
    """
    out_BMN = torch.empty(x_BMN.shape, dtype=x_BMN.dtype, device=x_BMN.device)
    if not x_BMN.numel():
        return out_BMN
    if x_BMN.shape[1] <= MOST_ROWS:
        by_gram(x_BMN.contiguous(), out_BMN, steps, half)
        return out_BMN
    room = max(1, WORKSPACE // workspace_numbers(*x_BMN.shape[1:]))
    room -= room % 8 if room > 8 else 0  # so that each run begins at 16 bytes, whatever a block's size
    for run_BMN, result_BMN in zip(x_BMN.split(room), out_BMN.split(room), strict=True):
        plain(run_BMN, result_BMN, steps, torch.bfloat16 if half else torch.float32)
    return out_BMN
