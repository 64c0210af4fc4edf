"""One more token of each of a few documents, attended in the latent space (the absorbed form).

The expansion of a latent into content keys and values moves into the query and the output, so that a cached token is
read once for all heads, as L + R numbers.
Odd: scores, weights and the sum over latents are fp32 whatever the operands are, as the packed form's output is.
B documents, S cached tokens, H heads, N content dims, D = N + R query width, V value dims, L latent width, R extra
dims, X = L + R, E = N + V.
"""

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["mla_step", "mla_step_reference"]


def mla_step(
    q_BHD: Tensor, up_HEL: Tensor, seen_BSX: Tensor, before_BS: Tensor | None = None, *, scale: float
) -> Tensor:
    """Return o_BHV in fp32: each document's query over its cached tokens [latent | extra], itself the last.

    `up_HEL` holds each head's N rows that expand content keys and V that expand values; True in `before_BS` marks
    columns that hold no token of a document.
    """
    L = up_HEL.shape[2]
    content = q_BHD.shape[2] - (seen_BSX.shape[2] - L)
    k_up_HNL, v_up_HVL = up_HEL.split([content, up_HEL.shape[1] - content], dim=1)
    dtype = accumulation_dtype(q_BHD)
    q_BHL = torch.bmm(q_BHD[..., :content].transpose(0, 1), k_up_HNL).transpose(0, 1)
    q_BHX = torch.cat([q_BHL, q_BHD[..., content:]], dim=-1)
    scores_BHS = torch.bmm(q_BHX, seen_BSX.transpose(1, 2)).to(dtype) * scale
    if before_BS is not None:
        scores_BHS = scores_BHS.masked_fill(before_BS[:, None], -torch.inf)
    o_BHL = torch.bmm(scores_BHS.softmax(-1), seen_BSX[..., :L].to(dtype))
    return torch.bmm(o_BHL.transpose(0, 1), v_up_HVL.to(dtype).transpose(1, 2)).transpose(0, 1)


def mla_step_reference(
    q_BHD: Tensor, up_HEL: Tensor, seen_BSX: Tensor, before_BS: Tensor | None = None, *, scale: float
) -> Tensor:
    """The definition: every cached token's keys and values expanded, then softmax."""
    L = up_HEL.shape[2]
    c_BSL, extra_BSR = seen_BSX[..., :L], seen_BSX[..., L:]
    content = q_BHD.shape[2] - extra_BSR.shape[2]
    kv_BHSE = torch.einsum("bsl,hel->bhse", c_BSL, up_HEL)
    k_BHSD = torch.cat([kv_BHSE[..., :content], extra_BSR[:, None].expand(-1, up_HEL.shape[0], -1, -1)], dim=-1)
    scores_BHS = scale * torch.einsum("bhd,bhsd->bhs", q_BHD, k_BHSD)
    if before_BS is not None:
        scores_BHS = scores_BHS.masked_fill(before_BS[:, None], -torch.inf)
    return torch.einsum("bhs,bhsv->bhv", scores_BHS.softmax(-1), kv_BHSE[..., content:])
