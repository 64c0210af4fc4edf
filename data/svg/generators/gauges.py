"""Gauges with a needle, thermometers, and bars of progress."""

import math
from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

_SCALES = (
    (0, 10, 1, "bar"),
    (0, 100, 10, "%"),
    (0, 200, 20, "km/h"),
    (0, 8, 1, "kV"),
    (0, 60, 10, "A"),
    (0, 50, 5, "l"),
)


@dataclass(frozen=True, slots=True)
class Gauge:
    """`kind`: dial, thermometer or progress."""

    kind: str
    low: int
    high: int
    step: int
    unit: str
    value: float
    color: str


def make(dice: Dice) -> Made:
    kind = dice.pick(["dial", "dial", "thermometer", "progress"])
    low, high, step, unit = dice.pick(_SCALES)
    if kind == "thermometer":
        low, high, step, unit = dice.pick([(-20, 50, 10, "°C"), (0, 100, 10, "°C"), (35, 42, 1, "°C")])
    if kind == "progress":
        low, high, step, unit = 0, 100, 10, "%"
    parts = (high - low) // step * 5
    value = low + step * dice.between(1, parts - 1) / 5
    gauge = Gauge(kind, low, high, step, unit, value, dice.pick(dice.pick(words.PALETTES)))
    return draw(gauge).with_changes(_edits(gauge, dice), _bugs(gauge, dice))


def draw(gauge: Gauge, wrong: float | None = None) -> Made:
    """`wrong`: what needle or column shows instead of the value that is written."""
    shown = gauge.value if wrong is None else wrong
    canvas = {"dial": _dial, "thermometer": _thermometer, "progress": _progress}[gauge.kind](gauge, shown)
    what = {"dial": "a gauge with a needle", "thermometer": "a thermometer", "progress": "a progress bar"}[gauge.kind]
    key = f"value shown {gauge.unit}" if gauge.unit in ("%", "°C", "A") else f"value shown in {gauge.unit}"
    return canvas.made(what, "", {key: gauge.value}, (key,))


def _share(gauge: Gauge, value: float) -> float:
    return (value - gauge.low) / (gauge.high - gauge.low)


def _dial(gauge: Gauge, shown: float) -> Canvas:
    canvas = Canvas(280, 190)

    def at(share: float, far: float) -> Point:
        angle = math.pi * (1 - share)
        return 140 + far * math.cos(angle), 150 - far * math.sin(angle)

    (x1, y1), (x2, y2) = at(0, 110), at(1, 110)
    arc = f"M{x1:.1f} {y1:.1f}A110 110 0 0 1 {x2:.1f} {y2:.1f}"
    canvas.add("path", d=arc, fill="none", stroke=gauge.color, stroke_width=8)
    count = (gauge.high - gauge.low) // gauge.step
    for number in range(count * 5 + 1):
        long = number % 5 == 0
        share = number / count / 5
        canvas.line(at(share, 96 if long else 101), at(share, 106), words.INK, 2 if long else 1)
        if long:
            x, y = at(share, 82)
            canvas.text(x, y + 4, str(gauge.low + gauge.step * number // 5), 11, "middle")
    tip, (bx, by) = at(_share(gauge, shown), 92), (140.0, 150.0)
    right, down = (tip[1] - by) / 92 * 5, (bx - tip[0]) / 92 * 5
    needle = canvas.polygon([tip, (bx + right, by + down), (bx - right, by - down)], "#c0392b")
    canvas.part(Part(kind="needle", color="#c0392b"), needle)
    canvas.add("circle", cx=140, cy=150, r=8, fill=words.INK)
    canvas.text(140, 180, gauge.unit, 13, "middle")
    return canvas


def _thermometer(gauge: Gauge, shown: float) -> Canvas:
    canvas = Canvas(150, 300)
    top, bottom = 30.0, 235.0
    canvas.add(
        "rect",
        x=48,
        y=top - 12,
        width=24,
        height=bottom - top + 30,
        rx=12,
        fill="#eceff1",
        stroke="#90a4ae",
        stroke_width=2,
    )
    bulb = canvas.add("circle", cx=60, cy=258, r=22, fill=gauge.color, stroke="#90a4ae", stroke_width=2)
    y = bottom - (bottom - top) * _share(gauge, shown)
    column = canvas.add("rect", x=54, y=y, width=12, height=258 - y, fill=gauge.color)
    canvas.part(Part(kind="column", color=gauge.color), column, bulb)
    count = (gauge.high - gauge.low) // gauge.step
    for number in range(count * 5 + 1):
        long = number % 5 == 0
        level = bottom - (bottom - top) * number / count / 5
        canvas.line((76, level), (90 if long else 83, level), words.INK, 1.5 if long else 1)
        if long:
            canvas.text(95, level + 4, str(gauge.low + gauge.step * number // 5), 11)
    canvas.text(95, 274, gauge.unit, 12)
    return canvas


def _progress(gauge: Gauge, shown: float) -> Canvas:
    canvas = Canvas(320, 80)
    canvas.add("rect", x=20, y=30, width=280, height=22, rx=4, fill="#e0e0e0")
    bar = canvas.add("rect", x=20, y=30, width=280 * _share(gauge, shown), height=22, rx=4, fill=gauge.color)
    canvas.part(Part(kind="bar", color=gauge.color), bar)
    canvas.text(300, 22, f"{gauge.value:g} %", 13, "end")
    return canvas


def _edits(gauge: Gauge, dice: Dice) -> list[Edit]:
    parts = (gauge.high - gauge.low) // gauge.step * 5
    new = gauge.low + gauge.step * dice.between(1, parts - 1) / 5
    if new == gauge.value:
        return []
    said = f"Let it show {new:g} {gauge.unit} instead of {gauge.value:g} {gauge.unit}."
    return [Edit(instruction=said, code=draw(replace(gauge, value=new)).svg)]


def _bugs(gauge: Gauge, dice: Dice) -> list[Edit]:
    if gauge.kind != "progress":
        return []
    wrong = max(2.0, 100.0 - gauge.value)
    if abs(wrong - gauge.value) < 5:
        return []
    return [Edit(instruction="The bar is not as long as the number above it says.", code=draw(gauge, wrong).svg)]
