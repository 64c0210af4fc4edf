"""Dates, weekdays and times of day: none contradicts the source, and none is lost where nothing may be left out."""

from collections.abc import Sequence

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.read.dates import Date
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown


def check(both: Comparison) -> Finding:
    """Each date agrees with one of the other text in all parts that both have; its year may stand apart from it."""
    source, rewrite, scope = both.source, both.rewrite, both.scope
    new = [date for date in rewrite.dates if not _known(date, source)]
    lost = [date for date in source.dates if not _known(date, rewrite)]
    moved = [m for m in rewrite.moments if m.value not in {o.value for o in source.moments if o.kind == m.kind}]
    moved = [m for m in moved if any(o.kind == m.kind for o in source.moments) or m.kind == "weekday"]
    reason = detail = ""
    if new:
        reason = "date_changed"
        detail = f"{_text(rewrite, new)} is no date of the source"
        if lost:
            detail = f"{_text(source, lost)} of the source is missing; {detail}"
    elif moved:
        reason = "date_changed"
        detail = f"{shown(rewrite.text[moved[0].start : moved[0].stop])} is not in the source"
    elif lost and not scope.condenses:
        reason, detail = "date_lost", f"{_text(source, lost)} is missing"
    total = max(1, len(source.dates) + len(rewrite.dates) + len(rewrite.moments))
    broken = len(new) + len(moved) + (0 if scope.condenses else len(lost))
    return Finding(check="dates", score=max(0.0, 1.0 - broken / total), passed=not reason, reason=reason, detail=detail)


def _known(date: Date, other: Reading) -> bool:
    """Whether the other text has that date; a year alone may stand there as a plain number."""
    years = {int(value) for number in other.numbers for value in number.readings if value.denominator == 1}
    years |= {parts[0] for theirs in other.dates for parts in theirs.readings if parts[0] is not None}
    for year, month, day in date.readings:
        alone = month is None and day is None
        if year is not None and year not in years:
            continue
        if alone or any(_same(theirs, month, day) for theirs in other.dates):
            return True
    return False


def _same(date: Date, month: int | None, day: int | None) -> bool:
    return any(
        parts[1] == month and (day is None or parts[2] is None or parts[2] == day)
        for parts in date.readings
        if parts[1] is not None
    )


def _text(reading: Reading, dates: Sequence[Date]) -> str:
    return shown(reading.text[dates[0].start : dates[0].stop])
