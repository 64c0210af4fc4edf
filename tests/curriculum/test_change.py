from typing import Any

import pytest

from trivium.curriculum.change import change, differences, first_steps
from trivium.curriculum.schedule import Schedule
from trivium.data.config import from_mapping
from trivium.errors import ConfigError, UsageError


def _schedule(**changes: Any) -> Schedule:
    stage = {"context": 100, "rows": 1, "fill": 1.0, "tokens": 1000, "mixture": {"web": 1.0}}
    raw: dict[str, Any] = {
        "version": 1,
        "seed": 5,
        "corpora": {"web": {"path": "web"}},
        "lr": {"peak": 0.002},
        "stages": [stage | {"name": "a"}, stage | {"name": "b", "context": 200}],
    }
    for key, value in changes.items():
        first, _, rest = key.partition("__")
        if rest:
            raw["stages"][int(first[-1])] |= {rest: value}
        else:
            raw[key] = value
    return from_mapping(raw, Schedule, name="s.yaml")


def _more(*stages: dict[str, Any]) -> Any:
    base = {"context": 200, "rows": 1, "fill": 1.0, "tokens": 1000, "mixture": {"web": 1.0}}
    return [{**base, "name": "a", "context": 100}, {**base, "name": "b"}, *(base | stage for stage in stages)]


def test_equal_schedules_differ_in_nothing_however_they_are_written() -> None:
    assert differences(_schedule(), _schedule(stage0__mixture={"web": 7}, stage1__patches=800)) == []
    assert first_steps(_schedule()) == [0, 10, 15]


@pytest.mark.parametrize(
    ("changes", "key", "step"),
    [
        ({"seed": 6}, "seed", 0),
        ({"window": 9}, "window", 0),
        ({"held_out": {"fraction": 0.1}}, "held_out", 0),
        ({"corpora": {"web": {"path": "web", "seed": 1}}}, "corpora.web.seed", 0),
        ({"stage1__cut": "never"}, "stages[1] (b).cut", 10),
        ({"stages": _more({"name": "c"})}, "stages[2]", 15),
        ({"lr": {"peak": 0.001}}, "lr.peak", 0),
        ({"lr": {"peak": 0.002, "min_ratio": 0.5}}, "lr.min_ratio", 2),
    ],
)
def test_a_difference_names_its_key_and_its_first_step(changes: dict[str, Any], key: str, step: int) -> None:
    found = {one.key: one.step for one in differences(_schedule(), _schedule(**changes))}
    assert found[key] == step


def test_limits_and_folders_are_told_and_decide_no_rows() -> None:
    other = _schedule(corpora={"web": {"path": "elsewhere", "max_epochs": 9, "bucket_epochs": {"8k": 2}}})
    found = {one.key: (one.decides, one.was, one.now) for one in differences(_schedule(), other)}
    assert found == {
        "corpora.web.path": ("place", "web", "elsewhere"),
        "corpora.web.max_epochs": ("limit", None, 9.0),
        "corpora.web.bucket_epochs": ("limit", {}, {"8k": 2.0}),
    }
    assert change(_schedule(), other, 12).differences == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"stage1__cut": "never"},
        {"stage1__tokens": 9000},
        {"stages": _more({"name": "c"})},
        {"stages": _more()[:1]},
        {"lr": {"peak": 0.001}},
        {
            "stages": [*_more()[:1], {**_more()[1], "mixture": {"web": 1, "svg": 1}}],
            "corpora": {"web": {"path": "web"}, "svg": {"path": "svg"}},
        },
    ],
)
def test_what_lies_ahead_may_change(changes: dict[str, Any]) -> None:
    made = change(_schedule(), _schedule(**changes), 10)
    assert made.differences
    assert all(one.step >= 10 for one in made.differences)
    assert (made.steps_before, made.steps_after) == (15, first_steps(_schedule(**changes))[-1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 6}, "lies behind: seed was 5, is 6"),
        ({"stage0__tokens": 2000}, r"stages\[0\] \(a\).tokens was 1000, is 2000 \(from step 0\)"),
        ({"stage1__cut": "never"}, r"stages\[1\] \(b\).cut was allowed, is never"),
        ({"corpora": {"web": {"path": "web", "seed": 3}}}, "corpora.web.seed was absent, is 3"),
    ],
)
def test_what_lies_behind_may_not(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        change(_schedule(), _schedule(**changes), 11)
    change(_schedule(), _schedule(**changes), 0)


def test_a_run_can_not_become_shorter_than_it_is() -> None:
    with pytest.raises(ConfigError, match=r"lies behind: stages\[1\] was b, is absent|has 10 steps"):
        change(_schedule(), _schedule(stages=_more()[:1]), 12)
    with pytest.raises(UsageError, match="step 16: the first schedule has 15 steps; give one from 0 to 15"):
        change(_schedule(), _schedule(), 16)


def test_a_moved_rate_is_told_as_the_run_meets_it() -> None:
    found = change(_schedule(), _schedule(stages=_more({"name": "c"})), 7)
    (rate,) = [one for one in found.differences if one.key.startswith("lr (")]
    assert (rate.step, float(rate.was), float(rate.now)) == (7, found.lr_before, found.lr_after)
    assert found.lr_before != found.lr_after
