"""liger-kernel's and cut-cross-entropy's fused losses behind our operands (0.8.5, 25.1.1): the mean over the targets.

Odd: liger-kernel sums the weight's gradient in the weight's dtype unless it is told otherwise: two contestants. The
other one skips gradients below a threshold unless it is told not to.
"""

import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant
from trivium.kernels.bench.operators.head_shapes import HeadShape

__all__ = ["CUT", "LIGER", "contestants", "cut", "liger"]

LIGER, CUT = "liger-kernel", "cut-cross-entropy"


def contestants(device: torch.device) -> list[Contestant[HeadShape]]:
    """None on a device that is no GPU, and none of a library that is not installed."""
    found: list[Contestant[HeadShape]] = []
    if device.type != "cuda":
        return found
    if importlib.util.find_spec("liger_kernel") is not None:
        for name, dtype in ((f"{LIGER}, fp32 sums", torch.float32), (LIGER, None)):
            found.append(Contestant(name=name, bind=liger(dtype), peer=True, package=LIGER))
    if importlib.util.find_spec("cut_cross_entropy") is not None:
        found.append(Contestant(name=CUT, bind=cut, peer=True, package=CUT))
    return found


def liger(sums: torch.dtype | None) -> Callable[[HeadShape, torch.device], Call]:
    """`sums`: the dtype in which the weight's gradient grows; None: the weight's."""

    def bind(shape: HeadShape, device: torch.device) -> Call:
        from liger_kernel.transformers.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyLoss

        loss = LigerFusedLinearCrossEntropyLoss(reduction="mean", accum_dtype=sums)
        return lambda hidden_TD, weight_VD, targets_T: (loss(weight_VD, hidden_TD, targets_T),)

    return bind


def cut(shape: HeadShape, device: torch.device) -> Call:
    from cut_cross_entropy import linear_cross_entropy

    def call(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> tuple[Tensor, ...]:
        return (linear_cross_entropy(hidden_TD, weight_VD, targets_T, reduction="mean", filter_eps=None),)

    return call
