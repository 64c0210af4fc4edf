import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.learning_rate import learning_rate
from trivium.curriculum.schedule import LearningRate

curves = st.builds(
    LearningRate,
    peak=st.floats(1e-5, 1e-1),
    min_ratio=st.floats(0, 1),
    warmup_ratio=st.floats(0, 0.5),
    decay_ratio=st.floats(0.01, 0.5),
    shape=st.sampled_from(["cosine", "wsd"]),
)


@given(curve=curves, steps=st.integers(2, 400))
def test_rises_to_the_peak_then_never_rises_and_ends_on_the_floor(curve: LearningRate, steps: int) -> None:
    rates = [learning_rate(step, steps, curve) for step in range(steps)]
    warmup = math.ceil(steps * curve.warmup_ratio)
    rising, falling = rates[:warmup], rates[max(warmup - 1, 0) :]
    assert rising == sorted(rising)
    assert all(a >= b * (1 - 1e-12) for a, b in itertools.pairwise(falling))
    assert max(rates) <= curve.peak
    if warmup:
        assert rates[warmup - 1] == curve.peak
    if warmup < steps - 1:
        assert rates[-1] == pytest.approx(curve.peak * curve.min_ratio, rel=1e-9, abs=1e-15)


def test_cosine_by_hand() -> None:
    curve = LearningRate(peak=1.0, min_ratio=0.0, warmup_ratio=0.2)
    assert [round(learning_rate(step, 10, curve), 6) for step in range(10)] == [
        0.5,
        1.0,
        1.0,
        *(round(0.5 + 0.5 * math.cos(math.pi * k / 7), 6) for k in range(1, 8)),
    ]


def test_stable_then_decay_by_hand() -> None:
    curve = LearningRate(peak=1.0, min_ratio=0.1, warmup_ratio=0.1, decay_ratio=0.4, shape="wsd")
    rates = [learning_rate(step, 10, curve) for step in range(10)]
    assert rates == pytest.approx([1, 1, 1, 1, 1, 1, 1, 0.7, 0.4, 0.1])


def test_a_step_outside_the_run_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the run's 10 steps"):
        learning_rate(10, 10, LearningRate(peak=1.0))
