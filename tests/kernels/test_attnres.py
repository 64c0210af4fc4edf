"""Attention Residuals: definition, zero query, two phases."""

import pytest
import torch

from trivium.kernels.attnres import (
    attnres,
    attnres_bank,
    attnres_join,
    attnres_normed,
    attnres_reference,
    merge,
    phase_one,
)
from trivium.kernels.gated_norm import rms_norm_reference

T, D = 7, 12


@pytest.mark.parametrize("sources", [1, 2, 5])
def test_outputs_and_gradients_equal_the_definition(make, compare, sources):
    operands = [make(T, D) for _ in range(sources)] + [make(D), make(D, scale=0.1, shift=1)]
    compare(lambda *x: attnres(x[:-2], *x[-2:]), lambda *x: attnres_reference(x[:-2], *x[-2:]), operands)


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
@pytest.mark.parametrize("bank", [1, 4])
def test_two_phases_of_decoding_equal_the_definition(make, bank, dtype, bound):
    sources = [make(T, D, dtype=dtype).detach() for _ in range(bank)]
    queries, gammas = make(3, D, dtype=dtype).detach(), make(3, D, dtype=dtype).detach()
    own = [make(T, D, dtype=dtype, scale=3.0).detach() for _ in range(3)]
    mixed, total = attnres_bank(sources, queries * gammas)
    for s in range(3):
        joined = attnres_join(own[s], mixed[s], total[s], queries[s] * gammas[s])
        precise = [x.double() for x in (*sources, own[s], queries[s], gammas[s])]
        assert (joined - attnres_reference(precise[:-2], *precise[-2:])).abs().max() < bound
        assert (mixed[s] - attnres_reference(precise[:bank], *precise[-2:])).abs().max() < bound


def test_the_second_phase_gives_the_norm_too(make):
    bank, own, query, gamma, weight = make(2, T, D), make(T, D), make(D), make(D), make(D)
    mixed, total = attnres_bank([*bank], (query * gamma).unsqueeze(0))
    found = attnres_join(own, mixed[0], total[0], query * gamma, 1e-5, weight, 1e-3)
    right = rms_norm_reference(attnres_reference([*bank, own], query, gamma), weight, 1e-3)
    torch.testing.assert_close(found, right, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("sources", "dtype", "tolerance"), [(2, torch.float64, 1e-12), (5, torch.bfloat16, 2e-2)])
def test_a_mixture_with_its_norm_equals_the_definition(make, compare, sources, dtype, tolerance):
    high = torch.promote_types(dtype, torch.float32)
    operands = [make(T, D, dtype=dtype) for _ in range(sources)]
    operands += [make(D, dtype=high), make(D, scale=0.1, shift=1, dtype=high), make(D, scale=0.1, shift=1, dtype=high)]
    compare(
        lambda *x: attnres_normed(x[:-3], *x[-3:]),
        lambda *x: rms_norm_reference(attnres_reference(x[:-3], *x[-3:-1]), x[-1]),
        operands,
        tolerance,
        tolerance,
    )


def test_sources_that_need_no_gradient_get_none(make):
    fixed, free, query, gamma, weight = make(T, D).detach(), make(T, D), make(D).detach(), make(D), make(D)
    attnres_normed([fixed, free], query, gamma, weight).sum().backward()
    assert fixed.grad is None
    assert query.grad is None
    assert all(x.grad.abs().max() > 0 for x in (free, gamma, weight))


def test_a_stack_equals_a_list(make, compare):
    compare(attnres, attnres_reference, [make(3, T, D), make(D), make(D)])


def test_small_case_passes_gradcheck(make):
    assert torch.autograd.gradcheck(
        lambda a, b, q, g: attnres([a, b], q, g), [make(2, 3), make(2, 3), make(3), make(3)]
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 1e-2)])
def test_low_precision_stays_near_fp64(make, compare, dtype, tolerance):
    operands = [make(20, 64, dtype=dtype) for _ in range(4)] + [make(64, dtype=torch.float32) for _ in range(2)]
    compare(
        lambda *x: attnres(x[:-2], *x[-2:]),
        lambda *x: attnres_reference(x[:-2], *x[-2:]),
        operands,
        tolerance,
        tolerance,
    )


def test_a_zero_query_gives_the_mean_bit_for_bit_and_the_query_learns(make):
    stack = make(5, T, D, dtype=torch.float32).detach()
    query, gamma = torch.zeros(D, requires_grad=True), torch.ones(D, requires_grad=True)
    h = attnres(list(stack), query, gamma)
    assert torch.equal(h, sum(stack) / 5)
    dquery, dgamma = torch.autograd.grad(h.square().sum(), (query, gamma))
    assert dquery.abs().max() > 0
    assert dgamma.abs().max() == 0


def test_two_phases_equal_one(make, compare):
    queries, gammas = make(3, D), make(3, D)
    bank, partials = make(4, T, D), make(3, T, D)

    def two(bank, partials, queries, gammas):
        most, total, weighted = phase_one(bank, queries, gammas)
        return [merge(most[s], total[s], weighted[s], partials[s], queries[s], gammas[s]) for s in range(3)]

    def one(bank, partials, queries, gammas):
        return [attnres_reference([*bank, partials[s]], queries[s], gammas[s]) for s in range(3)]

    compare(two, one, [bank, partials, queries, gammas])


def test_large_logits_do_not_overflow(make):
    h = attnres([make(T, D, dtype=torch.float32) for _ in range(3)], torch.full((D,), 1e4), torch.ones(D))
    assert h.isfinite().all()
