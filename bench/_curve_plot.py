"""Curves as one SVG, written by hand: the machines that train and compare kernels have no plotting library."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN, LEGEND = 720, 260, 48, 15
COLOURS = ("#1565c0", "#ef6c00", "#2e7d32", "#8e24aa", "#c62828", "#00838f", "#6d4c41", "#546e7a")
DASHES = ("", ' stroke-dasharray="5 4"', ' stroke-dasharray="2 3"')
LETTER = 6.0  # width of one at this size, about
POINTS = 360  # a line, at most: more can't be told apart at this width

Points = Sequence[tuple[float, float]]  # (x, y)
Series = Sequence[float] | Points  # by step from 1, or points


def plot(charts: Mapping[str, Mapping[str, Series]], *, most: Mapping[str, float] | None = None) -> str:
    """One chart a title, one line a series, below each other; `most` cuts a chart off at a value."""
    parts, at = [], 0.0
    for title, series in charts.items():
        rows = list(_legend(series))
        height = HEIGHT + LEGEND * (len(rows) - 1)
        limit = (most or {}).get(title)
        parts += [f'<g transform="translate(0 {at:g})">', *_chart(title, series, rows, height, limit), "</g>"]
        at += height
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {at:g}" font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def _legend(series: Mapping[str, Series]) -> Iterator[list[tuple[float, str, int]]]:
    """Rows of (x, name, place), as many as fit beside each other."""
    row: list[tuple[float, str, int]] = []
    x = float(MARGIN)
    for place, name in enumerate(series):
        width = 30 + LETTER * len(name)
        if row and x + width > WIDTH - MARGIN / 2:
            yield row
            row, x = [], float(MARGIN)
        row.append((x, name, place))
        x += width
    yield row


def _style(place: int) -> tuple[str, str]:
    return COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]


def _points(line: Series) -> list[tuple[float, float]]:
    whole = [point if isinstance(point, tuple) else (at + 1.0, point) for at, point in enumerate(line)]
    whole = [(x, y) for x, y in whole if y == y]
    step = -(-len(whole) // POINTS) or 1
    return whole[:-1:step] + whole[-1:] if step > 1 else whole


def _chart(
    title: str,
    series: Mapping[str, Series],
    rows: list[list[tuple[float, str, int]]],
    height: float,
    most: float | None,
) -> list[str]:
    lines = {name: _points(line) for name, line in series.items()}
    values = [min(y, most) if most is not None else y for line in lines.values() for _, y in line]
    places = [x for line in lines.values() for x, _ in line]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    first, last = (min(places), max(places)) if places else (1.0, 2.0)
    top = 26 + LEGEND * len(rows)

    def at_x(x: float) -> float:
        return MARGIN + (x - first) / max(last - first, 1e-9) * (WIDTH - 1.5 * MARGIN)

    def at_y(y: float) -> float:
        return height - 24 - (y - low) / max(high - low, 1e-9) * (height - 24 - top)

    parts = [f'<text x="{MARGIN}" y="16" font-size="13">{escape(title)}</text>']
    for number, row in enumerate(rows):
        for x, name, place in row:
            colour, dash = _style(place)
            y = 30 + LEGEND * number
            parts.append(f'<path d="M{x:.0f} {y - 4}h16" stroke="{colour}" stroke-width="2"{dash}/>')
            parts.append(f'<text x="{x + 20:.0f}" y="{y}" fill="{colour}">{escape(name)}</text>')
    for value in (low, (low + high) / 2, high):
        y = at_y(value)
        parts.append(f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN / 2}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for x in (first, (first + last) / 2, last):
        parts.append(f'<text x="{at_x(x):.1f}" y="{height - 8:g}" text-anchor="middle">{x:.0f}</text>')
    for place, line in enumerate(lines.values()):
        colour, dash = _style(place)
        cut = [(x, min(y, most) if most is not None else y) for x, y in line]
        points = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in _thin(cut))
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5"{dash} points="{points}"/>')
    return parts


def _thin(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without points that lie between two equal neighbours."""
    inner = [b for (a, b), (_, c) in pairwise(pairwise(line)) if not a[1] == b[1] == c[1]]
    return line[:1] + inner + line[-1:] if len(line) > 2 else line
