"""Line charts over months, days or years, one to three lines."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import axes, words
from trivium.data.svg.generators.canvas import Canvas, Made


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    unit: str
    names: tuple[str, ...]
    series: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    colors: tuple[str, ...]
    marked: bool  # a dot at each value
    font: str


def make(dice: Dice) -> Made:
    topic = dice.pick([topic for topic in words.TOPICS if topic.names in words.ORDERED])
    count = min(len(topic.names), dice.between(5, 12))
    start = dice.below(len(topic.names) - count + 1)
    series = tuple(dice.sample(words.CITIES, dice.between(1, 3)))
    values = tuple(_walk(dice, count, topic.most) for _ in series)
    colors = tuple(dice.sample(dice.pick(words.PALETTES), len(series)))
    chart = Chart(
        title=topic.title,
        unit=topic.unit,
        names=topic.names[start : start + count],
        series=series,
        values=values,
        colors=colors,
        marked=dice.below(2) == 0,
        font=dice.pick(words.FONTS),
    )
    return draw(chart).with_changes(_edits(chart, dice), _bugs(chart, dice))


def _walk(dice: Dice, count: int, most: int) -> tuple[int, ...]:
    value = dice.between(most // 4, most * 3 // 4)
    found = []
    for _ in range(count):
        value = min(most, max(most // 20, value + dice.between(-most // 5, most // 5)))
        found.append(value)
    return tuple(found)


def draw(chart: Chart) -> Made:
    canvas = Canvas(380, 280, font=chart.font)
    canvas.text(190, 22, chart.title, 15, "middle", font_weight="bold")
    plot = axes.Plot(48, 44, 362, 228)
    top = axes.upward(canvas, plot, max(max(row) for row in chart.values), chart.unit)
    step = plot.width / (len(chart.names) - 1)
    xs = [plot.left + step * number for number in range(len(chart.names))]
    for x, name in zip(xs, chart.names, strict=True):
        canvas.text(x, plot.bottom + 14, name, 9, "middle")
    key = f"value {chart.unit}" if chart.unit else "value"
    for series, color, row in zip(chart.series, chart.colors, chart.values, strict=True):
        points = [(x, plot.bottom - plot.height * value / top) for x, value in zip(xs, row, strict=True)]
        elements = [canvas.polyline(points, color, 2, stroke_linejoin="round")]
        if chart.marked:
            elements += [canvas.add("circle", cx=x, cy=y, r=3, fill=color) for x, y in points]
        sizes: dict[str, float] = {f"{key} at {name}": v for name, v in zip(chart.names, row, strict=True)}
        sizes |= {"highest value": max(row), "lowest value": min(row)}
        canvas.part(Part(kind="line", name=series, color=color, sizes=sizes), *elements)
    axes.legend(canvas, plot.left + 8, 264, list(zip(chart.series, chart.colors, strict=True)))
    return canvas.made("a line chart", chart.title, {"points on each line": len(chart.names)})


def _edits(chart: Chart, dice: Dice) -> list[Edit]:
    which, number = dice.below(len(chart.series)), dice.below(len(chart.names))
    row = list(chart.values[which])
    old = row[number]
    row[number] = new = max(1, round(old * dice.pick([0.5, 0.7, 1.3, 1.5])))
    rows = (*chart.values[:which], tuple(row), *chart.values[which + 1 :])
    said = f"Change the value of {chart.series[which]} at {chart.names[number]} from {old} to {new}."
    found = [Edit(instruction=said, code=_code(chart, values=rows))]
    verb = "Take the dots off the lines." if chart.marked else "Put a dot at each value."
    found.append(Edit(instruction=verb, code=_code(chart, marked=not chart.marked)))
    if len(chart.series) > 1:
        kept = [n for n in range(len(chart.series)) if n != which]
        code = _code(
            chart,
            series=tuple(chart.series[n] for n in kept),
            values=tuple(chart.values[n] for n in kept),
            colors=tuple(chart.colors[n] for n in kept),
        )
        found.append(Edit(instruction=f"Remove the line of {chart.series[which]}.", code=code))
    if len(chart.names) > 5:
        code = _code(chart, names=chart.names[:-1], values=tuple(row[:-1] for row in chart.values))
        found.append(Edit(instruction=f"Let the chart end before {chart.names[-1]}.", code=code))
    return found


def _bugs(chart: Chart, dice: Dice) -> list[Edit]:
    flipped = _code(chart, values=tuple(tuple(reversed(row)) for row in chart.values))
    said = f"The lines run backwards: what belongs to {chart.names[0]} stands at {chart.names[-1]}."
    found = [Edit(instruction=said, code=flipped)]
    if len(chart.series) > 1:
        said = "The legend gives the lines each other's colours."
        found.append(Edit(instruction=said, code=_code(chart, values=(*chart.values[1:], chart.values[0]))))
    return dice.shuffled(found)


def _code(chart: Chart, **changes: object) -> str:
    return draw(replace(chart, **changes)).svg  # type: ignore[arg-type]
