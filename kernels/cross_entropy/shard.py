"""The vocabulary over R ranks: each holds a run of rows of the head's weight, in the order of the ranks.

Odd: shards may be uneven, and ranks meet once a block, so all count their blocks by the largest shard.
N tokens with a loss.
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["VocabularyShard", "local"]


@dataclass(frozen=True, slots=True)
class VocabularyShard:
    """Rows `start` … `start + size` − 1 of the `total` are this rank's; made once, for all steps."""

    start: int
    size: int
    total: int
    largest: int
    group: dist.ProcessGroup | None

    @staticmethod
    def of(weight_VD: Tensor, group: dist.ProcessGroup | None = None) -> "VocabularyShard":
        """From the weights of all ranks, which must call it together (the default group where none is given)."""
        mine = torch.tensor([len(weight_VD)], device=weight_VD.device)
        everyone = mine.new_empty(dist.get_world_size(group))
        dist.all_gather_into_tensor(everyone, mine, group=group)
        sizes = everyone.tolist()
        rank = dist.get_rank(group)
        return VocabularyShard(sum(sizes[:rank]), sizes[rank], sum(sizes), max(sizes), group)

    def combine_(self, lse_N: Tensor, hit_N: Tensor) -> None:
        """Log-sums of exponentials and targets' logits (0 where another rank holds it) of the whole vocabulary."""
        mine = torch.stack((lse_N, hit_N))
        everyone = mine.new_empty(dist.get_world_size(self.group), *mine.shape)
        dist.all_gather_into_tensor(everyone.view(-1), mine.view(-1), group=self.group)
        lse_N.copy_(torch.logsumexp(everyone[:, 0], 0))
        hit_N.copy_(everyone[:, 1].sum(0))

    def reduce_(self, dhidden_ND: Tensor) -> None:
        dist.all_reduce(dhidden_ND, group=self.group)


def local(targets_N: Tensor, vocabulary: int, shard: VocabularyShard | None) -> Tensor:
    """Targets as rows of this rank's weight, −1 for those of others. A target outside the vocabulary raises."""
    total = vocabulary if shard is None else shard.total
    torch._assert_async(((targets_N >= 0) & (targets_N < total)).all(), "a target is out of bounds of the vocabulary")
    if shard is None:
        return targets_N
    here_N = targets_N - shard.start
    return here_N.masked_fill((here_N < 0) | (here_N >= shard.size), -1)
