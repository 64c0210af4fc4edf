"""Histograms count every value once, on the right side of every limit, in a size that the corpus does not set."""

import math
from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given

from trivium.pipelines.corpora.report.histogram import bars, code, edge

VALUES = st.floats(-1e12, 1e12) | st.floats(0, 1) | st.integers(0, 10**7)


@given(VALUES)
def test_a_value_lies_in_its_count_which_is_narrow(value):
    low = edge(code(value))
    assert abs(low) <= abs(value) * (1 + 1e-9)
    assert abs(value - low) <= max(abs(value) * 0.021, 1e-6)
    assert code(low) == code(value)


@given(VALUES, VALUES)
def test_codes_keep_the_order_of_values(one, other):
    if one <= other:
        assert code(one) <= code(other)


@given(st.integers(1, 99), st.integers(-4, 6), st.floats(-1e-3, 1e-3))
def test_a_limit_of_two_digits_never_lies_inside_a_count(digits, decade, off):
    limit = float(f"{digits}e{decade}")
    value = limit * (1 + off)
    assert (code(value) >= code(limit)) == (value >= limit or math.isclose(value, limit, rel_tol=1e-9))


def test_a_little_value_below_zero_beside_a_huge_one_has_its_bar():
    drawn = bars({"all": Counter(map(code, (-1.0, 1e10)))})
    assert drawn.edges[0] < 0
    assert sum(drawn.series["all"]) == 2


@given(st.lists(VALUES, min_size=1, max_size=200), st.data())
def test_bars_hold_every_value_and_few_edges(values, data):
    counts = Counter(map(code, values))
    part = Counter(map(code, data.draw(st.lists(st.sampled_from(values)))))
    drawn = bars({"all": counts, "part": part})
    assert sum(drawn.series["all"]) == len(values)
    assert sum(drawn.series.get("part", ())) == part.total()
    assert len(drawn.edges) <= 90
    assert list(drawn.edges) == sorted(set(drawn.edges))
    for value in values:
        low = edge(code(value))
        assert drawn.edges[0] <= low + 1e-6
        assert low < drawn.edges[-1]


@pytest.mark.parametrize(("low", "high"), [(4.0, 5.0), (3.0, 12.0), (0.0, 1.0), (-20.0, 400.0), (0.5, 0.55)])
def test_even_values_give_even_bars(low, high):
    """A bar that is no multiple of the counts' width would make every other one higher."""
    steps = 20_000
    counts = Counter(code(low + (high - low) * (at + 0.5) / steps) for at in range(steps))
    inner = bars({"all": counts}).series["all"][1:-1]
    assert max(inner) <= 1.15 * min(inner)


def test_nothing_counted_draws_nothing():
    assert bars({"all": {}}) is None
