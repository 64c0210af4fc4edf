"""Numbers: each of the source stands in the rewrite, however it is written, and none is new."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.read.numerals import Number
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown

_FIGURES = re.compile(r"\d+(?:\.\d+)?")
_SOFT = ("fraction", "multiple", "ordinal")


def check(both: Comparison) -> Finding:
    """Hard numbers are kept and none is new; small spelled-out ones, fractions and ordinals are not exchanged."""
    source, rewrite, scope = both.source, both.rewrite, both.scope
    ours, theirs = _at_hand(source), _at_hand(rewrite)
    equal_ours, equal_theirs = _converted(source, rewrite), _converted(rewrite, source)
    helped = _derived(rewrite) if scope.derives else set()
    amounts = {quantity.number.start for quantity in rewrite.quantities}
    new = [
        n
        for n in rewrite.numbers
        if _demanded(n)
        and n.start not in equal_theirs
        and n.readings.isdisjoint(ours | helped | _days(source, n, amounts))
    ]
    kept = theirs | {
        Fraction(part) for d in rewrite.dates for parts in d.readings for part in parts if part is not None
    }
    lost = [n for n in source.numbers if _demanded(n) and n.start not in equal_ours and n.readings.isdisjoint(kept)]
    small_new = [n for n in rewrite.numbers if n.sort == "small" and n.readings.isdisjoint(ours)]
    small_lost = [n for n in source.numbers if n.sort == "small" and n.readings.isdisjoint(theirs)]
    soft = _exchanged(source.numbers, rewrite.numbers, ours, theirs)
    reason = detail = ""
    if new:
        reason = "number_changed" if lost or small_lost else "number_invented"
        detail = _told(source, rewrite, lost or small_lost, new)
    elif small_new and (small_lost or (lost and not scope.condenses)):
        reason, detail = "number_changed", _told(source, rewrite, lost or small_lost, small_new)
    elif soft:
        reason, detail = "number_changed", _told(source, rewrite, [soft[0]], [soft[1]])
    elif lost and not scope.condenses:
        reason, detail = "number_lost", _told(source, rewrite, lost, [])
    total = sum(map(_demanded, source.numbers)) + len(new)
    broken = len(new) + (0 if scope.condenses else len(lost))
    score = 1.0 if not reason else max(0.0, 1.0 - max(1, broken) / max(1, total))
    return Finding(check="numbers", score=score, passed=not reason, reason=reason, detail=detail)


def _days(source: Reading, number: Number, amounts: set[int]) -> set[Fraction]:
    """Days and months of the source's dates, for a number that is no amount of anything."""
    if number.start in amounts:
        return set()
    return {
        Fraction(part) for date in source.dates for parts in date.readings for part in parts[1:] if part is not None
    }


def _demanded(number: Number) -> bool:
    return number.sort == "number"


def _at_hand(reading: Reading) -> set[Fraction]:
    """All that a number may be found as: also parts of fractions and dates, list counters, figures inside literals."""
    found = {value for number in reading.numbers for value in number.readings}
    found |= {abs(value) for value in found}
    for quantity in reading.quantities:
        if quantity.unit.dimension == "share":
            found |= {value / 100 * quantity.unit.size for value in quantity.number.readings}
    found |= {
        value * 100
        for number in reading.numbers
        if number.sort in ("number", "fraction")
        for value in number.readings
        if 0 < value < 1
    }
    for date in reading.dates:
        found |= {Fraction(parts[0]) for parts in date.readings if parts[0] is not None}
    for moment in reading.moments:
        if moment.kind == "time":
            found |= {Fraction(moment.value // 60), Fraction(moment.value % 60), Fraction(moment.value // 60 % 12)}
    found |= _digits(literal.text for literal in reading.literals) | _digits(
        formula.text for formula in reading.formulas
    )
    return found | _digits(reading.counters)


def _digits(texts: Iterable[str]) -> set[Fraction]:
    return {Fraction(run) for text in texts for run in _FIGURES.findall(text)}


def _converted(mine: Reading, other: Reading) -> set[int]:
    """Where numbers of `mine` stand whose amounts the other text has."""
    return {
        quantity.number.start
        for quantity in mine.quantities
        if any(quantity.equals(theirs) for theirs in other.quantities)
    }


def _derived(rewrite: Reading) -> set[Fraction]:
    """What the rewrite's own formulas work out; that they hold is another check."""
    return _digits(formula.text for formula in rewrite.formulas)


def _exchanged(
    mine: Sequence[Number], other: Sequence[Number], ours: set[Fraction], theirs: set[Fraction]
) -> tuple[Number, Number] | None:
    """A soft number of the source that went while another of its sort came."""
    for sort in _SOFT:
        gone = [n for n in mine if n.sort == sort and n.readings.isdisjoint(theirs)]
        came = [n for n in other if n.sort == sort and n.readings.isdisjoint(ours)]
        if gone and came:
            return gone[0], came[0]
    return None


def _told(source: Reading, rewrite: Reading, lost: Sequence[Number], new: Sequence[Number]) -> str:
    parts = []
    if lost:
        parts.append(f"{shown(_around(source, lost[0]))} of the source is missing")
    if new:
        parts.append(f"{shown(_around(rewrite, new[0]))} is not in the source")
    return "; ".join(parts)


def _around(reading: Reading, number: Number) -> str:
    """The number with a word on each side, so that a person finds it."""
    start = reading.text.rfind(" ", 0, max(0, number.start - 1)) + 1
    stop = reading.text.find(" ", min(len(reading.text), number.stop + 1))
    start = max(start, number.start - 20)
    return reading.text[start : stop if 0 <= stop <= number.stop + 20 else number.stop + 12]
