import hashlib
import os
from collections import Counter
from itertools import islice, takewhile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.curriculum.line import WHOLE
from trivium.curriculum.plan import Plan
from trivium.curriculum.rows import Cursor, State
from trivium.errors import CheckpointError, ConfigError

TWO = [
    {"context": 64, "rows": 3, "tokens": 1500, "patches": 32, "mixture": {"web": 3, "svg": 1}},
    {"context": 256, "rows": 2, "tokens": 2900, "patches": 64, "mixture": {"web": 1, "svg": 1}},
]
FOUR = [
    {"context": 256, "rows": 8, "tokens": 20_000, "mixture": {"web": 0.8, "svg": 0.2}},
    {"context": 1024, "rows": 2, "tokens": 20_000, "mixture": {"web": 0.8, "svg": 0.2}},
    {"context": 2048, "rows": 1, "tokens": 20_000, "mixture": {"web": 0.5, "svg": 0.5}},
    {"context": 4096, "rows": 1, "tokens": 9_000, "mixture": {"web": 1.0}, "buckets": ["1024", "4096"]},
]
sizes = st.lists(st.integers(1, 300), min_size=1, max_size=40)


def _json(state: State) -> State:
    return msgspec.json.decode(msgspec.json.encode(state), type=State)


@given(web=sizes, svg=sizes, window=st.integers(2, 30), cut=st.integers(0, 40), fraction=st.sampled_from([0.0, 0.2]))
@settings(max_examples=12, deadline=None)
def test_resume_gives_the_same_rows(make_catalogue, make_schedule, web, svg, window, cut, fraction) -> None:
    catalogues = {
        "web": make_catalogue("web", [*web, 10, 11, 12]),
        "svg": make_catalogue("svg", [min(s, 50) for s in svg], [4 * (s % 8) for s in svg]),
    }
    schedule = make_schedule(TWO, window=window, held_out={"fraction": fraction})
    try:
        plan = Plan.open(schedule, catalogues)
    except ConfigError:  # every document of a corpus held out
        assert fraction
        return
    whole = list(plan.rows())
    assert len(whole) == plan.steps
    assert [step.step for step, _ in whole] == list(range(plan.steps))
    state = whole[cut - 1][1] if 0 < cut <= len(whole) else plan.start()
    rest = whole[cut:] if 0 < cut <= len(whole) else whole
    assert list(Plan.open(schedule, catalogues).rows(_json(state))) == rest


def test_a_resume_in_the_middle_of_a_window_and_at_a_change_of_stage(mixed, make_schedule) -> None:
    plan = Plan.open(make_schedule(FOUR, window=64), mixed)
    whole = list(plan.rows())
    assert any(state.row for _, state in whole)
    for index, (_, state) in enumerate(whole):
        assert list(islice(plan.rows(_json(state)), 2)) == whole[index + 1 : index + 3]
    assert [state.stage for _, state in whole].count(4) == 1
    assert list(plan.rows(whole[-1][1])) == []


def test_a_stage_starts_where_the_one_before_stopped(mixed, make_schedule) -> None:
    plan = Plan.open(make_schedule(FOUR, window=64), mixed)
    whole = list(plan.rows())
    for stage in range(len(FOUR) + 1):
        first = plan.first_step(stage)
        assert plan.start(stage) == (whole[first - 1][1] if first else plan.start())
    assert [plan.stage_of(step.step) for step, _ in whole] == [step.stage for step, _ in whole]
    assert len(msgspec.json.encode(whole[7][1])) < 400


@given(web=sizes, svg=sizes, window=st.integers(2, 30), fraction=st.sampled_from([0.0, 0.2]))
@settings(max_examples=12, deadline=None)
def test_any_step_is_reached_without_a_state(make_catalogue, make_schedule, web, svg, window, fraction) -> None:
    catalogues = {
        "web": make_catalogue("web", [*web, 10, 11, 12], ids=[f"w{n}" for n in range(len(web) + 3)]),
        "svg": make_catalogue("svg", [*(min(s, 50) for s in svg), 9, 9], [4 * (s % 8) for s in [*svg, 1, 2]]),
    }
    schedule = make_schedule(TWO, window=window, held_out={"fraction": fraction})
    try:
        plan = Plan.open(schedule, catalogues)
    except ConfigError:  # every document of a corpus held out
        assert fraction
        return
    for step, (_, behind) in enumerate(plan.rows(), start=1):
        assert plan.at(step) == behind
    assert plan.at(0) == plan.start()
    with pytest.raises(ValueError, match="outside the run"):
        plan.at(plan.steps + 1)


