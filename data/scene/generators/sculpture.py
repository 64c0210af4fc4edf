"""Sculptures: towers, rings and spirals of solids whose places follow a rule that the comments tell."""

import math

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators.made import BRIGHT, GROUNDS, Made, paint, pov, vector
from trivium.data.scene.text import number


def scene(dice: Dice) -> Made:
    form = dice.pick((_ring, _spiral, _stack, _snowman))
    title, lines, top = form(dice)
    floor = f"plane {{ y, 0 {paint(dice.pick(GROUNDS))} }}"
    return pov(dice, title, [floor, "", *lines], eye=(0, round(top + 1.6, 2), -8), target=round(top / 2, 2))


def _ring(dice: Dice) -> tuple[str, list[str], float]:
    count, one, other = dice.between(5, 10), *dice.sample(BRIGHT, 2)
    middle = dice.pick(("sphere", "cone"))
    lines = []
    for index in range(count):
        turn = 2 * math.pi * index / count
        x, z = round(2.2 * math.cos(turn), 2), round(2.2 * math.sin(turn), 2)
        lines.append(f"sphere {{ {vector(x, 0.4, z)}, 0.4 {paint(one, 'Shiny')} }}")
    if middle == "sphere":
        lines.append(f"sphere {{ {vector(0, 0.9, 0)}, 0.9 {paint(other, 'Shiny')} }}")
    else:
        lines.append(f"cone {{ {vector(0, 0, 0)}, 0.9, {vector(0, 2, 0)}, 0 {paint(other)} }}")
    return f"{count} {one} balls around one {other} {middle}", lines, 1.6


def _spiral(dice: Dice) -> tuple[str, list[str], float]:
    count, color, post = dice.between(8, 16), *dice.sample(BRIGHT, 2)
    rise = round(dice.pick((0.16, 0.2, 0.24)), 2)
    lines = [f"cylinder {{ {vector(0, 0, 0)}, {vector(0, round(rise * (count + 2), 2), 0)}, 0.2 {paint(post)} }}"]
    for index in range(count):
        turn = step_turn(index)
        low, high = round(rise * index, 2), round(rise * index + 0.12, 2)
        corners = f"{vector(0.2, low, -0.25)}, {vector(1.5, high, 0.25)}"
        lines.append(f"box {{ {corners} rotate y*{number(turn)} {paint(color)} }}")
    return f"Spiral stair of {count} {color} steps", lines, rise * count


def step_turn(index: int) -> float:
    """Degrees that a step is turned by."""
    return -24.0 * index


def _stack(dice: Dice) -> tuple[str, list[str], float]:
    count = dice.between(3, 6)
    colors = dice.sample(BRIGHT, count)
    lines, low = [], 0.0
    for index, color in enumerate(colors):
        half, high = round(1.3 - 0.17 * index, 2), dice.pick((0.35, 0.45, 0.6))
        top = round(low + high, 2)
        if dice.below(2):
            turn = dice.pick((0, 20, 45))
            lines.append(
                f"box {{ {vector(-half, low, -half)}, {vector(half, top, half)} rotate y*{turn} {paint(color)} }}"
            )
        else:
            lines.append(f"cylinder {{ {vector(0, low, 0)}, {vector(0, top, 0)}, {number(half)} {paint(color)} }}")
        low = top
    return f"Tower of {count} storeys", lines, low


def _snowman(dice: Dice) -> tuple[str, list[str], float]:
    hat, nose, scarf = dice.sample([color for color in BRIGHT if color != "white"], 3)
    big = round(0.9 + 0.2 * dice.share(), 2)
    middle, small = round(big * 0.7, 2), round(big * 0.5, 2)
    second = round(2 * big + middle * 0.7, 2)
    third = round(second + middle + small * 0.6, 2)
    top = round(third + small * 0.75, 2)
    neck, brim = round(third - small * 0.75, 2), round(top + 0.06, 2)
    near, far = round(-small * 0.8, 2), round(-small * 1.8, 2)
    wide, narrow = number(round(small * 0.95, 2)), number(round(small * 0.6, 2))
    lines = [
        f"sphere {{ {vector(0, big, 0)}, {number(big)} {paint('white')} }}",
        f"sphere {{ {vector(0, second, 0)}, {number(middle)} {paint('white')} }}",
        f"sphere {{ {vector(0, third, 0)}, {number(small)} {paint('white')} }}",
        f"torus {{ {number(round(small * 0.75, 2))}, 0.14 translate {vector(0, neck, 0)} {paint(scarf)} }}",
        f"cone {{ {vector(0, third, near)}, 0.1, {vector(0, third, far)}, 0 {paint(nose)} }}",
        f"cylinder {{ {vector(0, top, 0)}, {vector(0, brim, 0)}, {wide} {paint(hat)} }}",
        f"cylinder {{ {vector(0, top, 0)}, {vector(0, round(top + 0.5, 2), 0)}, {narrow} {paint(hat)} }}",
    ]
    return f"Snowman with a {hat} hat, a {nose} nose and a {scarf} scarf", lines, top
