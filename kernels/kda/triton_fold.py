"""The fold over a document's segments in Triton: what enters each of them (or, backwards, the gradient leaving it).

One launch for all cut documents; a program carries some columns of a head's state in fp32. Products take three TF32
parts: a chain of transitions must not round to bf16.
G cut documents, S segments, H heads, K key width, V value width, B columns a program.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["fold_groups"]

COLUMNS = 16


@triton.jit
def _fold(
    states, transitions, groups, first, out, H, K: tl.constexpr, V: tl.constexpr, B: tl.constexpr,
    REVERSE: tl.constexpr, HAS_FIRST: tl.constexpr,
):  # fmt: skip
    h = tl.program_id(1)
    group = groups + 3 * tl.program_id(2)
    document, start, stop = tl.load(group), tl.load(group + 1), tl.load(group + 2)
    c_K, c_B = tl.arange(0, K), tl.program_id(0) * B + tl.arange(0, B)
    at_KB = c_K[:, None] * V + c_B[None, :]
    if REVERSE:  # M as [column, row] is its transpose
        at_KK = c_K[None, :] * K + c_K[:, None]
    else:
        at_KK = c_K[:, None] * K + c_K[None, :]
    S_KB = tl.zeros([K, B], tl.float32)
    if HAS_FIRST:
        S_KB += tl.load(first + (document.to(tl.int64) * H + h) * K * V + at_KB).to(tl.float32)
    for i in range(start, stop):
        s = i
        if REVERSE:
            s = start + stop - 1 - i
        place = s.to(tl.int64) * H + h
        tl.store(out + place * K * V + at_KB, S_KB)
        M_KK = tl.load(transitions + place * K * K + at_KK)
        S_KB = tl.dot(M_KK, S_KB, input_precision="tf32x3") + tl.load(states + place * K * V + at_KB)


def fold_groups(
    states_SHKV: Tensor, transitions_SHKK: Tensor, groups_G3: Tensor, first: Tensor | None, *, reverse: bool = False
) -> Tensor:
    """[S, H, K, V] fp32: the state entering each segment from `first` [D, H, K, V] of its document, or from zero.

    `reverse`: `states` are gradients that enter segments, `first` those that leave documents; out come those that leave
    each segment.
    """
    _, H, K, V = states_SHKV.shape
    out = torch.empty_like(states_SHKV)
    _fold[(V // COLUMNS, H, len(groups_G3))](
        states_SHKV, transitions_SHKK, groups_G3, first, out, H, K=K, V=V, B=COLUMNS, REVERSE=reverse,
        HAS_FIRST=first is not None, num_warps=8,
    )  # fmt: skip
    return out
