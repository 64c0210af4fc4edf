"""Context parallelism: a packed row over R ranks, each with one contiguous share, whatever documents lie in it.

D documents of a share, T tokens in the whole row.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from trivium.kernels.packed import offsets

__all__ = ["MIN_TOKENS", "Share", "gather"]

MIN_TOKENS = 3  # what a short convolution looks back: it never reaches beyond the neighbour


@dataclass(frozen=True, slots=True)
class Share:
    """A rank's tokens `start` … `stop` − 1 of the row, as pieces of documents that are not empty."""

    rank: int
    ranks: int
    start: int
    stop: int
    borders: tuple[int, ...]  # of its pieces, from 0
    begins: int  # rank with the first token of the first piece's document
    ends: int  # rank with the last token of the last piece's document
    reach: int  # tokens of the first piece's document that lie before the share

    @property
    def cu_seqlens(self) -> Tensor:
        return torch.tensor(self.borders)

    @property
    def first(self) -> slice:
        """Tokens of the first piece."""
        return slice(0, self.borders[1])

    @property
    def last(self) -> slice:
        """Tokens of the last piece."""
        return slice(self.borders[-2], self.borders[-1])

    @staticmethod
    def of(cu_seqlens: Tensor | Sequence[int], tokens: int, rank: int, ranks: int) -> "Share":
        """Shares equal but for one token.

        Raises ValueError for a wrong `cu_seqlens` and for less than 3 tokens a rank.
        """
        borders = offsets(cu_seqlens, tokens)
        if tokens // ranks < MIN_TOKENS:
            raise ValueError(
                f"{ranks} ranks need {MIN_TOKENS * ranks} tokens or more; found {tokens}; split the row over fewer"
            )
        bounds = [tokens * r // ranks for r in range(ranks + 1)]
        start, stop = bounds[rank], bounds[rank + 1]
        first = bisect_right(borders, start) - 1  # the document of the share's first token
        last = bisect_right(borders, stop - 1) - 1
        return Share(
            rank=rank,
            ranks=ranks,
            start=start,
            stop=stop,
            borders=tuple(sorted({0, stop - start, *(border - start for border in borders if start < border < stop)})),
            begins=bisect_right(bounds, borders[first]) - 1,
            ends=bisect_right(bounds, borders[last + 1] - 1) - 1,
            reach=start - borders[first],
        )


def gather(x: Tensor, share: Share, group: dist.ProcessGroup | None) -> Tensor:
    """[R, *x.shape]: everyone's x, in one all-gather."""
    everyone = x.new_empty(share.ranks, *x.shape)
    dist.all_gather_into_tensor(everyone.view(-1), x.contiguous().view(-1), group=group)
    return everyone
