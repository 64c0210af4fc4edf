import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.shuffle import LARGEST, key64, permute, shuffled_order


@given(size=st.integers(1, 2000), key=st.integers(0, 2**64 - 1))
def test_every_item_stands_once(size: int, key: int) -> None:
    assert sorted(shuffled_order(size, key)) == list(range(size))


@given(size=st.integers(1, LARGEST), key=st.integers(0, 2**64 - 1), data=st.data())
def test_any_position_is_found_alone(size: int, key: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20, unique=True))
    together = permute(np.array(places, dtype=np.int64), size, key)
    alone = [int(permute(np.array([place], dtype=np.int64), size, key)[0]) for place in places]
    assert together.tolist() == alone
    assert len(set(alone)) == len(places)
    assert all(0 <= item < size for item in alone)


def test_more_items_than_can_be_shuffled_are_refused() -> None:
    with pytest.raises(ValueError, match="more than the"):
        permute(np.array([0], dtype=np.int64), LARGEST + 1, 1)


@given(size=st.integers(200, 5000), seed=st.integers(0, 2**32))
def test_epochs_have_different_orders(size: int, seed: int) -> None:
    orders = [np.array(shuffled_order(size, key64(seed, "web/8k", epoch))) for epoch in range(3)]
    for first, second in itertools.combinations(orders, 2):
        assert (first == second).sum() < 12  # one agrees on average, whatever the size


def _chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / counts.size
    return float(((counts - expected) ** 2 / expected).sum())


def test_small_shuffles_give_every_order_equally_often() -> None:
    """All 24 orders of 4 items over 9600 keys: 23 degrees of freedom, 99.9 % of even ones lie below 49.7."""
    seen = Counter(tuple(shuffled_order(4, key64(key))) for key in range(9_600))
    assert len(seen) == 24
    assert _chi_square(np.array(list(seen.values()))) < 49.7


def test_a_large_shuffle_has_no_trend() -> None:
    size = 100_003
    order = np.array(shuffled_order(size, key64("trend")))
    at = np.arange(size)
    for series in (order, order % 7, order // 317):
        for lag in (1, 2, 317):  # 317: about the side of the square that the rounds work on
            assert abs(np.corrcoef(series[:-lag], series[lag:])[0, 1]) < 0.02
    assert abs(np.corrcoef(order, at)[0, 1]) < 0.02
    table = np.histogram2d(at, order, bins=16)[0]  # from which sixteenth to which: 255 degrees of freedom
    assert _chi_square(table) < 340


def test_neighbours_part_at_every_distance() -> None:
    """How far apart neighbours land follows the triangle of two even draws: means of many keys, in 10 parts."""
    size, counts = 10_000, np.zeros(10)
    for key in range(20):
        gaps = np.abs(np.diff(shuffled_order(size, key64("gaps", key))))
        counts += np.histogram(gaps, bins=10, range=(0, size))[0]
    edges = np.arange(11) / 10
    expected = np.diff(2 * edges - edges**2) * counts.sum()
    assert float(((counts - expected) ** 2 / expected).sum()) < 35


def test_order_is_the_same_on_every_machine() -> None:
    assert shuffled_order(10, key64(5, "web/256", 0)) == [8, 7, 5, 9, 0, 4, 6, 3, 1, 2]
    assert permute(np.array([0, 1, 9_999_999_999]), 10**10, 7).tolist() == DEEP


DEEP = [4737267936, 9627932739, 7721971605]
