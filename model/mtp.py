"""Multi-token prediction: one more block that predicts the token after the next (DeepSeek-V3's form).

Odd: the report says only that the layer mirrors a backbone block; the last backbone layer is MLA with LatentMoE, so
this one is too, with a plain residual, since a single block has nothing to choose sources from. Embedding, final norm
and head are the backbone's own.

T tokens, D width.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from trivium.model.layer import Layer, LayerStats, Pass
from trivium.vision.norm import RMSNorm


class MTP(nn.Module):
    """h'_t = layer(proj [norm h_t ; norm emb(x_{t+1})]); head and loss are the caller's."""

    def __init__(self, layer: Layer, width: int, eps: float) -> None:
        super().__init__()
        self.h_norm = RMSNorm(width, eps=eps)
        self.e_norm = RMSNorm(width, eps=eps)
        self.proj = nn.Linear(2 * width, width, bias=False)
        self.layer = layer

    def forward(self, h_TD: Tensor, embedded_TD: Tensor, shared: Pass) -> tuple[Tensor, LayerStats]:
        """`embedded_TD`: the backbone's inputs, pictures in place, not shifted; a document's last row reads zeros."""
        last_T = last_rows(shared.cu_seqlens, h_TD.shape[0])
        next_TD = embedded_TD.roll(-1, 0).masked_fill(last_T[:, None], 0)
        x_TD = self.proj(torch.cat([self.h_norm(h_TD), self.e_norm(next_TD)], dim=-1))
        # A document's last row has no next token: it is no real token for the balance.
        real_T = ~last_T if shared.real_T is None else shared.real_T & ~last_T
        return self.layer((), x_TD, replace(shared, real_T=real_T))


def last_rows(cu_seqlens: Tensor, tokens: int) -> Tensor:
    """True at the last token of each document, [T]."""
    last_T = torch.zeros(tokens, dtype=torch.bool, device=cu_seqlens.device)
    stops = cu_seqlens[1:]
    last_T[stops[cu_seqlens.diff() > 0] - 1] = True
    return last_T


def shifted_targets(targets_T: Tensor, cu_seqlens: Tensor) -> Tensor:
    """Targets two ahead: the next row's target inside the document, −100 at its last row."""
    return targets_T.roll(-1, 0).masked_fill(last_rows(cu_seqlens, targets_T.shape[0]), -100)
