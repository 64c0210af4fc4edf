"""Attention Residuals for decoding, in two phases (arXiv 2603.15031; K3 report, section 2.2).

Queries don't depend on the input: all of a block's read its bank in one pass, and each adds the block's running sum
when that is there: the bank's mixture and that sum, weighted by softmax(log of the bank's weights' sum, sum's logit).
Odd: the kernels (triton_phases.py) give no gradients; operands that ask for one stay with PyTorch.
N sources in the bank, S queries, B tokens (one a document), D model width; `a` is query ⊙ gamma.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.gated_norm import rms_norm
from trivium.kernels.packed import accumulation_dtype
from trivium.kernels.precision import without_autocast

__all__ = ["attnres_bank", "attnres_join"]

MAX_SOURCES = 16  # the kernels unroll their loops over sources
MAX_WIDTH = 8192  # a row lies in the registers of one Triton program
MAX_QUERIES = 32  # so do the mixtures of some of its columns


@without_autocast
def attnres_bank(bank_NBD: Sequence[Tensor], a_SD: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Phase one: (mixtures of the bank [S, B, D], logs of their weights' sums [S, B]), in fp32, without gradients.

    A mixture is what `attnres` gives over the bank alone.
    """
    small = len(bank_NBD) <= MAX_SOURCES and a_SD.shape[0] <= MAX_QUERIES
    if use_triton("attnres_bank", bank_NBD[0], fits=small and _fits(*bank_NBD, a_SD)):
        from trivium.kernels.attnres.triton_phases import run_bank

        return run_bank(bank_NBD, a_SD, eps)
    dtype = accumulation_dtype(a_SD, *bank_NBD)
    v_BND = torch.stack([*bank_NBD], dim=1).to(dtype)
    r_BN = torch.linalg.vector_norm(v_BND, dim=-1).square_().mul_(1 / v_BND.shape[-1]).add_(eps).rsqrt_()
    a_BDS = a_SD.to(dtype).t().expand(v_BND.shape[0], -1, -1)
    logits_BNS = torch.bmm(v_BND, a_BDS).mul_(r_BN.unsqueeze(-1))
    mixed_BSD = torch.bmm(logits_BNS.softmax(1).transpose(1, 2), v_BND)
    return mixed_BSD.transpose(0, 1).contiguous(), logits_BNS.logsumexp(1).t()


@without_autocast
def attnres_join(
    own_BD: Tensor,
    mixed_BD: Tensor,
    total_B: Tensor,
    a_D: Tensor,
    eps: float = 1e-5,
    weight_D: Tensor | None = None,
    norm_eps: float = 1e-5,
) -> Tensor:
    """Phase two: one query's mixture with the running sum as one more source, [B, D] in the sum's dtype.

    With `weight` it is the mixture's RMSNorm times `weight`, as a sublayer reads it.
    """
    operands = (own_BD, mixed_BD, total_B, a_D, *(() if weight_D is None else (weight_D,)))
    if use_triton("attnres_join", own_BD, fits=_fits(*operands)):
        from trivium.kernels.attnres.triton_phases import run_join

        return run_join(own_BD, mixed_BD, total_B, a_D, weight_D, eps, norm_eps)
    v_BD = own_BD.to(mixed_BD.dtype)
    r_B = torch.linalg.vector_norm(v_BD, dim=-1).square_().mul_(1 / v_BD.shape[-1]).add_(eps).rsqrt_()
    # A softmax over two, no sigmoid of one number a row: elementwise functions round whole vectors and rests otherwise.
    p_B2 = torch.stack([total_B, (v_BD @ a_D.to(v_BD.dtype)).mul_(r_B)], dim=-1).softmax(-1)
    h_BD = torch.lerp(mixed_BD, v_BD, p_B2[:, 1:]).to(own_BD.dtype)
    return h_BD if weight_D is None else rms_norm(h_BD, weight_D, norm_eps)


def _fits(*operands: Tensor) -> bool:
    """Whether the kernels take these: no gradient is asked for, dtypes and the width are theirs."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in operands):
        return False
    fixed = all(x.dtype in (torch.float32, torch.bfloat16) for x in operands)
    return fixed and operands[0].shape[-1] <= MAX_WIDTH
