"""Clock faces that show a time to the minute."""

import math
from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

_ROMAN = ("XII", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI")


@dataclass(frozen=True, slots=True)
class Clock:
    """`minutes` since twelve; `numerals`: arabic, roman or none (ticks only)."""

    minutes: int
    numerals: str
    rim: str
    hand: str
    square: bool


def make(dice: Dice) -> Made:
    clock = Clock(
        minutes=dice.below(720),
        numerals=dice.pick(["arabic", "roman", "none"]),
        rim=dice.pick(dice.pick(words.PALETTES)),
        hand=dice.pick([words.INK, words.INK, "#c0392b"]),
        square=dice.below(4) == 0,
    )
    return draw(clock).with_changes(_edits(clock, dice), _bugs(clock, dice))


def said(minutes: int) -> str:
    return f"{minutes // 60 or 12}:{minutes % 60:02d}"


def _at(turn: float, far: float) -> Point:
    """A point of the face; `turn` is a share of a turn from the top."""
    angle = 2 * math.pi * turn
    return 120 + far * math.sin(angle), 120 - far * math.cos(angle)


def draw(clock: Clock, *, exchanged: bool = False, stiff: bool = False) -> Made:
    """`exchanged`: the hands have each other's length; `stiff`: the short hand points at full hours only."""
    canvas = Canvas(240, 240, paper="#f7f5f0")
    if clock.square:
        canvas.add("rect", x=14, y=14, width=212, height=212, fill="#ffffff", stroke=clock.rim, stroke_width=8)
    else:
        canvas.add("circle", cx=120, cy=120, r=104, fill="#ffffff", stroke=clock.rim, stroke_width=8)
    for minute in range(60):
        if minute % 5 == 0 or clock.numerals == "none":
            deep, width = (88, 3) if minute % 5 == 0 else (93, 1)
            canvas.line(_at(minute / 60, deep), _at(minute / 60, 97), words.INK, width)
    for hour in range(12 if clock.numerals != "none" else 0):
        x, y = _at(hour / 12, 74)
        label = _ROMAN[hour] if clock.numerals == "roman" else str(hour or 12)
        canvas.text(x, y + 5.5, label, 13 if clock.numerals == "roman" else 15, "middle")
    hour_turn = (clock.minutes // 60 if stiff else clock.minutes / 60) / 12
    short, long = (84, 52) if exchanged else (52, 84)
    short_hand = canvas.line(_at(hour_turn + 0.5, 10), _at(hour_turn, short), clock.hand, 6, stroke_linecap="round")
    canvas.part(Part(kind="hour hand"), short_hand)
    turn = clock.minutes % 60 / 60
    long_hand = canvas.line(_at(turn + 0.5, 12), _at(turn, long), clock.hand, 3, stroke_linecap="round")
    canvas.part(Part(kind="minute hand"), long_hand)
    canvas.add("circle", cx=120, cy=120, r=5, fill=clock.hand)
    sizes = {"hour shown": float(clock.minutes // 60 or 12), "minute shown": float(clock.minutes % 60)}
    return canvas.made("a clock face", "", sizes, tuple(sizes))


def _edits(clock: Clock, dice: Dice) -> list[Edit]:
    later = dice.pick([5, 10, 15, 20, 30, 45, 60, 90])
    found = [
        Edit(
            instruction=f"Set the clock {later} minutes later.",
            code=draw(replace(clock, minutes=(clock.minutes + later) % 720)).svg,
        )
    ]
    new = dice.below(720)
    found.append(Edit(instruction=f"Let the clock show {said(new)}.", code=draw(replace(clock, minutes=new)).svg))
    kind = dice.pick([kind for kind in ("arabic", "roman") if kind != clock.numerals])
    found.append(
        Edit(
            instruction=f"Write {kind.capitalize()} numerals on the face.", code=draw(replace(clock, numerals=kind)).svg
        )
    )
    return dice.shuffled(found)


def _bugs(clock: Clock, dice: Dice) -> list[Edit]:
    found = [Edit(instruction="The hour hand is the longer one.", code=draw(clock, exchanged=True).svg)]
    if clock.minutes % 60 >= 20:
        said_ = "The hour hand points exactly at an hour although the hour is not full."
        found.append(Edit(instruction=said_, code=draw(clock, stiff=True).svg))
    return dice.shuffled(found)
