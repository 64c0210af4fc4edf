"""The experts where each has few rows, on a GPU with TMA: products in tiles of whole units of 16 rows, no gather.

The library's products (`torch_grouped`) take 128 rows a tile and waste a third of them at 128 rows an expert; these
read rows of tokens where they stand, and both halves of the hidden rows in one pass that ends in the gated unit. Kept
for the backward: the rows before dispatch and the hidden rows g | u; gradients of weights come in the weights' dtype.
T tokens, E experts, K experts a token, L latent width, F expert hidden width, P = T·K pairs, sorted by expert.
"""

import os
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.ahead import rehearse
from trivium.kernels.dispatch import KERNELS_VARIABLE
from trivium.kernels.moe.torch_glu import Activation
from trivium.kernels.moe.torch_grouped import sort_pairs

__all__ = ["UNIT", "FewExperts", "fits"]

MOST_ROWS = 256  # an expert in the mean, from which the library's products are faster
UNIT = 16  # rows that a tile is rounded up to: the least that a matrix instruction and a power of two share
WIDTHS = 64  # of which L and F are multiples: whole steps, so that no weight of another expert is ever multiplied
MOST_EXPERTS = 1024  # of which one program lays out the tiles
TMA = (9, 0)  # compute capability


def fits(z_TL: Tensor, indices_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor) -> bool:
    """Whether these products take the shape, and are the faster ones for it; known without a host sync.

    `TRIVIUM_KERNELS=portable` keeps to products that need no TMA.
    """
    E, F, L = w1_EFL.shape
    if os.environ.get(KERNELS_VARIABLE) == "portable" or z_TL.dtype != torch.bfloat16 or E > MOST_EXPERTS:
        return False
    if L % WIDTHS or F % WIDTHS or indices_TK.numel() > MOST_ROWS * E:
        return False
    contiguous = all(w.is_contiguous() for w in (w1_EFL, w3_EFL, w2_ELF))
    return contiguous and torch.cuda.get_device_capability(z_TL.device) >= TMA


class FewExperts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
        activation: Activation,
    ) -> Tensor:  # fmt: skip
        from trivium.kernels.moe import triton_few as few
        from trivium.kernels.moe.few_plan import tile_map
        from trivium.kernels.moe.triton_rows import mix_rows

        K, (pair_P, place_P, ends_E) = indices_TK.shape[1], sort_pairs(indices_TK, w1_EFL.shape[0])
        z_TL, P, token_P, dtype = z_TL.contiguous(), len(pair_P), pair_P // K, z_TL.dtype
        p_P = probs_TK.flatten().index_select(0, pair_P).float()
        narrow_N4, wide_N4 = (tile_map(ends_E, P, shape.cap) for shape in (few.GLU, few.FORWARD))
        hidden_P2F, a_PF = few.few_glu(
            z_TL, token_P, w1_EFL.to(dtype), w3_EFL.to(dtype), p_P, narrow_N4, activation
        )  # fmt: skip
        y_PL = few.few_forward(a_PF, None, w2_ELF.to(dtype), wide_N4)
        ctx.save_for_backward(
            z_TL, p_P, w1_EFL, w3_EFL, w2_ELF, hidden_P2F, token_P, place_P, ends_E, wide_N4
        )  # fmt: skip
        ctx.K, ctx.probs_dtype, ctx.activation = K, probs_TK.dtype, activation
        out_TL = mix_rows([y_PL], place_P, K)
        if z_TL.is_cuda and any(ctx.needs_input_grad):
            about = dtype, probs_TK.dtype, w1_EFL.dtype, w2_ELF.dtype, K, *w2_ELF.shape[1:], activation
            rehearse(("few_experts", z_TL.device, *about), z_TL.device, partial(_both_ways, z_TL.device, *about))
        return out_TL

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout_TL: Tensor) -> tuple[Tensor | None, ...]:
        from trivium.kernels.moe.triton_few import few_dgrad
        from trivium.kernels.moe.triton_few_wgrad import few_wgrad, few_wgrad_two
        from trivium.kernels.moe.triton_glu import weighted_glu_backward
        from trivium.kernels.moe.triton_rows import mix_rows

        z_TL, p_P, w1_EFL, w3_EFL, w2_ELF, hidden_P2F, token_P, place_P, ends_E, wide_N4 = ctx.saved_tensors
        K, dtype = ctx.K, z_TL.dtype
        needs_z, _, _, *needs_w = ctx.needs_input_grad[:6]
        dout_TL = dout_TL.to(dtype).contiguous()
        da_PF = few_dgrad(dout_TL, token_P, w2_ELF.to(dtype), None, wide_N4)
        dg_PF, _, a_PF, dp_P = weighted_glu_backward(*hidden_P2F.chunk(2, dim=1), p_P, da_PF, ctx.activation)
        del da_PF
        dhidden_P2F = dg_PF.as_strided(hidden_P2F.shape, hidden_P2F.stride())  # dg | du lie as g | u do
        dz_TL = dw1_EFL = dw3_EFL = dw2_ELF = None
        if needs_w[2]:
            dw2_ELF = few_wgrad(dout_TL, token_P, a_PF, None, ends_E, w2_ELF.dtype)
        del a_PF
        if needs_w[0] or needs_w[1]:  # both come of one pass over the rows
            dw1_EFL, dw3_EFL = few_wgrad_two(dhidden_P2F, z_TL, token_P, ends_E, w1_EFL.dtype)
        if needs_z:
            dz_PL = few_dgrad(dhidden_P2F, None, w1_EFL.to(dtype), w3_EFL.to(dtype), wide_N4)
            dz_TL = mix_rows([dz_PL], place_P, K)
        dprobs_TK = dp_P.index_select(0, place_P).unflatten(0, (-1, K)).to(ctx.probs_dtype)
        return dz_TL, None, dprobs_TK, dw1_EFL, dw3_EFL, dw2_ELF, None


def _both_ways(
    device: torch.device, dtype: torch.dtype, probs_dtype: torch.dtype, w1_dtype: torch.dtype, w2_dtype: torch.dtype,
    K: int, L: int, F: int, activation: Activation,
) -> None:  # fmt: skip
    """One expert and a few tokens, forwards and backwards: the kernels of any number of either."""
    sizes = (UNIT, L), (UNIT, K), (1, F, L), (1, F, L), (1, L, F)
    dtypes = dtype, probs_dtype, w1_dtype, w1_dtype, w2_dtype
    leaves = [
        torch.zeros(size, device=device, dtype=of, requires_grad=True) for size, of in zip(sizes, dtypes, strict=True)
    ]
    indices_TK = torch.zeros(UNIT, K, device=device, dtype=torch.int64)
    u_TL = FewExperts.apply(leaves[0], indices_TK, *leaves[1:], activation)
    torch.autograd.grad(u_TL, leaves, torch.zeros_like(u_TL))
