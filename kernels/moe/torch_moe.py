"""The grouped experts with their gradients, on any device and in any dtype.

Tokens are sorted by expert (stable, so every sum has one order), each expert is two matrix products on its slice, and
the mixture adds a token's K results in order. Expert outputs are not kept: a probability's gradient is ⟨a, w2ᵀ du⟩.
Odd: each expert's slice is filled up to whole tiles of 8 rows, with token 0 at probability 0. BLAS treats the rows of a
broken tile by another kernel, so without it a token's result would change with the number of later tokens.
T tokens, E experts, K experts a token, L latent width, F expert hidden width, P = T·K pairs, R rows sorted by expert.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.moe.torch_glu import CONSTANT, Activation, glu, glu_backward, product
from trivium.kernels.packed import accumulation_dtype

__all__ = ["Experts"]

TILE = 8  # rows; whole tiles give bit-equal rows at any slice length on AVX2 and AVX-512


def _group(indices_TK: Tensor, experts: int) -> tuple[Tensor, Tensor, list[int]]:
    """Return (the token of each row [R], the row of each token's k-th expert [P], rows of each expert)."""
    flat_P = indices_TK.reshape(-1)
    order_P = flat_P.argsort(stable=True)
    count_E = torch.bincount(flat_P, minlength=experts)
    rows_E = (count_E + TILE - 1) // TILE * TILE
    shift_E = (rows_E - count_E).cumsum(0) - (rows_E - count_E)
    row_P = torch.arange(flat_P.shape[0], device=flat_P.device) + shift_E[flat_P[order_P]]
    place_P = torch.empty_like(order_P)
    place_P[order_P] = row_P
    rows = rows_E.tolist()
    token_R = order_P.new_zeros(sum(rows))
    token_P = torch.arange(indices_TK.shape[0], device=flat_P.device).repeat_interleave(indices_TK.shape[1])
    token_R[row_P] = token_P[order_P]
    return token_R, place_P, rows


def _spread(probs_TK: Tensor, place_P: Tensor, rows: int) -> Tensor:
    """The probability of each row [R, 1]; 0 where a row only fills a tile."""
    return probs_TK.new_zeros(rows, 1).index_copy_(0, place_P, probs_TK.reshape(-1, 1))


class Experts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
        activation: Activation,
    ) -> Tensor:  # fmt: skip
        T, K = indices_TK.shape
        E, F, L = w1_EFL.shape
        token_R, place_P, counts = _group(indices_TK, E)
        R = token_R.shape[0]
        z_RL = z_TL.index_select(0, token_R)
        w13_E2FL = torch.cat([w1_EFL, w3_EFL], 1).to(z_TL.dtype)
        hidden_R2F = z_TL.new_empty(R, 2 * F)
        for e, (z, hidden) in enumerate(zip(z_RL.split(counts), hidden_R2F.split(counts), strict=True)):
            torch.mm(z, w13_E2FL[e].T, out=hidden)
        dtype = accumulation_dtype(z_TL)
        p_R1 = _spread(probs_TK, place_P, R).to(dtype).mul_(CONSTANT[activation])
        a_RF, parts = glu(hidden_R2F[:, :F].to(dtype), hidden_R2F[:, F:].to(dtype), activation)
        a_RF = a_RF.mul_(p_R1).to(z_TL.dtype)
        y_RL = z_TL.new_empty(R, L)
        for e, (a, y) in enumerate(zip(a_RF.split(counts), y_RL.split(counts), strict=True)):
            torch.mm(a, w2_ELF[e].to(z_TL.dtype).T, out=y)
        ctx.save_for_backward(z_TL, probs_TK, w13_E2FL, w2_ELF, token_R, place_P, *parts)
        ctx.counts, ctx.dtypes, ctx.activation = counts, (w1_EFL.dtype, w3_EFL.dtype), activation
        return y_RL.index_select(0, place_P).view(T, K, L).to(dtype).sum(1).to(z_TL.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, du_TL: Tensor) -> tuple[Tensor | None, ...]:
        z_TL, probs_TK, w13_E2FL, w2_ELF, token_R, place_P, *parts = ctx.saved_tensors
        counts, activation, F = ctx.counts, ctx.activation, w2_ELF.shape[2]
        needs_z, _, _, needs_w1, needs_w3, needs_w2 = ctx.needs_input_grad[:6]
        (T, K), L = probs_TK.shape, z_TL.shape[1]
        dtype, row_dtype = accumulation_dtype(z_TL), z_TL.dtype
        du_RL = du_TL.index_select(0, token_R)
        dap_RF = du_RL.new_empty(du_RL.shape[0], F)
        for e, (du, dap) in enumerate(zip(du_RL.split(counts), dap_RF.split(counts), strict=True)):
            torch.mm(du, w2_ELF[e].to(row_dtype), out=dap)
        a_RF = product(parts)
        p_R1 = _spread(probs_TK, place_P, token_R.shape[0]).to(dtype).mul_(CONSTANT[activation])
        dp_R = (a_RF * dap_RF).sum(-1).mul_(CONSTANT[activation])
        dhidden_R2F = a_RF.new_empty(len(a_RF), 2 * F)
        glu_backward(dap_RF * p_R1, parts, activation, dhidden_R2F[:, :F], dhidden_R2F[:, F:])
        dhidden_R2F = dhidden_R2F.to(row_dtype)
        ap_RF = a_RF.mul_(p_R1).to(row_dtype)
        z_RL = z_TL.index_select(0, token_R)
        dz_RL, dw13_E2FL = torch.empty_like(z_RL), torch.zeros_like(w13_E2FL)
        dw2_ELF = torch.zeros_like(w2_ELF, dtype=row_dtype)
        slices = zip(*(x.split(counts) for x in (du_RL, ap_RF, dhidden_R2F, z_RL, dz_RL)), strict=True)
        for e, (du, ap, dhidden, z, dz) in enumerate(slices):
            if needs_z:
                torch.mm(dhidden, w13_E2FL[e], out=dz)
            if needs_w1 or needs_w3:
                torch.mm(dhidden.T, z, out=dw13_E2FL[e])
            if needs_w2:
                torch.mm(du.T, ap, out=dw2_ELF[e])
        dz_TL = dz_RL.index_select(0, place_P).view(T, K, L).to(dtype).sum(1).to(row_dtype) if needs_z else None
        dprobs_TK = dp_R.index_select(0, place_P).view(T, K).to(probs_TK.dtype)
        dw1_EFL, dw3_EFL = dw13_E2FL[:, :F].to(ctx.dtypes[0]), dw13_E2FL[:, F:].to(ctx.dtypes[1])
        return dz_TL, None, dprobs_TK, dw1_EFL, dw3_EFL, dw2_ELF.to(w2_ELF.dtype), None
