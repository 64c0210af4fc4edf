"""Cross entropy from hidden states and head weight, one loss a token.

T tokens, D model width, V vocabulary.
"""

from torch import Tensor

from trivium.kernels.cross_entropy.reference import IGNORE, cross_entropy_reference
from trivium.kernels.cross_entropy.torch_cross_entropy import CrossEntropy
from trivium.kernels.precision import without_autocast

__all__ = ["IGNORE", "cross_entropy", "cross_entropy_reference"]


@without_autocast
def cross_entropy(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
    """−log softmax(hidden · weightᵀ)[target] of each token [T] in fp32, 0 where the target is −100.

    Never holds the logits of all tokens; sums and means are the caller's. A target outside the vocabulary raises.
    """
    return CrossEntropy.apply(hidden_TD, weight_VD, targets_T)
