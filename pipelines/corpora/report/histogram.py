"""Histograms of values whose range is not known beforehand, counted in workers and added up in any order.

Odd: a value is counted under its first digits, cut off toward zero, so that a threshold of one or two digits (0.65,
120) lies on the border of two counts and never inside one. That makes at most 250 counts a decade, each at most 2 %
wide, whatever the size of the corpus; bars are made of them afterwards.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LEAST, _MOST = -6, 15  # decades; what is smaller counts as 0, what is larger as the largest
BARS = 32
_HEADS = {2: (100, 120, 150, 200, 250, 300, 400, 500, 600, 800), 5: (100, 150, 200, 300, 500, 700)}

Counts = dict[int, int]  # code of a value → how many


def code(value: float) -> int:
    """The first digits of `value` and its decade as one integer, in the order of values; 0 for (almost) nothing."""
    size = abs(value)
    if not size >= 10.0**_LEAST:  # also NaN
        return 0
    if size >= 10.0 ** (_MOST + 1):
        decade, digits = _MOST, 999
    else:
        decade = math.floor(math.log10(size))
        scaled = size / 10.0**decade * 100 + 1e-9  # 0.65 / 0.1 is 6.4999…
        if scaled < 100:  # log10 of 999.9999… is 3
            decade, scaled = decade - 1, scaled * 10
        digits = min(999, int(scaled))
    digits -= digits % _width(digits)
    found = (decade - _LEAST + 1) * 1000 + digits
    return found if value > 0 else -found


def _width(digits: int) -> int:
    """How many hundredths of its decade one count spans."""
    return 1 if digits < 250 else 5 if digits < 500 else 10


def edge(found: int) -> float:
    """The border of a count that is nearer to zero."""
    if found == 0:
        return 0.0
    decade, digits = divmod(abs(found), 1000)
    return math.copysign(_decimal(digits, decade + _LEAST - 3), found)


def _decimal(digits: int, exponent: int) -> float:
    """digits · 10^exponent, as near as a float can be."""
    return float(digits * 10**exponent) if exponent >= 0 else digits / 10**-exponent


@dataclass(frozen=True, slots=True)
class Bars:
    """A histogram as it is drawn: bar k counts edges[k] ≤ v < edges[k + 1]; `log` = the edges grow by a factor."""

    edges: tuple[float, ...]
    series: dict[str, tuple[int, ...]]
    log: bool

    def facts(self) -> dict[str, Any]:
        """Plain data for the report."""
        return {"edges": self.edges, "log": self.log, "counts": self.series}


def bars(series: Mapping[str, Mapping[int, int]]) -> Bars | None:
    """Some dozens of bars over all series together; None when nothing was counted."""
    total: Counts = {}
    for counts in series.values():
        for at, count in counts.items():
            total[at] = total.get(at, 0) + count
    codes = sorted(at for at, count in total.items() if count)
    if not codes:
        return None
    log = codes[0] >= 0 and edge(codes[-1]) >= 100 * edge(next((at for at in codes if at > 0), 0)) >= 1
    edges = _log_edges(codes) if log else _even_edges(codes)
    drawn = {name: tuple(_filled(counts, edges)) for name, counts in series.items() if any(counts.values())}
    return Bars(tuple(edges), drawn, log)


def _log_edges(codes: Sequence[int]) -> list[float]:
    """Round numbers, more a decade where there are few decades; 0 has a bar of its own when it was counted."""
    positive = [at for at in codes if at > 0]
    first, last = positive[0] // 1000, positive[-1] // 1000
    heads = next((heads for most, heads in _HEADS.items() if last - first <= most), (100, 200, 500))
    marks = [decade * 1000 + head for decade in range(first, last + 2) for head in heads]
    start = max(mark for mark in marks if mark <= positive[0])
    stop = min(mark for mark in marks if mark > positive[-1])
    zero = [0.0] if codes[0] == 0 else []
    return [*zero, *(edge(mark) for mark in marks if start <= mark <= stop)]


def _even_edges(codes: Sequence[int]) -> list[float]:
    """Bars of one width, which is a multiple of the widest count's: else every other bar would be empty."""
    low, high = edge(codes[0]), edge(codes[-1])
    widest = max(codes[0], codes[-1], key=abs)
    decade, digits = divmod(abs(widest), 1000)
    exponent = decade + _LEAST - 3
    least = _decimal(_width(digits), exponent) if widest else 1.0
    power = exponent if widest else 0
    step = least
    while (high - low) / step > BARS or step < least:
        power += 1
        step = next(
            (size for head in (1, 2, 5) if (size := _decimal(head, power)) >= least and (high - low) / size <= BARS),
            step,
        )
    first = math.floor(low / step + 1e-9)
    if first * step > low + abs(low) * 1e-9:  # a little value below 0 beside a huge one
        first -= 1
    last = math.floor(high / step + 1e-9) + 1
    return [round(at * step, 12) for at in range(first, last + 1)]


def _filled(counts: Mapping[int, int], edges: Sequence[float]) -> list[int]:
    found = [0] * (len(edges) - 1)
    for at, count in counts.items():
        value = edge(at)
        place = bisect_right(edges, value + abs(value) * 1e-9) - 1  # an edge may be a product that is a hair off
        found[min(max(place, 0), len(found) - 1)] += count
    return found
