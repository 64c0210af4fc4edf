"""The experts by grouped products, for bf16 on a GPU: no host sync, launches that don't grow with E.

Pairs are sorted by expert once; torch's grouped product reads each expert's rows between two offsets, in fp32
accumulation. The mixture gathers a token's K results by the inverse order and adds them in order: no atomics. Kept for
the backward: the rows before dispatch and the hidden rows before the activation; everything else is made again.
Odd: w1 and w3 stay apart in every product. Joined, the rows' gradient would be one product instead of two sums, but
joining copies all weights twice a step: 31 of the 87 ms of a layer of 896 experts.
T tokens, E experts, K experts a token, L latent width, F expert hidden width, P = T·K pairs, sorted by expert.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.moe import torch_glu, torch_rows
from trivium.kernels.moe.torch_glu import Activation

__all__ = ["ALIGNMENT", "GroupedExperts"]

ALIGNMENT = 8  # numbers: torch's grouped product wants rows that begin at multiples of 16 bytes


class Order(NamedTuple):
    """Where the pairs [T, K] stand when they are sorted by expert."""

    pair_P: Tensor  # the pair in each place
    place_P: Tensor  # the place of each pair
    ends_E: Tensor  # the place behind each expert's last pair, int32


def sort_pairs(indices_TK: Tensor, experts: int) -> Order:
    """Stable; the inverse is another sort, since writing by index is slow where it must be deterministic."""
    expert_P, pair_P = indices_TK.flatten().to(torch.int32).sort(stable=True)
    every_E = torch.arange(experts, dtype=torch.int32, device=indices_TK.device)
    ends_E = torch.searchsorted(expert_P, every_E, right=True, out_int32=True)
    return Order(pair_P, pair_P.to(torch.int32).argsort(), ends_E)


def _paths(fused: bool) -> tuple[Any, Any]:
    """The modules with the passes over hidden rows and with those between the two orders; fused ones need triton."""
    if not fused:
        return torch_glu, torch_rows
    from trivium.kernels.moe import triton_glu, triton_rows

    return triton_glu, triton_rows


def _product(rows_PX: Tensor, w_EXY: Tensor, ends_E: Tensor) -> Tensor:
    """Each expert's rows times its matrix, [P, Y]; masters in fp32 are cast here."""
    return torch._grouped_mm(rows_PX, w_EXY.to(rows_PX.dtype), offs=ends_E)


class GroupedExperts(torch.autograd.Function):
    """`fused` takes the activation's Triton kernels. `torch._grouped_mm` is torch 2.11's name and still 2.13's."""

    @staticmethod
    def forward(
        ctx: Any, z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
        activation: Activation, fused: bool,
    ) -> Tensor:  # fmt: skip
        K, order = indices_TK.shape[1], sort_pairs(indices_TK, w1_EFL.shape[0])
        units, rows = _paths(fused)
        z_PL = rows.take_rows(z_TL, order.place_P, K)
        g_PF = _product(z_PL, w1_EFL.mT, order.ends_E)
        u_PF = _product(z_PL, w3_EFL.mT, order.ends_E)
        del z_PL
        p_P = probs_TK.flatten().index_select(0, order.pair_P).float()
        y_PL = _product(units.weighted_glu(g_PF, u_PF, p_P, activation), w2_ELF.mT, order.ends_E)
        ctx.save_for_backward(z_TL, p_P, w1_EFL, w3_EFL, w2_ELF, g_PF, u_PF, order.place_P, order.ends_E)
        ctx.K, ctx.probs_dtype, ctx.activation, ctx.fused = K, probs_TK.dtype, activation, fused
        return rows.mix_rows([y_PL], order.place_P, K)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout_TL: Tensor) -> tuple[Tensor | None, ...]:
        z_TL, p_P, w1_EFL, w3_EFL, w2_ELF, g_PF, u_PF, place_P, ends_E = ctx.saved_tensors
        K, (units, rows) = ctx.K, _paths(ctx.fused)
        needs_z, _, _, *needs_w = ctx.needs_input_grad[:6]
        dout_PL = rows.take_rows(dout_TL.to(z_TL.dtype), place_P, K)
        da_PF = _product(dout_PL, w2_ELF, ends_E)
        dg_PF, du_PF, a_PF, dp_P = units.weighted_glu_backward(g_PF, u_PF, p_P, da_PF, ctx.activation)
        del da_PF
        dw2_ELF = torch._grouped_mm(dout_PL.T, a_PF, offs=ends_E) if needs_w[2] else None
        del dout_PL, a_PF  # what is gathered is as large as all the rest: one at a time
        dz_TL = dw1_EFL = dw3_EFL = None
        if needs_z:
            dz_TL = rows.mix_rows([_product(dg_PF, w1_EFL, ends_E), _product(du_PF, w3_EFL, ends_E)], place_P, K)
        if needs_w[0] or needs_w[1]:
            z_PL = rows.take_rows(z_TL, place_P, K)
            dw1_EFL, dw3_EFL = (
                torch._grouped_mm(d_PF.T, z_PL, offs=ends_E) if needed else None
                for d_PF, needed in zip((dg_PF, du_PF), needs_w[:2], strict=True)
            )
            del z_PL
        dprobs_TK = dp_P.index_select(0, place_P).unflatten(0, (-1, K)).to(ctx.probs_dtype)
        dws = []
        for dw, w in ((dw1_EFL, w1_EFL), (dw3_EFL, w3_EFL), (dw2_ELF, w2_ELF)):
            if dw is not None:
                rows.clear_idle(dw, ends_E)
                dw = dw.to(w.dtype)
            dws.append(dw)
        return dz_TL, None, dprobs_TK, *dws, None, None
