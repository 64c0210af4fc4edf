"""Loss curves as one SVG, written by hand: the machines that compare kernels have no plotting library."""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 720, 260, 48
COLOURS = ("#1565c0", "#ef6c00", "#2e7d32", "#8e24aa")


def plot(charts: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """One chart a title, one line a series (by step, from 1), below each other."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT * len(charts)}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (title, series) in enumerate(charts.items()):
        parts += [f'<g transform="translate(0 {place * HEIGHT})">', *_chart(title, series), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _chart(title: str, series: Mapping[str, Sequence[float]]) -> list[str]:
    values = [value for line in series.values() for value in line]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    span, steps = max(high - low, 1e-9), max([len(line) for line in series.values()] + [2])

    def x(step: int) -> float:
        return MARGIN + step / (steps - 1) * (WIDTH - 2 * MARGIN)

    def y(value: float) -> float:
        return HEIGHT - MARGIN / 2 - (value - low) / span * (HEIGHT - MARGIN * 1.5)

    parts = [f'<text x="{MARGIN}" y="16" font-size="13">{escape(title)}</text>']
    for value in (low, (low + high) / 2, high):
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
        )
        parts.append(f'<text x="{MARGIN - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for step in (0, steps - 1):
        parts.append(f'<text x="{x(step):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{step + 1}</text>')
    for place, (name, line) in enumerate(series.items()):
        colour, points = COLOURS[place % len(COLOURS)], " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(line))
        dash = ("", ' stroke-dasharray="5 4"', ' stroke-dasharray="2 3"')[min(place, 2)]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5"{dash} points="{points}"/>')
        parts.append(
            f'<text x="{WIDTH - MARGIN - 120 * (len(series) - place)}" y="16" fill="{colour}">{escape(name)}</text>'
        )
    return parts