def _tokens_seen(plan: Plan) -> dict[str, Counter[tuple[int, int]]]:
    seen: dict[str, Counter[tuple[int, int]]] = {name: Counter() for name in plan.catalogues}
    for step, _ in plan.rows():
        for row in step.rows:
            for piece in row.pieces:
                seen[piece.corpus].update((piece.record, at) for at in range(piece.start, piece.stop))
    return seen


@given(web=sizes, window=st.integers(2, 30))
@settings(max_examples=20, deadline=None)
def test_within_an_epoch_nothing_is_lost_and_nothing_comes_twice(make_catalogue, make_schedule, web, window) -> None:
    catalogue = make_catalogue("web", [*web, *range(1, 300, 7)])
    total = int(catalogue.tokens.sum())
    stages = [
        {"context": 64, "rows": 1, "tokens": total // 2, "mixture": {"web": 1}},
        {"context": 256, "rows": 1, "tokens": total - total // 2 + 600, "mixture": {"web": 1}},
    ]
    plan = Plan.open(make_schedule(stages, window=window), {"web": catalogue})
    seen = _tokens_seen(plan)["web"]
    # More than one epoch of every pool was read, less than three: every token of every record came once to thrice,
    # and tokens of one pool differ by at most one.
    for bucket in range(4):
        records = [int(r) for r in (catalogue.bucket == bucket).nonzero()[0]]
        counts = {seen[record, at] for record in records for at in range(int(catalogue.tokens[record]))}
        assert not counts or max(counts) - min(counts) <= 1
    assert sum(seen.values()) == pytest.approx(sum(stage.tokens for stage in plan.stages), abs=4 * 256)


def test_budgets_hold_and_a_document_that_fits_is_never_cut(mixed, make_schedule) -> None:
    schedule = make_schedule(FOUR, window=64)
    plan = Plan.open(schedule, mixed)
    tokens: Counter[int] = Counter()
    for step, _ in plan.rows():
        rules = schedule.stages[step.stage]
        assert step.rows
        assert step.context == rules.context
        tokens[step.stage] += step.tokens
        for row in step.rows:
            assert row.tokens == sum(piece.tokens for piece in row.pieces) <= rules.context
            pictures = [int(mixed[p.corpus].patches[p.record]) for p in row.pieces]
            assert row.patches == sum(pictures) <= rules.patch_budget
            for piece, patches in zip(row.pieces, pictures, strict=True):
                length = int(mixed[piece.corpus].tokens[piece.record])
                if patches:
                    assert (piece.start, piece.stop) == (0, length)
                elif piece.tokens < length and piece.start == 0:
                    assert length > rules.context
                    assert piece.tokens == rules.context
    for number, rules in enumerate(schedule.stages):
        longest = sum(line.supply.longest for line in plan.stages[number].lines)
        assert abs(tokens[number] - rules.tokens) <= longest / 2
        assert plan.first_step(number + 1) - plan.first_step(number) == plan.stages[number].steps


def test_steps_hold_their_batch_and_their_rows(make_catalogue, make_schedule) -> None:
    rng = np.random.default_rng(3)
    catalogue = make_catalogue("web", np.exp(rng.normal(4, 1, 4000)).astype(np.int64) % 1000 + 2)
    stage = {"context": 1024, "rows": 6, "fill": 0.98, "tokens": 300_000, "mixture": {"web": 1}}
    plan = Plan.open(make_schedule([stage], window=500), {"web": catalogue})
    steps = [step for step, _ in plan.rows()]
    assert len(steps) == -(-300_000 // (6 * 1003))
    assert {len(step.rows) for step in steps} == {6}
    assert np.mean([step.tokens for step in steps]) == pytest.approx(300_000 / len(steps), abs=20)
    tight = Plan.open(
        make_schedule([stage | {"context": 110, "rows": 6, "tokens": 100_000, "fill": 1.0}]), {"web": catalogue}
    )
    assert {len(step.rows) for step, _ in tight.rows()} <= {6, 7, 8}
    assert tight.steps == -(-100_000 // 660)


def test_a_batch_ramps_up_in_a_line(make_catalogue, make_schedule) -> None:
    catalogue = make_catalogue("web", [50] * 1000)
    ramp = {"start": 400, "tokens": 20_000}
    stage = {"context": 100, "fill": 1.0, "batch_tokens": 1600, "ramp": ramp, "tokens": 60_000, "mixture": {"web": 1}}
    plan = Plan.open(make_schedule([stage], window=64), {"web": catalogue})
    counts = [len(step.rows) for step, _ in plan.rows()]
    assert counts[0] == 5  # 430 tokens
    assert counts[:20] == sorted(counts[:20])
    assert set(counts[20:]) == {16}
    assert len(counts) == 20 + 25


def test_the_mixture_is_met_in_tokens(mixed, make_schedule) -> None:
    plan = Plan.open(make_schedule(FOUR, window=64), mixed)
    for number, stage in enumerate(plan.schedule.stages):
        taken: Counter[str] = Counter()
        for step, _ in takewhile(lambda pair, n=number: pair[0].stage == n, plan.rows(plan.start(number))):
            for row in step.rows:
                for piece in row.pieces:
                    taken[piece.corpus] += piece.tokens
        for corpus, share in stage.shares.items():
            assert taken[corpus] / stage.tokens == pytest.approx(share, abs=2 * stage.context / stage.tokens)


@given(
    lengths=st.lists(st.lists(st.integers(1, 400), min_size=1, max_size=20), min_size=2, max_size=3),
    weights=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    window=st.integers(1, 40),
)
@settings(max_examples=15, deadline=None)
def test_at_every_prefix_each_bucket_is_off_by_less_than_its_longest_document(
    make_catalogue, make_schedule, lengths, weights, window
) -> None:
    catalogues = {f"c{n}": make_catalogue(f"c{n}", sizes) for n, sizes in enumerate(lengths)}
    mixture = dict(zip(catalogues, weights, strict=False))
    stage = {"context": 256, "rows": 2, "tokens": 2000, "mixture": mixture}
    plan = Plan.open(make_schedule([stage], window=window), catalogues)
    lines, state = plan.stages[0].lines, plan.start()
    numbers, twice, sizes = [], [], []
    for number in range(plan.stages[0].windows.count):
        made = plan.window(0, number, state.cursors)
        numbers += made.line
        twice += made.pieces.twice.tolist()
        sizes += (made.pieces.stop - made.pieces.start).tolist()
        state = msgspec.structs.replace(state, cursors=made.cursors)
    line = np.array(numbers)
    clock = np.array(twice) / 2 * WHOLE / np.array([lines[n].weight for n in numbers])  # the clock at each piece
    assert (np.diff(clock) > -1e-6).all()
    longest: Counter[str] = Counter()
    error: dict[str, np.ndarray] = {}
    for number, one in enumerate(lines):
        taken = np.cumsum(np.where(line == number, sizes, 0))
        off = taken - clock * one.weight / WHOLE
        assert np.abs(off).max() <= one.supply.longest / 2 + 1e-6
        longest[one.pool.corpus] += one.supply.longest
        error[one.pool.corpus] = error.get(one.pool.corpus, 0) + off
    for corpus, off in error.items():
        assert np.abs(off).max() <= longest[corpus] / 2 + 1e-6


def test_a_small_weight_is_not_served_first_in_every_window(make_catalogue, make_schedule) -> None:
    catalogues = {"web": make_catalogue("web", [100] * 500), "rare": make_catalogue("rare", [1000] * 50)}
    stage = {"context": 1024, "rows": 4, "tokens": 200_000, "mixture": {"web": 0.98, "rare": 0.02}}
    plan = Plan.open(make_schedule([stage], window=32), catalogues)
    assert plan.stages[0].windows.count > 40
    taken = [p.tokens for step, _ in plan.rows() for row in step.rows for p in row.pieces if p.corpus == "rare"]
    assert sum(taken) == 4000


def test_pictures_that_do_not_fit_are_skipped_and_counted(make_catalogue, make_schedule) -> None:
    catalogues = {"svg": make_catalogue("svg", [50, 600, 60, 70], [8, 8, 400, 16])}
    stage = {"context": 256, "rows": 1, "tokens": 2000, "patches": 64, "mixture": {"svg": 1}}
    plan = Plan.open(make_schedule([stage]), catalogues)
    seen = {piece.record for step, _ in plan.rows() for row in step.rows for piece in row.pieces}
    assert seen == {0, 3}
    skipped = [supply.skipped for supply in plan.stages[0].supply.values() if supply.skipped]
    assert sorted(key for counts in skipped for key in counts) == ["pictures_too_long", "too_many_patches"]


def test_rows_are_mixed_inside_a_window(make_catalogue, make_schedule) -> None:
    catalogues = {"web": make_catalogue("web", list(range(2, 1000, 3)))}
    stage = {"context": 1024, "rows": 4, "tokens": 150_000, "mixture": {"web": 1}}
    plan = Plan.open(make_schedule([stage]), catalogues)
    longest = [max(p.tokens for p in row.pieces) for step, _ in plan.rows() for row in step.rows]
    assert len(longest) > 100
    assert abs(np.corrcoef(longest, range(len(longest)))[0, 1]) < 0.3  # best fit makes them in falling order


def test_real_sizes_fill_8k_rows(make_catalogue, make_schedule) -> None:
    """The sources of the standard library, 4 bytes a token: real documents of every length, all cut ones included."""
    library = Path(os.__file__).parent
    files = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    lengths = [path.stat().st_size // 4 + 2 for path in files]
    stage = {"context": 8192, "rows": 4, "fill": 0.995, "tokens": sum(lengths) // 2, "mixture": {"web": 1}}
    plan = Plan.open(make_schedule([stage]), {"web": make_catalogue("web", lengths)})
    rows = [row.tokens for step, _ in plan.rows() for row in step.rows]
    assert sum(rows) / (len(rows) * 8192) >= 0.97


def test_held_out_rows_hold_the_held_out_documents_and_no_others(mixed, make_schedule) -> None:
    plan = Plan.open(make_schedule(FOUR, held_out={"fraction": 0.2}), mixed)
    trained = {(p.corpus, p.record) for step, _ in plan.rows() for row in step.rows for p in row.pieces}
    for corpus in ("web", "svg"):
        rows = plan.held_out(corpus, context=512)
        held = Counter[int]()
        for row in rows:
            assert row.tokens <= 512
            for piece in row.pieces:
                held[piece.record] += piece.tokens
        expected = {int(r): int(mixed[corpus].tokens[r]) for r in plan.sides[corpus].held_out}
        assert held == expected
        assert not {(corpus, record) for record in held} & trained
    assert max(row.tokens for row in plan.held_out("web")) > 512


def test_what_was_scanned_is_kept_and_read_again(mixed, make_schedule, tmp_path) -> None:
    schedule = make_schedule(FOUR)
    scanned: list[int] = []
    first = Plan.open(schedule, mixed, cache=tmp_path, progress=scanned.append)
    assert scanned[-1] == 550
    again: list[int] = []
    second = Plan.open(schedule, mixed, cache=tmp_path, progress=again.append)
    assert [step for step, _ in second.rows()] == [step for step, _ in first.rows()]
    assert again == []
    for path in tmp_path.glob("*.json"):
        path.write_bytes(b"{half a fi")
    assert list(Plan.open(schedule, mixed, cache=tmp_path).rows()) == list(first.rows())


def test_the_digest_names_what_decides_the_rows(mixed, make_schedule, make_catalogue) -> None:
    base = Plan.open(make_schedule(FOUR), mixed).digest
    assert Plan.open(make_schedule(FOUR, lr={"peak": 0.1}), mixed).digest == base
    assert Plan.open(make_schedule(FOUR, seed=6), mixed).digest != base
    assert Plan.open(make_schedule(FOUR), mixed | {"svg": make_catalogue("svg", [9] * 50)}).digest != base


def test_a_state_of_another_plan_is_refused(mixed, make_schedule) -> None:
    plan = Plan.open(make_schedule(FOUR), mixed)
    start = plan.start()
    wrong = [
        msgspec.structs.replace(start, stage=9),
        msgspec.structs.replace(start, step=10**6),
        msgspec.structs.replace(start, cursors={"books/256": Cursor()}),
        msgspec.structs.replace(start, cursors=start.cursors | {"web/256": Cursor(0, 10**6)}),
    ]
    for state in wrong:
        with pytest.raises(CheckpointError, match="belongs to another schedule or other corpora"):
            next(plan.rows(state))


@pytest.mark.parametrize(
    ("stage", "changes", "message"),
    [
        ({"buckets": ["512"]}, {}, "has a document in a bucket '512'; they have 256, 8192"),
        ({"buckets": ["8192"]}, {}, "'svg' has no training document that fits rows of 256 .* in the buckets 8192"),
        ({"patches": 0}, {}, "'svg' has no training document that fits rows of 256 tokens and 0 patches"),
        ({}, {"corpora": {"svg": {"path": "svg", "max_epochs": 0.5}}}, r"bucket 256 \d\.\d\d times and 0.5 is allowed"),
    ],
)
def test_a_stage_that_can_not_be_filled_is_refused(make_catalogue, make_schedule, stage, changes, message) -> None:
    base = {"context": 256, "rows": 8, "tokens": 40_000, "mixture": {"svg": 1.0}}
    mixed = {"svg": make_catalogue("svg", [*range(20, 200), 5000], [8] * 181)}
    with pytest.raises(ConfigError, match=message):
        Plan.open(make_schedule([base | stage], **changes), mixed)


def test_golden_rows(mixed, make_schedule) -> None:
    """A change here changes the data order of every run: raise `ROWS_VERSION` and say why in the commit."""
    plan = Plan.open(make_schedule(FOUR, window=64, held_out={"fraction": 0.1}), mixed)
    sums = hashlib.sha256()
    for step, _ in plan.rows():
        sums.update(repr([[(p.corpus, p.record, p.start, p.stop) for p in r.pieces] for r in step.rows]).encode())
    assert (plan.steps, sums.hexdigest()[:16]) == (33, "186d697936365385")


def test_another_epoch_has_another_order(make_catalogue, make_schedule) -> None:
    catalogues = {"web": make_catalogue("web", [100] * 60)}
    stage = {"context": 100, "rows": 1, "fill": 1.0, "tokens": 12_000, "mixture": {"web": 1}}
    plan = Plan.open(make_schedule([stage], window=1), catalogues)
    order = [step.rows[0].pieces[0].record for step, _ in plan.rows()]
    assert sorted(order[:60]) == sorted(order[60:]) == list(range(60))
    assert order[:60] != order[60:]


def test_a_long_document_goes_on_in_the_next_window_and_stage(make_catalogue, make_schedule) -> None:
    stages = [
        {"context": 64, "rows": 1, "fill": 1.0, "tokens": 448, "mixture": {"web": 1}},
        {"context": 256, "rows": 1, "fill": 1.0, "tokens": 512, "mixture": {"web": 1}},
    ]
    plan = Plan.open(make_schedule(stages, window=2), {"web": make_catalogue("web", [1000])})
    pieces = [piece for step, _ in plan.rows() for row in step.rows for piece in row.pieces]
    spans = sorted((piece.start, piece.stop) for piece in pieces)
    assert spans == [(a, a + 64) for a in range(0, 448, 64)] + [(448, 704), (704, 960)]
