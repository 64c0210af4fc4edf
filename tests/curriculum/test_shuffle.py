import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.shuffle import key64, permute, shuffled_order


@given(size=st.integers(1, 2000), key=st.integers(0, 2**64 - 1))
def test_every_item_stands_once(size: int, key: int) -> None:
    assert sorted(shuffled_order(size, key)) == list(range(size))


@given(size=st.integers(1, 10**12), key=st.integers(0, 2**64 - 1), data=st.data())
def test_any_position_is_found_alone(size: int, key: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20, unique=True))
    together = permute(np.array(places, dtype=np.int64), size, key)
    alone = [int(permute(np.array([place], dtype=np.int64), size, key)[0]) for place in places]
    assert together.tolist() == alone
    assert len(set(alone)) == len(places)
    assert all(0 <= item < size for item in alone)


def test_order_depends_on_the_key_and_has_no_trend() -> None:
    first, second = (np.array(shuffled_order(5000, key64(seed))) for seed in (1, 2))
    assert (first == second).mean() < 0.01
    assert abs(np.corrcoef(first, np.arange(5000))[0, 1]) < 0.05
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.05


def test_order_is_the_same_on_every_machine() -> None:
    assert shuffled_order(10, key64(5, "web/256", 0)) == [7, 9, 4, 2, 8, 5, 6, 3, 0, 1]
