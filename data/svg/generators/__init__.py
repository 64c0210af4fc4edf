"""Drawings made from data by lot: one kind a file, each a pure function of its dice.

Every kind knows its data exactly, so that whatever is asked about a drawing has one answer; and it draws changed data
by the same code, so that edits and mistakes make sense.
"""

from collections.abc import Callable, Mapping
from importlib import import_module

from trivium.data.longcontext.dice import Dice
from trivium.data.svg.generators.canvas import Made

KINDS = (
    "bars",
    "lines",
    "pie",
    "scatter",
    "tables",
    "flow",
    "graphs",
    "circuits",
    "molecules",
    "clocks",
    "gauges",
    "patterns",
    "geometry",
    "maps",
)
Maker = Callable[[Dice], Made]


def maker(kind: str) -> Maker:
    """The function that draws one kind."""
    made: Maker = import_module(f"{__name__}.{kind}").make
    return made


def chosen(seed: int, index: int, weights: Mapping[str, float]) -> tuple[str, Made]:
    """Drawing number `index` and its kind; a pure function of its arguments."""
    dice = Dice("svg_generated", seed, index)
    kind = dice.weighted(weights)
    return kind, maker(kind)(dice)
