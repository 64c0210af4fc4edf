"""Lines on paper, tidied: doubles gone, hidden ones that lie under visible ones gone, pieces joined to whole strokes.

Hidden-line removal gives many short pieces in no lasting order. Joined and sorted they make dashes even, and the same
drawing the same text in every process.
"""

# P points of a stroke

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

Point = tuple[float, float]
Stroke = tuple[Point, ...]
_GRID = 1e-3  # mm: points nearer than this are one
_TURN = math.cos(math.radians(20))  # pieces go on as one stroke when they bend by less
_Span = tuple[float, float]


def tidy(strokes: Iterable[Sequence[Point]], under: Iterable[Sequence[Point]] = ()) -> list[Stroke]:
    """Strokes joined and sorted, without doubles and what of straight pieces lies under those of `under`."""
    lines, curves = _parted(strokes)
    covered, other = _parted(under)
    spans = _merged(lines, covered)
    known = {_key(curve) for curve in other}
    kept = {_key(curve): curve for curve in curves if _key(curve) not in known}
    return sorted(_joined([*spans, *(kept[key] for key in sorted(kept))]))


def _parted(strokes: Iterable[Sequence[Point]]) -> tuple[list[Stroke], list[Stroke]]:
    """Straight pieces and curves, rounded to the grid; what is shorter than the grid goes."""
    lines: list[Stroke] = []
    curves: list[Stroke] = []
    for stroke in strokes:
        points = [_snapped(point) for point in stroke]
        thin = [point for number, point in enumerate(points) if number == 0 or point != points[number - 1]]
        if len(thin) < 2:
            continue
        (lines if len(thin) == 2 else curves).append(tuple(thin) if thin[0] <= thin[-1] else tuple(reversed(thin)))
    return lines, curves


def _snapped(point: Point) -> Point:
    # + 0.0 turns -0.0 into 0.0
    return round(point[0] / _GRID) * _GRID + 0.0, round(point[1] / _GRID) * _GRID + 0.0


def _key(curve: Stroke) -> tuple[Point, ...]:
    """Equal for curves of the same ends and middle, however they are sampled."""
    length = sum(math.dist(a, b) for a, b in pairwise(curve))
    left = length / 2
    for a, b in pairwise(curve):
        step = math.dist(a, b)
        if step >= left:
            middle = (a[0] + (b[0] - a[0]) * left / step, a[1] + (b[1] - a[1]) * left / step)
            return tuple((round(x, 1), round(y, 1)) for x, y in (curve[0], middle, curve[-1]))
        left -= step
    return curve


def _merged(lines: list[Stroke], under: list[Stroke]) -> list[Stroke]:
    """Straight pieces on one line become its covered spans, less what `under` covers."""
    own, covered = _carried(lines), _carried(under)
    known: dict[tuple[float, float], dict[float, Point]] = defaultdict(dict)
    for carrier, far, point in _ends(lines):
        known[carrier].setdefault(far, point)
    found: list[Stroke] = []
    for carrier in sorted(own):
        angle, offset = carrier
        along = (math.cos(angle), math.sin(angle))
        foot = (-along[1] * offset, along[0] * offset)
        for low, high in _less(_union(own[carrier]), _union(covered.get(carrier, []))):
            # A point that was given stays as it was, so that strokes which met still meet.
            start, end = (
                known[carrier].get(at, _snapped((foot[0] + along[0] * at, foot[1] + along[1] * at)))
                for at in (low, high)
            )
            if start != end:
                found.append((start, end) if start < end else (end, start))
    return found


def _carried(lines: list[Stroke]) -> dict[tuple[float, float], list[_Span]]:
    """Spans along each infinite line, named by its angle and its distance from the origin."""
    spans: dict[tuple[float, float], list[_Span]] = defaultdict(list)
    ends = list(_ends(lines))
    for (carrier, a, _), (_, b, _) in zip(ends[::2], ends[1::2], strict=True):
        spans[carrier].append((min(a, b), max(a, b)))
    return spans


def _ends(lines: list[Stroke]) -> Iterator[tuple[tuple[float, float], float, Point]]:
    """Both ends of each line in turn: the infinite line, how far along it, the point."""
    for (x0, y0), (x1, y1) in lines:
        angle = round(math.atan2(y1 - y0, x1 - x0), 4)
        if angle <= -1.5708 or angle > 1.5708:
            angle = round(angle % math.pi, 4)
        along = (math.cos(angle), math.sin(angle))
        offset = round(along[0] * y0 - along[1] * x0, 2)
        for x, y in ((x0, y0), (x1, y1)):
            yield (angle, offset), along[0] * x + along[1] * y, (x, y)


def _union(spans: list[_Span]) -> list[_Span]:
    found: list[_Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1] + 2 * _GRID:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _less(spans: list[_Span], taken: list[_Span]) -> list[_Span]:
    left = spans
    for low, high in taken:
        left = [
            piece for a, b in left for piece in ((a, min(b, low)), (max(a, high), b)) if piece[1] - piece[0] > _GRID
        ]
    return left


def _joined(strokes: list[Stroke]) -> list[Stroke]:
    """Strokes that meet at a point and go on in nearly the same direction, as one."""
    ends: dict[Point, list[int]] = defaultdict(list)
    for number, stroke in enumerate(strokes):
        ends[stroke[0]].append(number)
        ends[stroke[-1]].append(number)
    used: set[int] = set()
    found: list[Stroke] = []
    for number in range(len(strokes)):
        if number in used:
            continue
        used.add(number)
        chain = list(strokes[number])
        for _ in range(2):  # forward, then from the other end
            while (after := _next(chain, strokes, ends, used)) is not None:
                used.add(after[0])
                chain += after[1][1:]
            chain.reverse()
        found.append(tuple(chain))
    return found


def _next(
    chain: list[Point], strokes: list[Stroke], ends: dict[Point, list[int]], used: set[int]
) -> tuple[int, list[Point]] | None:
    """The stroke that goes on straightest from the chain's end, turned so that it begins there."""
    best: tuple[float, int, list[Point]] | None = None
    for number in ends[chain[-1]]:
        if number in used:
            continue
        stroke = list(strokes[number])
        if stroke[0] != chain[-1]:
            stroke.reverse()
        straight = _cosine(chain[-2], chain[-1], stroke[1])
        if straight >= _TURN and (best is None or (-straight, number) < best[:2]):
            best = (-straight, number, stroke)
    return None if best is None else (best[1], best[2])


def _cosine(a: Point, b: Point, c: Point) -> float:
    first, second = (b[0] - a[0], b[1] - a[1]), (c[0] - b[0], c[1] - b[1])
    return (first[0] * second[0] + first[1] * second[1]) / (math.hypot(*first) * math.hypot(*second))
