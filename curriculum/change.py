"""Two schedules compared: what differs and from which step on, and whether a running schedule may become another.

Odd: steps follow from the schedule alone, so this needs no corpora. A stage that has begun can't change at all, since
its steps divide its tokens among themselves; to go on longer, add a stage of the same context behind it.
"""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Literal

import msgspec

from trivium.console import counted
from trivium.curriculum.clock import Clock
from trivium.curriculum.learning_rate import learning_rate
from trivium.curriculum.schedule import Schedule
from trivium.data.config import Strict, to_mapping
from trivium.errors import ConfigError, UsageError

_EVERYWHERE = ("seed", "window", "held_out")  # decide rows from step 0 on
_MOVED_RATE = "lr (by the number of steps)"
_EARLY = 4096  # steps whose rates are compared one by one
_LIMITS = ("max_epochs", "bucket_epochs")  # of a corpus: they decide no rows


Decides = Literal["rows", "rate", "limit", "place"]


class Difference(Strict, frozen=True, kw_only=True):
    """One key that differs, its values, and the first step that it changes (0-based).

    `decides` says what hangs on it: the rows, the learning rate, how often documents may come (`limit`: only the check
    before a run looks at it), or where a corpus lies (`place`). A value that is absent is None.
    """

    key: str
    step: int
    was: Any
    now: Any
    decides: Decides = "rows"


class Change(Strict, frozen=True, kw_only=True):
    """A change of a running schedule that reaches only ahead of `step`, the number of steps done."""

    step: int
    steps_before: int
    steps_after: int
    lr_before: float | None
    lr_after: float | None
    differences: tuple[Difference, ...]


def first_steps(schedule: Schedule) -> list[int]:
    """The first step of every stage, and the number of steps at the end."""
    firsts = [0]
    for stage in schedule.stages:
        firsts.append(firsts[-1] + Clock.of(stage).steps)
    return firsts


def differences(old: Schedule, new: Schedule) -> list[Difference]:
    """What differs between two schedules, in the order of steps; equal ones give none."""
    found = [*_everywhere(old, new), *_corpora(old, new), *_stages(old, new), *_rates(old, new)]
    return sorted(found, key=lambda difference: difference.step)


def change(old: Schedule, new: Schedule, step: int) -> Change:
    """The change from `old` to `new` after `step` steps of `old`. Raises ConfigError naming what lies behind,
    UsageError for a step that `old` has not.

    A new learning-rate curve holds from `step` on; the rates of steps already done stay what they were.
    """
    before, after = first_steps(old)[-1], first_steps(new)[-1]
    if step > before:
        raise UsageError(f"step {step}: the first schedule has {counted(before, 'step')}; give one from 0 to {before}")
    found = [one for one in differences(old, new) if one.decides in ("rows", "rate")]
    behind = [one for one in found if one.step < step and one.decides == "rows"]
    if behind:
        listed = "; ".join(
            f"{one.key} was {text_of(one.was)}, is {text_of(one.now)} (from step {one.step})" for one in behind[:6]
        )
        more = f" (and {len(behind) - 6} more)" if len(behind) > 6 else ""
        raise ConfigError(
            f"the schedule may change only ahead of step {step}, which the run has reached, and this lies behind: "
            f"{listed}{more}. Set it back; to go on longer with a stage that has begun, add another of the same "
            "context behind it"
        )
    if after < step:
        raise ConfigError(
            f"the new schedule has {counted(after, 'step')} and the run has done {step}; give its last stages more "
            "tokens"
        )
    return Change(
        step=step,
        steps_before=before,
        steps_after=after,
        lr_before=_rate(step, before, old),
        lr_after=_rate(step, after, new),
        differences=tuple(_from(step, one, old, new) for one in found),
    )


def _from(step: int, found: Difference, old: Schedule, new: Schedule) -> Difference:
    """The same difference as it meets a run that has done `step` steps: a rate is that of the first step it changes."""
    if found.step >= step:
        return found
    if found.key == _MOVED_RATE:
        was, now = (_rate(step, first_steps(one)[-1], one) for one in (old, new))
        return msgspec.structs.replace(found, step=step, was=was, now=now)
    return msgspec.structs.replace(found, step=step)


