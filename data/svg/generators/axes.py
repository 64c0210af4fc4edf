"""Axes of charts: round steps, grid lines, labels."""

import math
from dataclasses import dataclass

from trivium.data.svg.generators.canvas import Canvas
from trivium.data.svg.generators.words import FAINT, INK


@dataclass(frozen=True, slots=True)
class Plot:
    """The frame of a chart on its canvas, in user units."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


def steps(most: float, wanted: int = 5) -> tuple[float, int]:
    """A round step (1, 2 or 5 times a power of ten) and how many of them reach `most`."""
    rough = max(most, 1e-9) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return step, max(1, math.ceil(most / step - 1e-9))


def show(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def upward(canvas: Canvas, plot: Plot, most: float, unit: str = "") -> float:
    """A vertical axis from 0 with grid lines and labels; gives the value at its top."""
    step, count = steps(most)
    for number in range(count + 1):
        y = plot.bottom - plot.height * number / count
        canvas.line((plot.left, y), (plot.right, y), FAINT if number else INK)
        canvas.text(plot.left - 5, y + 3.5, show(step * number), 10, "end")
    if unit:
        canvas.text(plot.left - 5, plot.top - 9, unit, 10, "end")
    return step * count


def rightward(canvas: Canvas, plot: Plot, most: float, unit: str = "") -> float:
    """The same along the bottom."""
    step, count = steps(most)
    for number in range(count + 1):
        x = plot.left + plot.width * number / count
        canvas.line((x, plot.top), (x, plot.bottom), FAINT if number else INK)
        canvas.text(x, plot.bottom + 13, show(step * number), 10, "middle")
    if unit:
        canvas.text(plot.right, plot.bottom + 26, unit, 10, "end")
    return step * count


def legend(canvas: Canvas, x: float, y: float, entries: list[tuple[str, str]], step: float = 78) -> None:
    """Squares of colour with their names, side by side."""
    for number, (name, color) in enumerate(entries):
        canvas.add("rect", x=x + number * step, y=y - 8, width=9, height=9, fill=color)
        canvas.text(x + number * step + 13, y, name, 10)
