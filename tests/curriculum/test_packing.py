import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.packing import pack

pieces = st.lists(st.tuples(st.integers(1, 256), st.integers(0, 64)), max_size=120)


@given(sizes=pieces)
def test_every_piece_lies_in_one_row_within_both_budgets(sizes: list[tuple[int, int]]) -> None:
    rows = pack([t for t, _ in sizes], [p for _, p in sizes], context=256, patch_budget=64)
    assert sorted(i for row in rows for i in row) == list(range(len(sizes)))
    for row in rows:
        assert row == sorted(row)
        assert sum(sizes[i][0] for i in row) <= 256
        assert sum(sizes[i][1] for i in row) <= 64


@given(sizes=st.lists(st.integers(1, 256), max_size=120))
def test_no_two_rows_would_fit_into_one(sizes: list[int]) -> None:
    rows = pack(sizes, [0] * len(sizes), context=256, patch_budget=0)
    fills = sorted(sum(sizes[i] for i in row) for row in rows)
    assert len(fills) < 2 or fills[0] + fills[1] > 256


def test_a_piece_goes_into_the_tightest_row_that_takes_it() -> None:
    # 40 fits both rows, with 40 and 50 tokens of room: the first is left full.
    assert pack([60, 50, 40], [0, 0, 0], context=100, patch_budget=0) == [[0, 2], [1]]
    assert pack([90, 80, 20, 10], [0, 0, 0, 0], context=100, patch_budget=0) == [[0, 3], [1, 2]]


def test_patches_bound_a_row_that_has_token_room() -> None:
    assert pack([10, 10, 10], [8, 8, 8], context=100, patch_budget=16) == [[0, 1], [2]]


def test_a_piece_that_fits_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="300 tokens and 0 patches fits no row of 256 tokens"):
        pack([300], [0], context=256, patch_budget=64)
    with pytest.raises(ValueError, match="65 patches"):
        pack([3], [65], context=256, patch_budget=64)


@given(sizes=pieces, least=st.integers(0, 60))
def test_more_rows_than_best_fit_needs_are_opened_where_they_are_wanted(
    sizes: list[tuple[int, int]], least: int
) -> None:
    tokens, patches = [t for t, _ in sizes], [p for _, p in sizes]
    fewest = len(pack(tokens, patches, context=256, patch_budget=64))
    rows = pack(tokens, patches, context=256, patch_budget=64, least=least)
    assert len(rows) == max(fewest, min(least, len(sizes)))
    assert sorted(i for row in rows for i in row) == list(range(len(sizes)))
    for row in rows:
        assert row == sorted(row) != []
        assert sum(tokens[i] for i in row) <= 256
        assert sum(patches[i] for i in row) <= 64


def test_rows_that_are_opened_end_up_about_as_full_as_the_others() -> None:
    tokens = [10, 20, 30, 40] * 25
    rows = pack(tokens, [0] * 100, context=250, patch_budget=0, least=11)
    fills = [sum(tokens[i] for i in row) for row in rows]
    assert len(fills) == 11
    assert min(fills) >= 200
