import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.curriculum.plan import Plan
from trivium.curriculum.ranks import Cost, assign, imbalance, rank_rows
from trivium.curriculum.rows import Piece, Row, StepRows

rows = st.lists(
    st.builds(
        lambda sizes, patches: Row(tuple(Piece("web", n, 0, t) for n, t in enumerate(sizes)), sum(sizes), patches),
        st.lists(st.integers(1, 9000), min_size=1, max_size=5),
        st.integers(0, 4000),
    ),
    max_size=40,
)


@given(made=rows, world=st.integers(1, 12))
def test_ranks_share_all_rows_evenly_in_number_and_nearly_in_cost(made: list[Row], world: int) -> None:
    shares = assign(made, world)
    assert sorted(number for share in shares for number in share) == list(range(len(made)))
    assert all(list(share) == sorted(share) for share in shares)
    counts = [len(share) for share in shares]
    assert max(counts) - min(counts) <= 1
    costs = [sum(Cost().of(made[number]) for number in share) for share in shares]
    largest = max((Cost().of(row) for row in made), default=0.0)
    assert max(costs) - min(costs) <= 2 * largest


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_the_union_of_all_ranks_is_the_step_in_its_order(mixed, make_schedule, world: int) -> None:
    stages = [
        {"context": 256, "rows": 8, "tokens": 9_000, "mixture": {"web": 0.8, "svg": 0.2}},
        {"context": 1024, "rows": 2, "tokens": 6_000, "mixture": {"web": 0.8, "svg": 0.2}},
    ]
    alone = Plan.open(make_schedule(stages, window=64), mixed)
    for step, _ in alone.rows():
        # Another process of another world reaches the step by itself.
        (other, _), *_ = [next(Plan.open(make_schedule(stages, window=64), mixed).rows(alone.at(step.step)))]
        shares = [rank_rows(other, rank, world) for rank in range(world)]
        place = {row: number for number, row in enumerate(step.rows)}
        union = sorted((row for share in shares for row in share), key=place.__getitem__)
        assert tuple(union) == step.rows
        assert other.digest == step.digest


@given(made=rows, first=st.sampled_from([1, 2, 3, 8]), second=st.sampled_from([1, 2, 3, 8]), cut=st.integers(0, 5))
@settings(max_examples=30)
def test_another_world_size_changes_who_computes_and_nothing_else(made, first, second, cut) -> None:
    step = StepRows(cut, 0, 9000, tuple(made), 0.1)
    seen = [
        sorted((row for rank in range(world) for row in rank_rows(step, rank, world)), key=repr)
        for world in (first, second)
    ]
    assert seen[0] == seen[1]


def test_costly_rows_are_dealt_apart() -> None:
    def row(tokens: int, patches: int) -> Row:
        return Row((Piece("web", 0, 0, tokens),), tokens, patches)

    made = [row(100, 4000), row(100, 4000), row(100, 0), row(100, 0)]
    assert [sorted(made[i].patches for i in share) for share in assign(made, 2)] == [[0, 4000], [0, 4000]]
    assert imbalance(made, 2) == pytest.approx(1.0)
    long = [row(500_000, 0), *[row(125_000, 0)] * 4]
    cost = Cost()
    assert cost.of(long[0]) == pytest.approx(500_000 + 500_000**2 / 283_000)
    assert cost.of(long[0]) > sum(cost.of(r) for r in long[1:])
    assert imbalance([], 4) == 0.0


def test_a_rank_outside_its_world_is_refused() -> None:
    step = StepRows(0, 0, 8, (), 0.1)
    with pytest.raises(ValueError, match="rank 2 is outside a world of 2"):
        rank_rows(step, 2, 2)
    with pytest.raises(ValueError, match="world of 0"):
        assign([], 0)
