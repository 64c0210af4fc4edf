"""Losses and gradients in blocks of tokens: logits of one block exist at a time, whichever path makes them.

N tokens with a loss, D model width, V vocabulary (a rank's part of it where it is sharded).
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trivium.kernels.cross_entropy.reference import IGNORE
from trivium.kernels.cross_entropy.shard import VocabularyShard

__all__ = ["Kept", "Path", "Result", "WeightGradient", "run"]

UNIT = 16  # rows: blocks of whole units, as products like them


class WeightGradient(Protocol):
    """Σ dlogitsᵀ · hidden over blocks, in the accumulation dtype until it is taken, which is once."""

    def add(self, dlogits_NV: Tensor, hidden_ND: Tensor) -> None: ...

    def take(self, scale: Tensor | None) -> Tensor:
        """The sum, times a scalar on the device, in the weight's dtype."""


class Path(Protocol):
    """Arithmetic of one block; `dtype` is that of logits and losses, and rows enter products as `operand`."""

    dtype: torch.dtype

    def operand(self, hidden_ND: Tensor) -> Tensor: ...

    def rows(self, vocabulary: int) -> int: ...

    def logits(self, hidden_ND: Tensor) -> Tensor: ...

    def statistics(self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, hit_N: Tensor) -> None:
        """Writes lse and the target's logit, 0 where the target is −1."""

    def gradient(self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, weights_N: Tensor, z_loss: float) -> Tensor:
        """weight · ((1 + 2 z_loss lse) softmax − one-hot); the logits' memory is the path's to write to."""

    def both(
        self, logits_NV: Tensor, targets_N: Tensor, lse_N: Tensor, hit_N: Tensor, weights_N: Tensor, z_loss: float
    ) -> Tensor:
        """`statistics` and `gradient`."""

    def dhidden(self, dlogits_NV: Tensor) -> Tensor: ...

    def dweight(self) -> WeightGradient: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """The tokens that have a target, gathered once: media tokens carry no loss and cost nothing."""

    targets_T: Tensor
    rows_N: Tensor | None  # None: all, in their order

    @staticmethod
    def of(targets_T: Tensor, count: int | None) -> "Kept":
        """`count` targets; to count them where it is None the host waits for the device."""
        if count == len(targets_T):
            return Kept(targets_T, None)
        kept_T = targets_T != IGNORE
        if count is None:
            rows_N = kept_T.nonzero().squeeze(1)
            return Kept(targets_T, None if len(rows_N) == len(targets_T) else rows_N)
        torch._assert_async(kept_T.sum() == count, "`count` is not the number of targets")
        return Kept(targets_T, torch.sort(kept_T.logical_not().byte(), stable=True).indices[:count])

    def gather(self, x: Tensor) -> Tensor:
        return x.contiguous() if self.rows_N is None else x.index_select(0, self.rows_N)

    def spread(self, x_N: Tensor) -> Tensor:
        """Back at their tokens, 0 where there is no target; by a gather, which is deterministic and fast."""
        if self.rows_N is None:
            return x_N
        if not len(x_N):
            return x_N.new_zeros(len(self.targets_T), *x_N.shape[1:])
        kept_T = self.targets_T != IGNORE
        place_T = kept_T.cumsum(0).sub_(1).clamp_(min=0)
        ignored_T = kept_T.logical_not_().view(-1, *[1] * (x_N.dim() - 1))
        return x_N.index_select(0, place_T).masked_fill_(ignored_T, 0)


@dataclass(slots=True)
class Result:
    lse_N: Tensor
    hit_N: Tensor
    dhidden_ND: Tensor | None = None
    dweight: WeightGradient | None = None


def _blocks(N: int, most: int) -> list[slice]:
    """As few as hold at most so many rows, and of about equal length: a short one costs nearly what a long one does."""
    each = -(-N // max(1, -(-N // most)))
    each = max(1, min(most, -(-each // UNIT) * UNIT))
    return [slice(start, min(start + each, N)) for start in range(0, N, each)]


def run(
    path: Path,
    hidden_ND: Tensor,
    targets_N: Tensor,
    shard: VocabularyShard | None,
    vocabulary: int,
    *,
    lse_N: Tensor | None = None,
    weights_N: Tensor | None = None,
    z_loss: float = 0.0,
    wants: tuple[bool, bool] = (False, False),
) -> Result:
    """Statistics where `lse_N` is not known yet, and the gradients that `wants` asks for (hidden, weight) where the
    tokens' weights are known.
    """
    N, rows = len(hidden_ND), path.rows(vocabulary if shard is None else shard.largest)
    wants_hidden, wants_weight = wants if weights_N is not None else (False, False)
    own = hidden_ND.new_empty(2, N if lse_N is None else 0, dtype=path.dtype)
    found = Result(own[0] if lse_N is None else lse_N, own[1])
    if wants_hidden:  # shares of the ranks are summed before they are rounded
        found.dhidden_ND = torch.empty_like(hidden_ND, dtype=path.dtype if shard is not None else None)
    if wants_weight:
        found.dweight = path.dweight()
    for block in _blocks(N, rows):
        hidden = path.operand(hidden_ND[block])
        logits = path.logits(hidden)
        arguments = logits, targets_N[block], found.lse_N[block]
        dlogits = None
        if lse_N is None and shard is None and (wants_hidden or wants_weight):
            dlogits = path.both(*arguments, found.hit_N[block], weights_N[block], z_loss)
        else:
            if lse_N is None:
                path.statistics(*arguments, found.hit_N[block])
                if shard is not None:
                    shard.combine_(found.lse_N[block], found.hit_N[block])
            if wants_hidden or wants_weight:
                dlogits = path.gradient(*arguments, weights_N[block], z_loss)
        del logits, arguments  # before what follows asks for memory
        if found.dhidden_ND is not None:
            found.dhidden_ND[block].copy_(path.dhidden(dlogits))
        if found.dweight is not None:
            found.dweight.add(dlogits, hidden)
        del dlogits
    if shard is not None and found.dhidden_ND is not None:
        shard.reduce_(found.dhidden_ND)
        found.dhidden_ND = found.dhidden_ND.to(hidden_ND.dtype)
    return found
