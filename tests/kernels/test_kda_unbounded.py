"""Kimi Linear's gate, whose decay has no bound: by chunks as token by token, where a row forgets everything too."""

from functools import partial

import pytest
import torch

from trivium.kernels.kda import kda, kda_reference, unbounded
from trivium.kernels.kda.plan import CHUNK, TILE

H, K, V = 2, 6, 5


def operands(make, T, D, spread):
    sizes = [(T, H, K), (T, H, K), (T, H, V), (T, H, K), (T, H), (H,), (H, K), (D, H, K, V)]
    x = [make(*size).detach() for size in sizes]
    x[3] = x[3] * spread  # of the raw gate: 300 forgets everything at some rows and nothing at others
    x[5] = x[5].abs() * 1.4  # A up to about 16, as it begins
    return x


def with_state(op, cu, **extra):
    return lambda *x: op(*x[:7], cu, initial_state=x[7], lower_bound=None, **extra)


@pytest.mark.parametrize("spread", [1.0, 300.0])
@pytest.mark.parametrize("lengths", [[65, 0, 1, 16, 17, 130], [0], [3]])
def test_chunks_equal_the_recurrence(monkeypatch, make, compare, borders, lengths, spread):
    monkeypatch.setattr(unbounded, "PAIRS", 3 * H * CHUNK * TILE * K)  # three chunks at a time
    cu = borders(lengths)
    x = operands(make, sum(lengths), len(lengths), spread)
    compare(with_state(kda, cu, return_state=True), with_state(kda_reference, cu), x)


def test_single_precision_stays_near_and_finite(make, compare, borders):
    cu = borders([97, 64])
    x = [part.float() for part in operands(make, 161, 2, 30.0)]
    compare(with_state(kda, cu, return_state=True), with_state(kda_reference, cu), x, 2e-5, 2e-4)


def test_a_later_token_changes_no_earlier_output(make, borders):
    cu = borders([100])
    x = operands(make, 100, 1, 3.0)
    run = partial(kda, cu_seqlens=cu, lower_bound=None)
    before = run(*x[:7])
    for part in x[:5]:
        part[70:] += 1.0
    assert torch.equal(run(*x[:7])[:70], before[:70])