def _rate(step: int, steps: int, schedule: Schedule) -> float | None:
    return learning_rate(step, steps, schedule.lr) if step < steps else None


def _everywhere(old: Schedule, new: Schedule) -> Iterator[Difference]:
    was, now = to_mapping(old.resolved()), to_mapping(new.resolved())
    for key in _EVERYWHERE:
        if was[key] != now[key]:
            yield Difference(key=key, step=0, was=was[key], now=now[key])


def _corpora(old: Schedule, new: Schedule) -> Iterator[Difference]:
    """A corpus counts from the first stage that reads it."""
    for name in sorted(set(old.corpora) | set(new.corpora)):
        was, now = old.corpora.get(name), new.corpora.get(name)
        if was is None or now is None:
            owner = new if was is None else old
            yield Difference(key=f"corpora.{name}", step=_first_read(owner, name), was=_there(was), now=_there(now))
            continue
        for key, value in to_mapping(was).items():
            other = to_mapping(now)[key]
            if value != other:
                first = min(_first_read(old, name), _first_read(new, name))
                full = f"corpora.{name}.{key}"
                decides: Decides = "limit" if key in _LIMITS else "place" if key == "path" else "rows"
                yield Difference(key=full, step=first, was=value, now=other, decides=decides)


def _stages(old: Schedule, new: Schedule) -> Iterator[Difference]:
    """Stages are compared by their place; behind the first that differs in steps, all later ones move."""
    for number, (was, now) in enumerate(zip_longest(old.resolved().stages, new.resolved().stages)):
        first = min(first_steps(s)[min(number, len(s.stages))] for s in (old, new))
        if was is None or now is None:
            there = [None if stage is None else stage.name for stage in (was, now)]
            yield Difference(key=f"stages[{number}]", step=first, was=there[0], now=there[1])
            continue
        before, after = to_mapping(was), to_mapping(now)
        for key in before:
            if before[key] != after[key]:
                yield Difference(
                    key=f"stages[{number}] ({was.name}).{key}",
                    step=first,
                    was=before[key],
                    now=after[key],
                )


def _rates(old: Schedule, new: Schedule) -> Iterator[Difference]:
    """The curve's keys, and the rate itself where another number of steps moves it."""
    steps = [first_steps(schedule)[-1] for schedule in (old, new)]
    first = _first_other_rate(old, new, *steps)
    was, now = to_mapping(old.lr), to_mapping(new.lr)
    keys = [key for key in was if was[key] != now[key]]
    for key in keys:
        yield Difference(key=f"lr.{key}", step=min(first, *steps), was=was[key], now=now[key], decides="rate")
    if not keys and first < min(steps):
        rates = [learning_rate(first, count, s.lr) for s, count in zip((old, new), steps, strict=True)]
        yield Difference(key=_MOVED_RATE, step=first, was=rates[0], now=rates[1], decides="rate")


def _first_other_rate(old: Schedule, new: Schedule, steps_old: int, steps_new: int) -> int:
    """The first step whose rate differs: looked for one by one in the first steps, then by bisection."""

    def differ(step: int) -> bool:
        return learning_rate(step, steps_old, old.lr) != learning_rate(step, steps_new, new.lr)

    high = min(steps_old, steps_new)
    early = min(high, _EARLY)
    for step in range(early):
        if differ(step):
            return step
    low = early
    while low < high:
        middle = (low + high) // 2
        if differ(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _first_read(schedule: Schedule, corpus: str) -> int:
    firsts = first_steps(schedule)
    return next((firsts[n] for n, stage in enumerate(schedule.stages) if corpus in stage.mixture), firsts[-1])


def _there(value: object | None) -> str | None:
    return None if value is None else "present"


def text_of(value: Any) -> str:
    """A value as it may stand in YAML, on one line of at most 60 characters."""
    if value is None:
        return "absent"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
