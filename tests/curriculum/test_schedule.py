from typing import Any

import pytest

from trivium.curriculum.schedule import Schedule
from trivium.data.config import dump_yaml, from_mapping, parse_yaml
from trivium.errors import ConfigError


def _raw(**changes: Any) -> dict[str, Any]:
    stage = {"name": "a", "context": 256, "rows": 2, "tokens": 10_000, "mixture": {"web": 3, "svg": 1}}
    raw: dict[str, Any] = {
        "version": 1,
        "seed": 7,
        "corpora": {"web": {"path": "web"}, "svg": {"path": "svg"}},
        "lr": {"peak": 0.002},
        "stages": [stage, stage | {"name": "b", "context": 1024}],
    }
    for key, value in changes.items():
        first, _, rest = key.partition("__")
        if rest:
            raw["stages"][int(first[-1])] |= {rest: value}
        else:
            raw[key] = value
    return raw


def _read(raw: dict[str, Any]) -> Schedule:
    return from_mapping(raw, Schedule, name="s.yaml")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "this code reads schedules of version 1"),
        ({"window": 0}, "pack at least 1 document"),
        ({"stages": []}, "at least one stage"),
        ({"held_out": {"fraction": 0.9}}, r"held_out: fraction is 0.9; give a share"),
        ({"held_out": {"fractoin": 0.1}}, "did you mean 'fraction'"),
        ({"lr": {"peak": -1}}, "lr: peak is -1; give a learning rate above 0"),
        ({"lr": {"peak": 1, "min_ratio": 2}}, "min_ratio is 2; give a ratio"),
        ({"lr": {"peak": 1, "shape": "wsd", "warmup_ratio": 0.9}}, "more than all steps"),
        ({"corpora": {"web": {"path": "web"}}}, r"stages.0.?.mixture: no corpus 'svg'"),
        ({"stage1__mixture": {"wbe": 1}}, r"stages.1.?.mixture: no corpus 'wbe'; did you mean 'web'"),
        ({"stage0__mixture": {"web": 0}}, "mixture.web is 0; give a weight above 0"),
        ({"stage0__mixture": {}}, "mixture is empty"),
        ({"stage1__context": 128}, r"stages.1.?.context: .* ascending context"),
        ({"stage1__name": "a"}, "'a' stands twice"),
        ({"stage0__tokens": 100}, "less than one step's batch of 508 tokens"),
        ({"stage0__rows": 0}, "at least 1 row"),
        ({"stage0__buckets": ["256", "256"]}, "one bucket twice"),
        ({"stage0__patches": -4}, "patches is -4"),
        ({"corpora": {"web": {"path": " "}, "svg": {"path": "s"}}}, "path is empty"),
        ({"corpora": {"web": {"path": "w", "max_epochs": 0}, "svg": {"path": "s"}}}, "max_epochs is 0"),
    ],
)
def test_a_wrong_schedule_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _read(_raw(**changes))


def test_a_corpus_that_no_stage_uses_is_refused() -> None:
    raw = _raw(stage0__mixture={"web": 1}, stage1__mixture={"web": 1})
    with pytest.raises(ConfigError, match="no stage's mixture uses svg"):
        _read(raw)


def test_resolved_spells_out_defaults_and_reads_back_as_itself() -> None:
    resolved = _read(_raw(stage1__patches=64)).resolved()
    assert [stage.patches for stage in resolved.stages] == [1024, 64]
    assert resolved.stages[0].mixture == {"svg": 0.25, "web": 0.75}
    again = parse_yaml(dump_yaml(resolved), Schedule, name="again.yaml")
    assert again.resolved() == resolved


def test_a_stage_is_found_by_name() -> None:
    schedule = _read(_raw())
    assert schedule.stage_index("b") == 1
    with pytest.raises(ValueError, match="no stage 'c'; known: a, b"):
        schedule.stage_index("c")


def test_a_stage_may_be_set_by_its_name() -> None:
    text = dump_yaml(_read(_raw(stage0__name="256")))
    for key in ("stages.256.rows", "stages.0.rows"):
        found = parse_yaml(text, Schedule, name="s.yaml", overrides=[f"{key}=5", "stages.b.rows=7"])
        assert [stage.rows for stage in found.stages] == [5, 7]
    with pytest.raises(ConfigError, match=r"'c' is not a place in a list of 2, nor a name there \(256, b\)"):
        parse_yaml(text, Schedule, name="s.yaml", overrides=["stages.c.rows=5"])
    with pytest.raises(ConfigError, match=r"^--set stages.b.rows=0: "):
        parse_yaml(text, Schedule, name="s.yaml", overrides=["stages.b.rows=0"])
