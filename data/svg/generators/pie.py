"""Pie and ring charts whose shares add up to a hundred."""

import math
from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made


@dataclass(frozen=True, slots=True)
class Pie:
    title: str
    names: tuple[str, ...]
    shares: tuple[int, ...]  # per cent
    colors: tuple[str, ...]
    ring: bool
    labels: bool  # whether the legend states the shares
    font: str


def make(dice: Dice) -> Made:
    topic = dice.pick([topic for topic in words.TOPICS if topic.names not in words.ORDERED])
    names = tuple(dice.sample(topic.names, dice.between(3, 6)))
    weights = [dice.between(3, 20) for _ in names]
    shares = [max(2, round(100 * weight / sum(weights))) for weight in weights]
    shares[shares.index(max(shares))] += 100 - sum(shares)
    pie = Pie(
        title=topic.title,
        names=names,
        shares=tuple(shares),
        colors=tuple(dice.sample(dice.pick(words.PALETTES), len(names))),
        ring=dice.below(2) == 0,
        labels=dice.below(3) > 0,
        font=dice.pick(words.FONTS),
    )
    return draw(pie).with_changes(_edits(pie, dice), _bugs(pie, dice))


def draw(pie: Pie) -> Made:
    canvas = Canvas(360, 240, font=pie.font)
    canvas.text(180, 24, pie.title, 15, "middle", font_weight="bold")
    x, y, radius, hole = 120.0, 136.0, 84.0, 44.0 if pie.ring else 0.0
    turned = 0
    for number, (name, share, color) in enumerate(zip(pie.names, pie.shares, pie.colors, strict=True)):
        path = _slice(x, y, radius, hole, turned / 100, (turned + share) / 100)
        turned += share
        element = canvas.add("path", d=path, fill=color, stroke="#ffffff", stroke_width=1.5)
        kind = "segment" if pie.ring else "slice"
        canvas.part(Part(kind=kind, name=name, color=color, sizes={"share %": share}), element)
        row = 70 + 22 * number
        canvas.add("rect", x=236, y=row - 10, width=12, height=12, fill=color)
        canvas.text(254, row, f"{name} {share} %" if pie.labels else name, 11)
    what = "a ring chart" if pie.ring else "a pie chart"
    return canvas.made(what, pie.title, legible=("share %",) if pie.labels else ())


def _slice(x: float, y: float, radius: float, hole: float, start: float, end: float) -> str:
    """Clockwise from the top; `start` and `end` are shares of a turn."""

    def at(share: float, far: float) -> str:
        angle = 2 * math.pi * share - math.pi / 2
        return f"{x + far * math.cos(angle):.1f} {y + far * math.sin(angle):.1f}"

    large = int(end - start > 0.5)
    outer = f"M{at(start, radius)}A{radius:g} {radius:g} 0 {large} 1 {at(end, radius)}"
    if not hole:
        return f"{outer}L{x:g} {y:g}Z"
    return f"{outer}L{at(end, hole)}A{hole:g} {hole:g} 0 {large} 0 {at(start, hole)}Z"


def _edits(pie: Pie, dice: Dice) -> list[Edit]:
    other = "full slices instead of a ring" if pie.ring else "a ring with a hole instead of full slices"
    found = [Edit(instruction=f"Draw the same shares as {other}.", code=_code(pie, ring=not pie.ring))]
    one, two = dice.sample(range(len(pie.names)), 2)
    if pie.shares[one] > 4:
        move = dice.between(1, pie.shares[one] - 3)
        shares = list(pie.shares)
        shares[one], shares[two] = shares[one] - move, shares[two] + move
        said = f"Give {move} % of {pie.names[one]} to {pie.names[two]}."
        found.insert(0, Edit(instruction=said, code=_code(pie, shares=tuple(shares))))
    order = sorted(range(len(pie.names)), key=lambda n: (-pie.shares[n], n))
    if order != sorted(order):
        said = "Order the parts by share, the largest first from the top clockwise, each with its own colour."
        names, shares_, colors = (tuple(values[n] for n in order) for values in (pie.names, pie.shares, pie.colors))
        found.append(Edit(instruction=said, code=_code(pie, names=names, shares=shares_, colors=colors)))
    verb = "Take the shares out of the legend." if pie.labels else "Write each share into the legend."
    found.append(Edit(instruction=verb, code=_code(pie, labels=not pie.labels)))
    return found


def _bugs(pie: Pie, dice: Dice) -> list[Edit]:
    one, two = dice.sample(range(len(pie.names)), 2)
    names = list(pie.names)
    names[one], names[two] = names[two], names[one]
    said = f"In the legend {pie.names[one]} and {pie.names[two]} have each other's colour and share."
    found = [Edit(instruction=said, code=_code(pie, names=tuple(names)))]
    short = (*pie.shares[:-1], max(1, pie.shares[-1] // 2))
    if short != pie.shares:
        found.append(
            Edit(instruction="The parts do not add up to a whole: a gap is left open.", code=_code(pie, shares=short))
        )
    return found


def _code(pie: Pie, **changes: object) -> str:
    return draw(replace(pie, **changes)).svg  # type: ignore[arg-type]
