"""Cross entropy from hidden states and head weight, one loss a token.

T tokens, D model width, V vocabulary.
"""

from torch import Tensor

from trivium.kernels.cross_entropy.reference import IGNORE, cross_entropy_reference
from trivium.kernels.cross_entropy.torch_cross_entropy import CrossEntropy
from trivium.kernels.dispatch import use_triton
from trivium.kernels.precision import product_operand, without_autocast

__all__ = ["IGNORE", "cross_entropy", "cross_entropy_reference"]


def cross_entropy(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
    """−log softmax(hidden · weightᵀ)[target] of each token [T] in fp32, 0 where the target is −100.

    Never holds the logits of all tokens; sums and means are the caller's. Logits, losses and the weight's gradient are
    fp32 whatever the rows; on a GPU inside autocast the rows and the weight enter products in autocast's dtype, on a
    CPU as they are. A target outside the vocabulary raises.
    """
    return _cross_entropy(product_operand(hidden_TD) if hidden_TD.is_cuda else hidden_TD, weight_VD, targets_T)


@without_autocast
def _cross_entropy(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> Tensor:
    if use_triton("cross_entropy", hidden_TD):
        from trivium.kernels.cross_entropy.triton_cross_entropy import TritonCrossEntropy

        return TritonCrossEntropy.apply(hidden_TD, weight_VD, targets_T)
    return CrossEntropy.apply(hidden_TD, weight_VD, targets_T)
