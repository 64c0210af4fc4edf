"""Bar charts: upright or lying, one series or two."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import axes, words
from trivium.data.svg.generators.canvas import Canvas, Made


@dataclass(frozen=True, slots=True)
class Chart:
    """`series` are names (one empty name: a single series), `values` by series and category."""

    title: str
    unit: str
    names: tuple[str, ...]
    series: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    colors: tuple[str, ...]
    lying: bool
    labels: bool  # whether each bar states its value
    font: str
    drawn: tuple[tuple[int, ...], ...] = ()  # lengths of bars where they are wrong


def make(dice: Dice) -> Made:
    chart = roll(dice)
    return draw(chart).with_changes(_edits(chart, dice), _bugs(chart, dice))


def roll(dice: Dice) -> Chart:
    topic = dice.pick(words.TOPICS)
    count = dice.between(3, 8)
    start = dice.below(len(topic.names) - min(count, len(topic.names)) + 1)
    ordered = topic.names in words.ORDERED
    names = topic.names[start : start + count] if ordered else tuple(dice.sample(topic.names, count))
    series = dice.pick(words.SERIES) if len(names) < 7 and dice.below(3) == 0 else ("",)
    colors = tuple(dice.sample(dice.pick(words.PALETTES), len(series)))
    values = tuple(tuple(dice.between(topic.most // 12 or 1, topic.most) for _ in names) for _ in series)
    return Chart(
        title=topic.title,
        unit=topic.unit,
        names=names,
        series=series,
        values=values,
        colors=colors,
        lying=dice.below(3) == 0,
        labels=dice.below(2) == 0,
        font=dice.pick(words.FONTS),
    )


def draw(chart: Chart) -> Made:
    canvas = Canvas(380, 280, font=chart.font)
    canvas.text(190, 22, chart.title, 15, "middle", font_weight="bold")
    plot = axes.Plot(78 if chart.lying else 48, 44, 360, 232)
    most = max(max(row) for row in (*chart.values, *chart.drawn))
    top = (axes.rightward if chart.lying else axes.upward)(canvas, plot, most, chart.unit)
    slot = (plot.height if chart.lying else plot.width) / len(chart.names)
    thick = slot * 0.72 / len(chart.series)
    for number, name in enumerate(chart.names):
        at = slot * number + slot * 0.14
        for which, series in enumerate(chart.series):
            value = chart.values[which][number]
            length = (chart.drawn or chart.values)[which][number] / top
            _bar(canvas, plot, chart, (at + which * thick, thick), length, _part(chart, name, series, which, value))
        middle = at + slot * 0.36
        if chart.lying:
            canvas.text(plot.left - 6, plot.top + middle + 3.5, name, 10, "end")
        else:
            canvas.text(plot.left + middle, plot.bottom + 14, name, 10 if slot > 45 else 8, "middle")
    if len(chart.series) > 1:
        axes.legend(canvas, plot.left + 10, 268, list(zip(chart.series, chart.colors, strict=True)))
    way = "horizontal" if chart.lying else "vertical"
    kind = f"a {way} bar chart" if len(chart.series) == 1 else f"a grouped {way} bar chart"
    return canvas.made(kind, chart.title, legible=(_key(chart),) if chart.labels else ())


def _bar(canvas: Canvas, plot: axes.Plot, chart: Chart, place: tuple[float, float], length: float, part: Part) -> None:
    along, thick = place
    if chart.lying:
        box = {"x": plot.left, "y": plot.top + along, "width": plot.width * length, "height": thick}
    else:
        box = {"x": plot.left + along, "y": plot.bottom - plot.height * length, "width": thick}
        box["height"] = plot.height * length
    canvas.part(part, canvas.add("rect", **box, fill=part.color))
    if chart.labels:
        value = str(round(part.sizes[_key(chart)]))
        if chart.lying:
            canvas.text(box["x"] + box["width"] + 4, box["y"] + thick / 2 + 3, value, 8)
        else:
            canvas.text(box["x"] + thick / 2, box["y"] - 3, value, 8, "middle")


def _key(chart: Chart) -> str:
    return f"value {chart.unit}" if chart.unit else "value"


def _part(chart: Chart, name: str, series: str, which: int, value: int) -> Part:
    full = f"{name}, {series}" if series else name
    return Part(kind="bar", name=full, color=chart.colors[which], sizes={_key(chart): value})


def _edits(chart: Chart, dice: Dice) -> list[Edit]:
    which, number = dice.below(len(chart.series)), dice.below(len(chart.names))
    old = chart.values[which][number]
    new = next(
        value for value in iter(lambda: dice.between(1, max(chart.values[which])), None) if value != old or old < 2
    )
    bar = f"{chart.names[number]}{f' ({chart.series[which]})' if chart.series[which] else ''}"
    changed = _with(chart.values, which, number, new)
    unit = f" {chart.unit}" if chart.unit else ""
    found = [
        Edit(
            instruction=f"Set the value of {bar} to {new}{unit} instead of {old}{unit}.",
            code=_code(chart, values=changed),
        )
    ]
    turned = "upright" if chart.lying else "lying"
    found.append(Edit(instruction=f"Draw the same data with {turned} bars.", code=_code(chart, lying=not chart.lying)))
    order = sorted(range(len(chart.names)), key=lambda n: (-chart.values[0][n], n))
    if order != sorted(order) and len(chart.series) == 1:
        found.append(
            Edit(
                instruction="Sort the bars by value, the largest first.",
                code=_code(
                    chart,
                    names=tuple(chart.names[n] for n in order),
                    values=(tuple(chart.values[0][n] for n in order),),
                ),
            )
        )
    if len(chart.names) > 3:
        left = [n for n in range(len(chart.names)) if n != number]
        found.append(
            Edit(
                instruction=f"Take {chart.names[number]} out of the chart.",
                code=_code(
                    chart,
                    names=tuple(chart.names[n] for n in left),
                    values=tuple(tuple(row[n] for n in left) for row in chart.values),
                ),
            )
        )
    if not chart.labels:
        found.append(Edit(instruction="Write each bar's value at its end.", code=_code(chart, labels=True)))
    return found


def _bugs(chart: Chart, dice: Dice) -> list[Edit]:
    which, number = dice.below(len(chart.series)), dice.below(len(chart.names))
    wrong = max(1, round(chart.values[which][number] * dice.pick([0.4, 0.5, 1.5])))
    length = _with(chart.values, which, number, wrong)
    found = []
    if wrong != chart.values[which][number] and chart.labels:
        said = f"The bar of {chart.names[number]} has not the length that its label states."
        found.append(Edit(instruction=said, code=_code(chart, drawn=length)))
    if len(chart.series) > 1:
        mixed = _code(chart, values=tuple(reversed(chart.values)))
        said = f"The values of {chart.series[0]} and {chart.series[1]} are exchanged."
        found.append(Edit(instruction=said, code=mixed))
    one, other = sorted(dice.sample(range(len(chart.names)), 2))
    names = list(chart.names)
    names[one], names[other] = names[other], names[one]
    said = f"The names {chart.names[one]} and {chart.names[other]} stand at each other's bars."
    found.append(Edit(instruction=said, code=_code(chart, names=tuple(names))))
    return found


def _with(values: tuple[tuple[int, ...], ...], which: int, number: int, new: int) -> tuple[tuple[int, ...], ...]:
    rows = [list(row) for row in values]
    rows[which][number] = new
    return tuple(tuple(row) for row in rows)


def _code(chart: Chart, **changes: object) -> str:
    return draw(replace(chart, **changes)).svg  # type: ignore[arg-type]
