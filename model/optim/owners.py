"""Which rank updates what: a pure function of the parameters' names and shapes and of the number of ranks.

Odd: it needs no communication and no state, so a checkpoint holds nothing of it and any number of ranks can go on. A
parameter under Muon is cut at the edges of its blocks (heads, experts), one under AdamW is never cut.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import prod

from torch import Tensor

from trivium.model.optim.groups import Blocks, Group

GRAIN = 32  # runs of blocks a rank, where there are as many blocks: fewer and larger ones are dealt less evenly


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole blocks of one parameter, or a whole one under AdamW (`blocks` None), and the rank that updates it."""

    group: Group
    blocks: Blocks | None
    owner: int

    @property
    def name(self) -> str:
        return self.group.name

    @property
    def numbers(self) -> int:
        if self.blocks is None:
            return prod(self.group.shape)
        return (self.blocks.stop - self.blocks.start) * self.blocks.columns

    def view(self, tensor: Tensor) -> Tensor:
        """The piece of a contiguous tensor of the parameter's shape, sharing its memory; its rows under Muon."""
        if self.blocks is None:
            return tensor
        return tensor.view(-1, self.blocks.columns)[self.blocks.start : self.blocks.stop]

    def alone(self) -> Group:
        """How the piece is updated when `view` is all there is of the parameter."""
        if self.blocks is None:
            return self.group
        rows = self.blocks.stop - self.blocks.start
        only = Blocks(0, rows, self.blocks.count, self.blocks.columns)
        return replace(self.group, shape=(rows, self.blocks.columns), blocks=(only,))


def cost(blocks: Blocks) -> int:
    """What the orthogonalisation costs, in products: M²·N a block, M ≤ N its sides."""
    small, large = sorted((blocks.rows, blocks.columns))
    return small * small * large * blocks.count


def deal(groups: Sequence[Group], ranks: int) -> tuple[Piece, ...]:
    """All pieces in the order of the groups: Muon's even in cost, then AdamW's so that the states are even in size.

    The costliest run of blocks goes first, each to the rank with the least so far (Graham's longest processing time).
    """
    if ranks < 1:
        raise ValueError(f"{ranks} ranks own nothing; give at least 1")
    most = sum(cost(blocks) for group in groups for blocks in group.blocks) // (ranks * GRAIN)
    runs = [(group, run) for group in groups for blocks in group.blocks for run in _cut(blocks, most)]
    costs = [cost(run) for _, run in runs]
    owners = _even(costs, [0] * ranks)
    held = [0] * ranks  # numbers of state
    pieces: dict[str, list[Piece]] = {group.name: [] for group in groups}
    for (group, run), owner in zip(runs, owners, strict=True):
        piece = Piece(group, run, owner)
        pieces[group.name].append(piece)
        held[owner] += piece.numbers
    rest = [group for group in groups if not group.blocks]
    for group, owner in zip(rest, _even([2 * prod(group.shape) for group in rest], held), strict=True):
        pieces[group.name].append(Piece(group, None, owner))
    return tuple(piece for group in groups for piece in pieces[group.name])


def _cut(blocks: Blocks, most: int) -> Iterator[Blocks]:
    """Runs of equally many blocks, give or take one, that cost at most `most` or are a single block."""
    one = cost(blocks) // blocks.count
    runs = -(-blocks.count // max(1, most // one))
    edges = [blocks.count * run // runs for run in range(runs + 1)]
    for first, last in pairwise(edges):
        start = blocks.start + first * blocks.rows
        yield Blocks(start, blocks.start + last * blocks.rows, last - first, blocks.columns)


def _even(costs: Sequence[int], before: Sequence[int]) -> list[int]:
    """An owner for each cost, on top of what the ranks have already."""
    owners = [0] * len(costs)
    loads = [(load, rank) for rank, load in enumerate(before)]
    heapify(loads)
    for number in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        load, rank = heappop(loads)
        owners[number] = rank
        heappush(loads, (load + costs[number], rank))
    return owners
