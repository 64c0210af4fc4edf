"""The experts by grouped products, for half precision on a GPU: no host sync, launches that don't grow with E.

Pairs are sorted by expert once; torch's grouped product reads each expert's rows between two offsets, in fp32
accumulation. The mixture gathers a token's K results by the inverse order and adds them in order: no atomics. Kept for
the backward: the rows before dispatch and the hidden rows before the activation; everything else is made again.
T tokens, E experts, K experts a token, L latent width, F expert hidden width, P = T·K pairs, sorted by expert.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.moe import torch_glu
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


def _joined(w1_EFL: Tensor, w3_EFL: Tensor, dtype: torch.dtype) -> Tensor:
    """[w1; w3] of each expert in one tensor, cast in the same pass."""
    E, F, L = w1_EFL.shape
    w13_E2FL = w1_EFL.new_empty(E, 2 * F, L, dtype=dtype)
    w13_E2FL[:, :F].copy_(w1_EFL)
    w13_E2FL[:, F:].copy_(w3_EFL)
    return w13_E2FL


def _mix(y_PL: Tensor, place_P: Tensor, K: int) -> Tensor:
    """Σ over a token's K rows, in fp32: [T, L]."""
    y_TKL = y_PL.index_select(0, place_P).unflatten(0, (-1, K))
    return y_TKL.sum(1, dtype=torch.float32).to(y_PL.dtype)


def _glu_path(fused: bool) -> Any:
    """The module with the two passes over the hidden rows; the fused one needs triton."""
    if not fused:
        return torch_glu
    from trivium.kernels.moe import triton_glu

    return triton_glu


class GroupedExperts(torch.autograd.Function):
    """`fused` takes the activation's Triton kernels. `torch._grouped_mm` is torch 2.11's name and still 2.13's."""

    @staticmethod
    def forward(
        ctx: Any, z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
        activation: Activation, fused: bool,
    ) -> Tensor:  # fmt: skip
        K, order = indices_TK.shape[1], sort_pairs(indices_TK, w1_EFL.shape[0])
        z_PL = z_TL.index_select(0, order.pair_P // K)
        w13_E2FL = _joined(w1_EFL, w3_EFL, z_TL.dtype)
        hidden_P2F = torch._grouped_mm(z_PL, w13_E2FL.transpose(1, 2), offs=order.ends_E)
        p_P = probs_TK.flatten().index_select(0, order.pair_P).float()
        a_PF = _glu_path(fused).weighted_glu(hidden_P2F, p_P, activation)
        y_PL = torch._grouped_mm(a_PF, w2_ELF.to(z_TL.dtype).transpose(1, 2), offs=order.ends_E)
        ctx.save_for_backward(z_TL, p_P, w1_EFL, w3_EFL, w2_ELF, hidden_P2F, *order)
        ctx.K, ctx.probs_dtype, ctx.activation, ctx.fused = K, probs_TK.dtype, activation, fused
        return _mix(y_PL, order.place_P, K)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, du_TL: Tensor) -> tuple[Tensor | None, ...]:
        z_TL, p_P, w1_EFL, w3_EFL, w2_ELF, hidden_P2F, *order = ctx.saved_tensors
        K, dtype, F = ctx.K, z_TL.dtype, w1_EFL.shape[1]
        pair_P, place_P, ends_E = order
        token_P = pair_P // K
        du_PL, z_PL = du_TL.to(dtype).index_select(0, token_P), z_TL.index_select(0, token_P)
        da_PF = torch._grouped_mm(du_PL, w2_ELF.to(dtype), offs=ends_E)
        path = _glu_path(ctx.fused)
        dhidden_P2F, a_PF, dp_P = path.weighted_glu_backward(hidden_P2F, p_P, da_PF, ctx.activation)
        dz_PL = torch._grouped_mm(dhidden_P2F, _joined(w1_EFL, w3_EFL, dtype), offs=ends_E)
        dw13_E2FL = torch._grouped_mm(dhidden_P2F.T, z_PL, offs=ends_E)
        dw2_ELF = torch._grouped_mm(du_PL.T, a_PF, offs=ends_E)
        # Not every architecture's grouped product writes zeros where an expert has no rows.
        idle_E11 = (ends_E == torch.cat([ends_E.new_zeros(1), ends_E[:-1]]))[:, None, None]
        dw13_E2FL.masked_fill_(idle_E11, 0)
        dw2_ELF.masked_fill_(idle_E11, 0)
        return (
            _mix(dz_PL, place_P, K),
            None,
            dp_P.index_select(0, place_P).unflatten(0, (-1, K)).to(ctx.probs_dtype),
            dw13_E2FL[:, :F].to(w1_EFL.dtype),
            dw13_E2FL[:, F:].to(w3_EFL.dtype),
            dw2_ELF.to(w2_ELF.dtype),
            None,
            None,
        )
