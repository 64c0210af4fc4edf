"""SiTU-GLU, router and grouped experts with their gradients.

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

from trivium.kernels.moe.reference import BETA_GATE, BETA_UP
from trivium.kernels.packed import accumulation_dtype

__all__ = ["Experts", "Route", "SiTUGLU"]

TILE = 8  # rows; whole tiles give bit-equal rows at any slice length on AVX2 and AVX-512


def _situ(g: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (value / (β1 β2), tanh(g/β1), tanh(u/β2), σ(g)); the constant goes into a factor that a caller has."""
    tanh_g, tanh_u, sigmoid = torch.tanh(g / BETA_GATE), torch.tanh(u / BETA_UP), torch.sigmoid(g)
    return (tanh_g * sigmoid).mul_(tanh_u), tanh_g, tanh_u, sigmoid


def _situ_backward(
    dy: Tensor, tanh_g: Tensor, tanh_u: Tensor, sigmoid: Tensor, dg: Tensor, du: Tensor
) -> None:  # fmt: skip
    """Fill dg and du; `dy` carries the factor β1 β2.

    ∂f/∂g = β2 t_u σ ((1 − t_g²) + β1 t_g (1 − σ)), ∂f/∂u = β1 t_g σ (1 − t_u²).
    """
    slope = torch.addcmul(dy.new_tensor(1 / BETA_GATE), tanh_g, tanh_g, value=-1 / BETA_GATE)
    slope.addcmul_(tanh_g, 1 - sigmoid)
    common = dy * sigmoid
    torch.mul(slope.mul_(common), tanh_u, out=dg)
    slope = torch.addcmul(dy.new_tensor(1 / BETA_UP), tanh_u, tanh_u, value=-1 / BETA_UP)
    torch.mul(slope.mul_(common), tanh_g, out=du)


class SiTUGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, g: Tensor, u: Tensor) -> Tensor:
        dtype = accumulation_dtype(g, u)
        value, *parts = _situ(g.to(dtype), u.to(dtype))
        ctx.save_for_backward(*parts)  # half again as much as g and u, but tanh is most of the work
        ctx.dtypes = g.dtype, u.dtype
        return value.mul_(BETA_GATE * BETA_UP).to(g.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        tanh_g, tanh_u, sigmoid = ctx.saved_tensors
        dg, du = torch.empty_like(tanh_g), torch.empty_like(tanh_u)
        _situ_backward(dy.to(sigmoid.dtype) * (BETA_GATE * BETA_UP), tanh_g, tanh_u, sigmoid, dg, du)
        return dg.to(ctx.dtypes[0]), du.to(ctx.dtypes[1])


class Route(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits_TE: Tensor, bias_E: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        scores_TE = torch.sigmoid(logits_TE.to(accumulation_dtype(logits_TE)))
        values_TK1, indices_TK1 = (scores_TE + bias_E.to(scores_TE.dtype)).topk(k + 1, dim=-1)
        indices_TK, cutoff_T = indices_TK1[:, :k].contiguous(), values_TK1[:, k].contiguous()
        chosen_TK = scores_TE.gather(1, indices_TK)
        total_T1 = chosen_TK.sum(-1, keepdim=True)
        probs_TK = chosen_TK / total_T1
        ctx.save_for_backward(indices_TK, chosen_TK, total_T1)
        ctx.shape, ctx.dtype = logits_TE.shape, logits_TE.dtype
        ctx.mark_non_differentiable(indices_TK, cutoff_T)
        return indices_TK, probs_TK, cutoff_T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _di: Tensor, dprobs_TK: Tensor, _dc: Tensor) -> tuple[Tensor | None, ...]:
        indices_TK, chosen_TK, total_T1 = ctx.saved_tensors
        mean_T1 = (dprobs_TK * chosen_TK).sum(-1, keepdim=True) / total_T1
        dchosen_TK = (dprobs_TK - mean_T1) / total_T1 * chosen_TK * (1 - chosen_TK)
        dlogits_TE = dchosen_TK.new_zeros(ctx.shape).scatter_(1, indices_TK, dchosen_TK)
        return dlogits_TE.to(ctx.dtype), None, None


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
        ctx: Any, z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor
    ) -> Tensor:
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
        p_R1 = _spread(probs_TK, place_P, R).to(dtype).mul_(BETA_GATE * BETA_UP)
        a_RF, *parts = _situ(hidden_R2F[:, :F].to(dtype), hidden_R2F[:, F:].to(dtype))
        a_RF = a_RF.mul_(p_R1).to(z_TL.dtype)
        y_RL = z_TL.new_empty(R, L)
        for e, (a, y) in enumerate(zip(a_RF.split(counts), y_RL.split(counts), strict=True)):
            torch.mm(a, w2_ELF[e].to(z_TL.dtype).T, out=y)
        ctx.save_for_backward(z_TL, probs_TK, w13_E2FL, w2_ELF, token_R, place_P, *parts)
        ctx.counts, ctx.dtypes = counts, (w1_EFL.dtype, w3_EFL.dtype)
        return y_RL.index_select(0, place_P).view(T, K, L).to(dtype).sum(1).to(z_TL.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, du_TL: Tensor) -> tuple[Tensor | None, ...]:
        z_TL, probs_TK, w13_E2FL, w2_ELF, token_R, place_P, tanh_g, tanh_u, sigmoid = ctx.saved_tensors
        counts, F = ctx.counts, w2_ELF.shape[2]
        (T, K), L = probs_TK.shape, z_TL.shape[1]
        dtype, row_dtype = accumulation_dtype(z_TL), z_TL.dtype
        du_RL = du_TL.index_select(0, token_R)
        dap_RF = du_RL.new_empty(du_RL.shape[0], F)
        for e, (du, dap) in enumerate(zip(du_RL.split(counts), dap_RF.split(counts), strict=True)):
            torch.mm(du, w2_ELF[e].to(row_dtype), out=dap)
        a_RF = (tanh_g * sigmoid).mul_(tanh_u)
        p_R1 = _spread(probs_TK, place_P, token_R.shape[0]).to(dtype).mul_(BETA_GATE * BETA_UP)
        dp_R = (a_RF * dap_RF).sum(-1).mul_(BETA_GATE * BETA_UP)
        dhidden_R2F = tanh_g.new_empty(len(tanh_g), 2 * F)
        _situ_backward(dap_RF * p_R1, tanh_g, tanh_u, sigmoid, dhidden_R2F[:, :F], dhidden_R2F[:, F:])
        dhidden_R2F = dhidden_R2F.to(row_dtype)
        ap_RF = a_RF.mul_(p_R1).to(row_dtype)
        z_RL = z_TL.index_select(0, token_R)
        dz_RL, dw13_E2FL = torch.empty_like(z_RL), torch.zeros_like(w13_E2FL)
        dw2_ELF = torch.zeros_like(w2_ELF, dtype=row_dtype)
        slices = zip(*(x.split(counts) for x in (du_RL, ap_RF, dhidden_R2F, z_RL, dz_RL)), strict=True)
        for e, (du, ap, dhidden, z, dz) in enumerate(slices):
            torch.mm(dhidden, w13_E2FL[e], out=dz)
            torch.mm(dhidden.T, z, out=dw13_E2FL[e])
            torch.mm(du.T, ap, out=dw2_ELF[e])
        dz_TL = dz_RL.index_select(0, place_P).view(T, K, L).to(dtype).sum(1).to(row_dtype)
        dprobs_TK = dp_R.index_select(0, place_P).view(T, K).to(probs_TK.dtype)
        dw1_EFL, dw3_EFL = dw13_E2FL[:, :F].to(ctx.dtypes[0]), dw13_E2FL[:, F:].to(ctx.dtypes[1])
        return dz_TL, None, dprobs_TK, dw1_EFL, dw3_EFL, dw2_ELF.to(w2_ELF.dtype)
