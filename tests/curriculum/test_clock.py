from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.clock import Clock, Windows
from trivium.curriculum.stage import Ramp, Stage


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    context = draw(st.integers(2, 500))
    rows = draw(st.integers(1, 40))
    batch = rows * max(1, int(context * 0.9))
    tokens = draw(st.integers(batch, 50 * batch))
    start = draw(st.integers(max(1, int(context * 0.9)), batch))
    ramp = (
        Ramp(start=start, tokens=draw(st.integers(start, tokens))) if draw(st.booleans()) and start <= tokens else None
    )
    return Stage(name="s", context=context, rows=rows, fill=0.9, tokens=tokens, ramp=ramp, mixture={"web": 1.0})


@given(stage=stages())
def test_steps_divide_the_tokens_without_rest_and_never_exceed_the_batch(stage: Stage) -> None:
    clock = Clock.of(stage)
    sizes = [clock.batch_of(step) for step in range(clock.steps)]
    assert sum(sizes) == stage.tokens
    assert clock.before(0) == 0
    assert max(sizes) <= stage.batch
    assert min(sizes) >= 1
    later = sizes[clock.ramp_steps :]
    assert not later or max(later) - min(later) <= 1
    rising = sizes[: clock.ramp_steps]
    assert all(b >= a - 1 for a, b in pairwise(rising))
    for step, size in enumerate(sizes):
        assert size <= clock.rows_of(step) * clock.capacity
        assert step >= clock.ramp_steps or (clock.rows_of(step) - 1) * clock.capacity < size
        assert step < clock.ramp_steps or clock.rows_of(step) == stage.rows


@given(stage=stages(), tokens=st.floats(1, 1e5), least=st.floats(1, 1e4))
def test_windows_cover_the_steps_once(stage: Stage, tokens: float, least: float) -> None:
    clock = Clock.of(stage)
    windows = Windows.of(clock, tokens, least)
    borders = [windows.first_step(number) for number in range(windows.count + 1)]
    assert (borders[0], borders[-1]) == (0, clock.steps)
    for number in range(windows.count):
        assert borders[number] < borders[number + 1]
        for step in (borders[number], borders[number + 1] - 1):
            assert windows.window_of(step) == number
    sizes = [clock.before(b) - clock.before(a) for a, b in pairwise(borders)]
    assert windows.count == 1 or min(sizes) >= least - 1
