"""Cross entropy from hidden states and head weight: one loss a token, or their weighted sum with its gradients.

T tokens, D model width, V vocabulary (a rank's part of it where it is sharded).
"""

from typing import Any

from torch import Tensor, is_grad_enabled

from trivium.kernels.cross_entropy.autograd import (
    CrossEntropy,
    LinearCrossEntropy,
    TritonCrossEntropy,
    TritonLinearCrossEntropy,
)
from trivium.kernels.cross_entropy.reference import IGNORE, cross_entropy_reference, linear_cross_entropy_reference
from trivium.kernels.cross_entropy.shard import VocabularyShard
from trivium.kernels.cross_entropy.torch_cross_entropy import TorchPath
from trivium.kernels.dispatch import use_triton
from trivium.kernels.packed import expect
from trivium.kernels.precision import product_operand, without_autocast

__all__ = [
    "IGNORE",
    "VocabularyShard",
    "cross_entropy",
    "cross_entropy_reference",
    "linear_cross_entropy",
    "linear_cross_entropy_reference",
]


def cross_entropy(
    hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor, *, shard: VocabularyShard | None = None
) -> Tensor:
    """−log softmax(hidden · weightᵀ)[target] of each token [T] in fp32, 0 where the target is −100.

    Never holds the logits of all tokens; sums and means are the caller's. Logits, losses and the weight's gradient are
    fp32 whatever the rows; on a GPU inside autocast the rows and the weight enter products in autocast's dtype, on a
    CPU as they are. With `shard` the weight is this rank's part of the vocabulary, and all ranks call with equal rows.
    A target outside the vocabulary raises.
    """
    rows_TD = product_operand(hidden_TD) if hidden_TD.is_cuda else hidden_TD
    return _cross_entropy(rows_TD, weight_VD, targets_T, shard)


def linear_cross_entropy(
    hidden_TD: Tensor,
    weight_VD: Tensor,
    targets_T: Tensor,
    weights_T: Tensor | None = None,
    *,
    z_loss: float = 0.0,
    count: int | None = None,
    shard: VocabularyShard | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Σ weight · (loss + z_loss · lse²), and losses and lse of each token [T], detached, 0 where the target is −100.

    As `cross_entropy`, but for weights (1 where None; they have no gradient) that are known beforehand: both gradients
    are taken while a block's logits are there, and the backward multiplies them by the total's. Nothing of that is done
    where no gradient is asked for. `count` is the number of targets other than −100: with it the host never waits for
    the device. z_loss: ST-MoE, arXiv:2202.08906, equation 5, on the vocabulary. Raises ValueError for operands that
    don't fit together and for weights that want a gradient.
    """
    rows_TD = product_operand(hidden_TD) if hidden_TD.is_cuda else hidden_TD
    sizes = {"T": len(targets_T), "V": len(weight_VD), "D": weight_VD.shape[-1]}
    named = ("hidden", "TD", hidden_TD), ("weight", "VD", weight_VD), ("weights", "T", weights_T)
    expect(sizes, hidden_TD, named)
    if weights_T is not None and weights_T.requires_grad:
        raise ValueError("weights of tokens have no gradient here; detach them, or take cross_entropy's losses")
    return _linear_cross_entropy(rows_TD, weight_VD, targets_T, weights_T, z_loss, count, shard)


@without_autocast
def _cross_entropy(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor, shard: VocabularyShard | None) -> Tensor:
    if use_triton("cross_entropy", hidden_TD):
        from trivium.kernels.cross_entropy.triton_cross_entropy import TritonPath

        return TritonCrossEntropy.apply(hidden_TD, weight_VD, targets_T, TritonPath, shard)
    return CrossEntropy.apply(hidden_TD, weight_VD, targets_T, TorchPath, shard)


@without_autocast
def _linear_cross_entropy(hidden_TD: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    if use_triton("linear_cross_entropy", hidden_TD):
        from trivium.kernels.cross_entropy.triton_cross_entropy import TritonPath

        return TritonLinearCrossEntropy.apply(hidden_TD, *rest, TritonPath, is_grad_enabled())
    return LinearCrossEntropy.apply(hidden_TD, *rest, TorchPath, is_grad_enabled())
