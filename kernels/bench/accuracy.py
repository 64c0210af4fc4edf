"""Hard cases: errors of ours and of each peer, bitwise causality, bitwise repeatability. Nothing is timed.

Odd: a row of 17 tokens holds so few values that two equally right roundings differ by a tenth by chance, so errors
are taken over all heads and over several draws of the operands, the same for every contestant.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec
import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Hard, Operator
from trivium.kernels.bench.measure import SEED, dtype_of, finite
from trivium.kernels.bench.oracle import compare, expect, projections, pull
from trivium.kernels.bench.report import Accuracy

__all__ = ["judge"]


DRAWS, MOST, VALUES = 4, 64, 1 << 14  # as many draws as bring so many values of β, the operand with the fewest rows


def judge(operator: Operator, hard: Hard, contestants: Sequence[Contestant], device: torch.device) -> list[Accuracy]:
    """One entry a contestant, ours first; errors are against the token-by-token definition, root mean squares of all
    draws. A contestant that fails in one draw has failed.
    """
    whole = replace(operator, oracle_heads=None)
    found = [_draw(whole, hard, contestants, device, SEED + draw) for draw in range(draws_of(hard))]
    return [_merged(entries) for entries in zip(*found, strict=True)]


def draws_of(hard: Hard) -> int:
    """A single token's 96 values of β tell two equal arithmetics apart by a twentieth; many draws of it don't."""
    values = max(1, hard.layout.tokens * hard.layout.heads)
    return min(MOST, max(DRAWS, -(-VALUES // values)))


def _draw(
    operator: Operator, hard: Hard, contestants: Sequence[Contestant], device: torch.device, seed: int
) -> list[Accuracy]:
    torch.manual_seed(seed)
    operands = hard.operands(hard.layout, device, dtype_of(device))
    with torch.no_grad():
        weights = projections(contestants[0].bind(hard.layout, device)(*operands))
    expected = expect(operator, hard.layout, operands, weights, exact=True)
    return [_entry(operator, hard, contestant, operands, weights, expected, device) for contestant in contestants]


def _merged(entries: Sequence[Accuracy]) -> Accuracy:
    """One contestant's draws as one entry."""
    errors: dict[str, float | None] = {}
    for name in {name: None for entry in entries for name in entry.errors}:
        of_draws = [entry.errors.get(name) for entry in entries]
        squares = [error**2 for error in of_draws if error is not None]
        errors[name] = math.sqrt(sum(squares) / len(squares)) if len(squares) == len(entries) else None
    return msgspec.structs.replace(
        entries[0], errors=errors, draws=len(entries), problem=next((e.problem for e in entries if e.problem), ""),
        causal=_all(entry.causal for entry in entries), repeats=_all(entry.repeats for entry in entries),
    )  # fmt: skip


def _all(flags: Iterable[bool | None]) -> bool | None:
    """Whether it held in every draw that asked; None where none did."""
    asked = [flag for flag in flags if flag is not None]
    return all(asked) if asked else None


def _entry(
    operator: Operator,
    hard: Hard,
    contestant: Contestant,
    operands: Sequence[Tensor],
    weights: Sequence[Tensor],
    expected: dict[str, Tensor],
    device: torch.device,
) -> Accuracy:
    errors: dict[str, float | None] = {}
    causal = repeats = None
    problem = ""
    try:
        call = contestant.bind(hard.layout, device)
        outputs, gradients = pull(call, operands, weights)
        errors = finite(compare(operator, hard.layout, outputs, gradients, expected))
        missing = [name for name, error in errors.items() if error is None]
        problem = f"{', '.join(missing)} not finite" if missing else ""
        again = pull(call, operands, weights)
        repeats = all(torch.equal(a, b) for a, b in zip([*outputs, *gradients], [*again[0], *again[1]], strict=True))
        causal = _causal(call, operands, outputs[0], hard) if hard.positions else None
    except Exception as error:  # whatever another library raises is its result on this case
        problem = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return Accuracy(
        op=operator.name, case=hard.name, contestant=contestant.name, peer=contestant.peer, errors=errors,
        problem=problem, causal=causal, repeats=repeats,
    )  # fmt: skip


@torch.no_grad()
def _causal(call: Call, operands: Sequence[Tensor], before: Tensor, hard: Hard) -> bool:
    """Whether editing one token, in every operand that has a row a token, leaves all earlier outputs bit-equal."""
    tokens = hard.layout.tokens
    for position in hard.positions:
        edited = [x.clone() for x in operands]
        for x in edited:
            if x.shape[0] == tokens:
                x[position] = x[position] * -3 + 1
        if not torch.equal(call(*edited)[0][:position], before[:position]):
            return False
    return True
