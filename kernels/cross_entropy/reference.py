"""The definition of the head's loss: logits of every token at once, in fp32 or fp64.

T tokens, D model width, V vocabulary.
"""

import torch.nn.functional as F
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["IGNORE", "cross_entropy_reference"]

IGNORE = -100  # a target of a token that carries no loss


def cross_entropy_reference(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
    """−log softmax(hidden · weightᵀ)[target] of each token [T], 0 where the target is −100."""
    dtype = accumulation_dtype(hidden_TD, weight_VD)
    logits_TV = hidden_TD.to(dtype) @ weight_VD.to(dtype).T
    return F.cross_entropy(logits_TV, targets_T, ignore_index=IGNORE, reduction="none")
