"""Pools that outlive their children, and requests answered apart from each other."""

import subprocess
import sys
from pathlib import Path

import pytest

from trivium.data.guard import Guard, Limits, Pool, Sandbox, sandbox
from trivium.data.guard.landlock import version
from trivium.errors import GuardError

TASKS = Path(__file__).parent
LIMITS = Limits(wall_seconds=0.5, cpu_seconds=5, output_bytes=1 << 20)
WEAK = Sandbox(reason="chosen by the test")


@pytest.fixture(params=["sandbox", "limits"])
def isolation(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox() if request.param == "sandbox" else WEAK


def test_a_pool_outlives_its_children_and_keeps_the_order() -> None:
    with Pool("guard_tasks:some_die", 2, LIMITS, extra=[TASKS]) as pool:
        answers = list(pool.map(range(7), int))
    told = [answer.reason if isinstance(answer, GuardError) else answer for answer in answers]
    assert told == [0, 1, 4, "crashed", "timeout", 25, 36]


def test_a_request_apart_leaves_nothing_behind(isolation: Sandbox) -> None:
    with Guard("guard_tasks:leave_a_mark", LIMITS, extra=[TASKS], isolation=isolation, apart=True) as guard:
        told = [guard.call("mark", dict[str, object]) for _ in range(3)]
        assert guard.starts == 1
    assert [answer["found"] for answer in told] == [[], [], []]
    assert len({answer["pid"] for answer in told}) == 3
    assert len({answer["maker"] for answer in told}) == 1


def test_a_request_apart_ends_as_any_other_and_costs_no_child() -> None:
    cases = {
        ("segfault", 0): "crashed",
        ("hold_the_gil", 20): "timeout",
        ("allocate", 10 << 30): "memory",
        ("big", 4 << 20): "output_too_large",
        ("fork", 1): "refused",
        ("leave", 0): "crashed",
        ("lie", 0): "output_too_large",
    }
    with Guard("guard_tasks:perform", LIMITS, extra=[TASKS], apart=True) as guard:
        for request, reason in cases.items():
            with pytest.raises(GuardError) as caught:
                guard.call(request, int)
            assert caught.value.reason == reason, str(caught.value)
        if version() >= 6:  # else it may end its maker, and another takes over
            assert guard.call(("kill_the_maker", 0), str) == "refused"
        assert guard.starts == 1
        # Sets of strings are walked alike in every child, or pictures would differ from build to build.
        done = subprocess.run(
            [sys.executable, "-c", "print(hash('order'))"], env={"PYTHONHASHSEED": "0"}, capture_output=True, check=True
        )
        assert guard.call(("order", "order"), int) == int(done.stdout)
