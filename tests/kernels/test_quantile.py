"""Quantile Balancing: histogram against the exact quantile; counts that add bit for bit; balance."""

from itertools import pairwise

import pytest
import torch

pytest.importorskip("hypothesis", reason="laws are tested with hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.moe import route
from trivium.kernels.quantile import histogram, quantile, quantile_bias, quantile_reference

T, E, K = 900, 14, 3


def batch(make, bias=None, tokens=T, skew=1.2):
    bias = torch.zeros(E, dtype=torch.float64) if bias is None else bias
    logits = (make(tokens, E) + make(E, scale=skew)).detach()
    return torch.sigmoid(logits), route(logits, bias, K)[2], bias, logits


@settings(max_examples=25)
@given(tokens=st.integers(1, 400), bins=st.sampled_from([50, 400, 1000]), shift=st.floats(0, 0.6))
def test_the_histogram_is_within_a_bin_of_the_exact_quantile(make, tokens, bins, shift):
    scores, cutoff, bias, _ = batch(make, torch.linspace(-shift, shift, E, dtype=torch.float64), tokens)
    width = float(bias.max() - bias.min() + 2) / bins
    counts = histogram(scores, cutoff, bias, bins)
    assert counts.sum(1).tolist() == [tokens] * E
    exact = quantile_reference(scores, cutoff, K)
    assert (quantile(counts, bias, tokens, K) - exact).abs().max() <= width * (1 + 1e-9)
    centred = quantile_bias(counts, bias, tokens, K)
    assert abs(float(centred.mean())) < 1e-12
    assert (centred - (exact - exact.mean())).abs().max() <= 2 * width


@given(cuts=st.lists(st.integers(0, T), max_size=4))
def test_counts_of_any_split_add_to_the_whole_bit_for_bit(make, cuts):
    scores, cutoff, bias, _ = (x.float() for x in batch(make))
    edges = [0, *sorted(cuts), T]
    parts = [histogram(scores[a:b], cutoff[a:b], bias) for a, b in pairwise(edges)]
    assert torch.equal(torch.stack(parts).sum(0), histogram(scores, cutoff, bias))


def test_padding_is_not_counted(make):
    scores, cutoff, bias, _ = batch(make)
    mask = torch.arange(T) % 3 > 0
    counts = histogram(scores, cutoff, bias, mask_T=mask)
    assert torch.equal(counts, histogram(scores[mask], cutoff[mask], bias))
    tokens = int(mask.sum())
    error = quantile(counts, bias, tokens, K) - quantile_reference(scores, cutoff, K, mask)
    assert error.abs().max() <= 2e-3


def test_an_expert_with_its_quantile_as_bias_gets_its_share(make):
    scores, cutoff, _, _ = batch(make)
    share = -(-T * K // E)
    exact = quantile_reference(scores, cutoff, K)
    margins = cutoff.unsqueeze(1) - scores  # an expert that is itself the cutoff of many tokens has ties at 0
    assert ((margins < exact).sum(0) < share).all()
    assert ((margins <= exact).sum(0) >= share).all()


def test_a_few_steps_balance_a_skewed_batch(make):
    _, _, bias, logits = batch(make, tokens=4096)
    loads = []
    for _ in range(6):
        indices, _, cutoff = route(logits, bias, K)
        loads.append(float(torch.bincount(indices.reshape(-1), minlength=E).max()) * E / (4096 * K))
        bias = quantile_bias(histogram(torch.sigmoid(logits), cutoff, bias), bias, 4096, K)
    assert loads[0] > 2
    assert loads[-1] < 1.2


@pytest.mark.parametrize("tokens", [0, torch.tensor(0)])
def test_a_step_without_tokens_leaves_the_bias(make, tokens):
    bias = torch.linspace(-0.3, 0.2, E)
    counts = histogram(torch.zeros(0, E), torch.zeros(0), bias)
    assert torch.equal(quantile_bias(counts, bias, tokens, K), bias)
