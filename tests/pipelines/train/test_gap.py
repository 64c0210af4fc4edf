"""The gap is a paired ratio; its interval covers as often as it says, and hard records widen it not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.pipelines.train.gap import FEWEST, picture_gap, student

RECORDS = st.lists(st.tuples(st.floats(0, 500), st.floats(-5, 5), st.integers(1, 400)), min_size=FEWEST, max_size=40)


@given(records=RECORDS, hard=st.floats(0, 1000))
def test_only_the_difference_counts(records, hard):
    own, difference, targets = zip(*records, strict=True)
    exchanged = [m + d for m, d in zip(own, difference, strict=True)]
    gap = picture_gap(own, exchanged, targets)
    assert gap["records"] == len(records)
    assert gap["mean"] == pytest.approx(sum(difference) / sum(targets), abs=1e-9)
    assert gap["low"] <= gap["mean"] <= gap["high"]
    harder = picture_gap([m + hard for m in own], [e + hard for e in exchanged], targets)
    for name in ("mean", "low", "high"):
        assert harder[name] == pytest.approx(gap[name], abs=1e-8)


@given(records=RECORDS)
def test_the_same_gain_a_target_leaves_no_doubt(records):
    own, _, targets = zip(*records, strict=True)
    gap = picture_gap(own, [m + 0.25 * t for m, t in zip(own, targets, strict=True)], targets)
    assert gap["low"] == pytest.approx(0.25, abs=1e-6)
    assert gap["high"] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("records", [12, 50])
def test_the_interval_holds_the_truth_about_95_times_in_100(records):
    generator = np.random.default_rng(1)
    truth, held = 0.03, 0
    for _ in range(2000):
        targets = generator.integers(40, 160, records)
        own = generator.normal(2.0, 0.5, records) * targets
        gap = picture_gap(own, own + (truth + generator.normal(0, 0.1, records)) * targets, targets)
        held += gap["low"] <= truth <= gap["high"]
    assert 0.92 < held / 2000 < 0.97


def test_student_against_the_tables():
    for freedom, table in ((4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)):
        assert student(freedom) == pytest.approx(table, rel=3e-3)
    assert student(10**9) == pytest.approx(1.959964, abs=1e-6)


def test_few_records_have_no_interval_and_none_no_gap():
    few = picture_gap([1.0] * (FEWEST - 1), [2.0] * (FEWEST - 1), [2] * (FEWEST - 1))
    assert few == {"mean": 0.5, "low": None, "high": None, "records": FEWEST - 1}
    assert picture_gap([], [], []) == {"mean": None, "low": None, "high": None, "records": 0}
    assert math.isfinite(picture_gap([1.0] * FEWEST, [1.0] * FEWEST, [1] * FEWEST)["low"])
