"""The definition of the head's loss: logits of every token at once, in fp32 or fp64.

T tokens, D model width, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["IGNORE", "cross_entropy_reference", "linear_cross_entropy_reference"]

IGNORE = -100  # a target of a token that carries no loss


def cross_entropy_reference(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
    """−log softmax(hidden · weightᵀ)[target] of each token [T], 0 where the target is −100."""
    dtype = accumulation_dtype(hidden_TD, weight_VD)
    logits_TV = hidden_TD.to(dtype) @ weight_VD.to(dtype).T
    return F.cross_entropy(logits_TV, targets_T, ignore_index=IGNORE, reduction="none")


def linear_cross_entropy_reference(
    hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor, weights_T: Tensor | None = None, *, z_loss: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Σ weight · (loss + z_loss · lse²) over the tokens with a target, and each token's loss, detached."""
    dtype = accumulation_dtype(hidden_TD, weight_VD)
    logits_TV = hidden_TD.to(dtype) @ weight_VD.to(dtype).T
    loss_T = F.cross_entropy(logits_TV, targets_T, ignore_index=IGNORE, reduction="none")
    term_T = loss_T + z_loss * torch.logsumexp(logits_TV, 1).square()
    if weights_T is not None:
        term_T = term_T * weights_T.to(dtype)
    return term_T.masked_fill(targets_T == IGNORE, 0).sum(), loss_T.detach()
