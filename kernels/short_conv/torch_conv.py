"""The short convolution as shifted sums, with its gradients.

Rows that a shift would carry over a document's border are zeroed before it, one more row a document for each tap, so
neither direction scatters or adds by index.
D documents, T tokens in the row, C channels.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.packed import accumulation_dtype
from trivium.kernels.short_conv.plan import TapPlan
from trivium.kernels.short_conv.reference import WIDTH

__all__ = ["ShortConv", "final_tails"]


def _tail_rows(borders: Sequence[int], tap: int) -> tuple[list[int], list[int]]:
    """Rows of the row, and of the tails seen as [3 D, C], that meet at distance `tap`."""
    rows, tails = [], []
    for document in range(len(borders) - 1):
        for place in range(min(tap, borders[document + 1] - borders[document])):
            rows.append(borders[document] + place)
            tails.append(document * (WIDTH - 1) + WIDTH - 1 - tap + place)
    return rows, tails


def _convolve(x_TC: Tensor, weight_C4: Tensor, plan: TapPlan, tails: Tensor | None) -> Tensor:
    pre_TC = x_TC * weight_C4[:, WIDTH - 1]
    inside_TC = x_TC.clone()
    for tap in range(1, WIDTH):
        weight_C = weight_C4[:, WIDTH - 1 - tap]
        inside_TC.index_fill_(0, plan.lasts[tap - 1], 0)
        pre_TC[tap:].addcmul_(inside_TC[:-tap], weight_C)
        if tails is not None:
            rows, places = _tail_rows(plan.borders, tap)
            pre_TC[rows] = pre_TC[rows].addcmul_(tails[places], weight_C)  # rounds like the rows inside
    return pre_TC


class ShortConv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, weight_C4: Tensor, initial_tail: Tensor | None, plan: TapPlan) -> Tensor:
        dtype = accumulation_dtype(x_TC, weight_C4)
        tails = None if initial_tail is None else initial_tail.to(dtype).reshape(-1, x_TC.shape[1])
        pre_TC = _convolve(x_TC.to(dtype), weight_C4.to(dtype), plan, tails)
        ctx.save_for_backward(x_TC, weight_C4, initial_tail, pre_TC)
        ctx.plan = plan
        return (pre_TC * pre_TC.sigmoid()).to(x_TC.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_TC: Tensor) -> tuple[Tensor | None, ...]:
        x_TC, weight_C4, initial_tail, pre_TC = ctx.saved_tensors
        dtype, plan = pre_TC.dtype, ctx.plan
        x, weight = x_TC.to(dtype), weight_C4.to(dtype)
        dpre_TC = torch.ops.aten.silu_backward(dy_TC.to(dtype), pre_TC)
        dweight_C4 = torch.empty_like(weight)
        dweight_C4[:, WIDTH - 1] = (dpre_TC * x).sum(0)
        dx_TC = dpre_TC * weight[:, WIDTH - 1]
        tails = dtails = None
        if initial_tail is not None:
            tails = initial_tail.to(dtype).reshape(-1, x.shape[1])
            dtails = torch.zeros_like(tails)
        reach = [_tail_rows(plan.borders, tap) for tap in range(WIDTH)] if tails is not None else []
        from_tails = [dpre_TC[rows] for rows, _ in reach]
        for tap in range(1, WIDTH):
            weight_C = weight[:, WIDTH - 1 - tap]
            dpre_TC.index_fill_(0, plan.firsts[tap - 1], 0)
            dx_TC[:-tap].addcmul_(dpre_TC[tap:], weight_C)
            dweight_C = (dpre_TC[tap:] * x[:-tap]).sum(0)
            if tails is not None and dtails is not None:
                places = reach[tap][1]
                dweight_C += (from_tails[tap] * tails[places]).sum(0)
                dtails[places] += from_tails[tap] * weight_C
            dweight_C4[:, WIDTH - 1 - tap] = dweight_C
        dtail = None if dtails is None else dtails.view_as(initial_tail).to(initial_tail.dtype)
        return dx_TC.to(x_TC.dtype), dweight_C4.to(weight_C4.dtype), dtail, None


def final_tails(x_TC: Tensor, borders: Sequence[int], initial_tail: Tensor | None) -> Tensor:
    """The last 3 inputs of each document [D, 3, C], reaching into its initial tail (or 0) when it is shorter."""
    (T, C), documents = x_TC.shape, len(borders) - 1
    before = x_TC.new_zeros(documents, WIDTH - 1, C) if initial_tail is None else initial_tail.to(x_TC.dtype)
    places = []
    for document in range(documents):
        start, stop = borders[document], borders[document + 1]
        for row in range(stop - (WIDTH - 1), stop):
            places.append(row if row >= start else T + document * (WIDTH - 1) + WIDTH - 1 + row - start)
    joined = torch.cat([x_TC, before.reshape(-1, C)])
    return joined[torch.tensor(places, dtype=torch.long, device=x_TC.device)].view(documents, WIDTH - 1, C)
