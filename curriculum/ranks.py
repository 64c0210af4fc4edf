"""Which rank computes which row: a pure function of the step's rows and the number of ranks, even in cost.

Odd: it needs no communication and no state, since every rank knows all rows of a step from the plan. The set and the
order of a step's rows never depend on it.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from trivium.curriculum.rows import Row, StepRows
from trivium.data.config import Strict

_PAIRS = 1024  # of rows that two ranks may look at for an exchange; with more rows the first deal is even enough


class Cost(Strict, frozen=True, kw_only=True):
    """The cost of a row in units of one token's linear layers: Σ over pieces (t + t²/quadratic) + patch · patches.

    `quadratic` is the document length at which causal attention costs as much as all linear layers. K3's 24 MLA layers
    need 2·96·(192+128)/2·t FLOPs a token each, its linear layers 2·104.2e9: 283 000 tokens. `patch` is what a patch
    costs in the tower and the projector: 0.0042 for K3 (435 M parameters a patch beside 104.2e9 a token), about 0.11
    for `base`. A picture's own attention is left out: below 1024 patches it is under a quarter of the tower's linear
    layers.
    """

    quadratic: float = 283_000.0
    patch: float = 0.11

    def of(self, row: Row) -> float:
        """The row's cost, in tokens."""
        square = sum(piece.tokens * piece.tokens for piece in row.pieces)
        return row.tokens + square / self.quadratic + self.patch * row.patches


def assign(rows: Sequence[Row], world: int, cost: Cost | None = None) -> tuple[tuple[int, ...], ...]:
    """Row numbers by rank, ascending within a rank; all rows once, counts differing by at most one.

    Costly rows go first, each to the rank with the least cost that still takes one (Graham's longest processing time,
    with equal counts, so that ranks need equally many forward passes); where ranks have few rows, the costliest and the
    cheapest then exchange some. With fewer rows than ranks some have none.
    """
    if world < 1:
        raise ValueError(f"a world of {world} ranks computes nothing; give at least 1")
    rule = cost or Cost()
    costs = [rule.of(row) for row in rows]
    least, more = divmod(len(rows), world)
    taken: list[list[int]] = [[] for _ in range(world)]
    loads = [(0.0, rank) for rank in range(world)]
    heapify(loads)
    for number in sorted(range(len(rows)), key=lambda i: (-costs[i], i)):
        while True:  # a rank that may take no more is not put back
            load, rank = heappop(loads)
            if len(taken[rank]) < least:
                break
            if len(taken[rank]) == least and more:
                more -= 1
                break
        taken[rank].append(number)
        heappush(loads, (load + costs[number], rank))
    if least * least <= _PAIRS:
        _exchange(taken, costs)
    return tuple(tuple(sorted(numbers)) for numbers in taken)


def _exchange(taken: list[list[int]], costs: Sequence[float]) -> None:
    """Swaps rows between the costliest rank and the cheapest as long as that evens them out."""
    loads = [sum(costs[number] for number in numbers) for numbers in taken]
    for _ in range(4 * len(taken)):
        high = max(range(len(taken)), key=lambda rank: (loads[rank], -rank))
        low = min(range(len(taken)), key=lambda rank: (loads[rank], rank))
        gap = loads[high] - loads[low]
        moves = [(abs(gap - 2 * (costs[a] - costs[b])), a, b) for a in taken[high] for b in taken[low]]
        rest, a, b = min(moves, default=(gap, -1, -1))
        if not rest < gap * (1 - 1e-9):
            return
        taken[high][taken[high].index(a)], taken[low][taken[low].index(b)] = b, a
        loads[high] += costs[b] - costs[a]
        loads[low] += costs[a] - costs[b]


def rank_rows(step: StepRows, rank: int, world: int, cost: Cost | None = None) -> list[Row]:
    """The rows of a step that `rank` of `world` computes, in the step's order.

    Raises ValueError when rank is not in [0, world).
    """
    if not 0 <= rank < world:
        raise ValueError(f"rank {rank} is outside a world of {world}; ranks count from 0")
    return [step.rows[number] for number in assign(step.rows, world, cost)[rank]]


def imbalance(rows: Sequence[Row], world: int, cost: Cost | None = None) -> float:
    """The costliest rank's cost over the mean of all ranks; 1 is even, 0 for a step without rows."""
    rule = cost or Cost()
    loads = [sum(rule.of(rows[number]) for number in numbers) for numbers in assign(rows, world, rule)]
    return max(loads) * world / sum(loads) if rows else 0.0
