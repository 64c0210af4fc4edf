"""Still lifes: some plain solids on a floor, none inside another, of colours that tell them apart; markets of many."""

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators.made import BRIGHT, GROUNDS, Made, paint, pov, vector
from trivium.data.scene.text import number

_FINISHES = ("Matte", "Shiny")
_ROWS, _COLUMNS, _APART = 7, 8, 0.8  # of a market; fewer than the objects that facts list


def scene(dice: Dice) -> Made:
    count = dice.between(3, 8)
    floor = dice.pick(GROUNDS)
    colors = [color for color in dice.shuffled(BRIGHT) if color != floor]
    lines = [f"plane {{ y, 0 {paint(floor)} }}", ""]
    placed: list[tuple[float, float, float]] = []
    while len(placed) < count:
        radius = round(0.35 + 0.45 * dice.share(), 2)
        x, z = round(4.4 * dice.share() - 2.2, 2), round(3.6 * dice.share() - 1.4, 2)
        if all((x - a) ** 2 + (z - b) ** 2 > (radius + r + 0.12) ** 2 for a, b, r in placed):
            placed.append((x, z, radius))
            lines.append(_solid(dice, x, z, radius, colors[(len(placed) - 1) % len(colors)]))
        elif dice.below(60) == 0:
            break  # no room is left
    height = round(2.4 + 1.6 * dice.share(), 2)
    return pov(dice, "Still life on a floor", lines, eye=(0, height, -7.5), target=0.5)


def market(dice: Dice) -> Made:
    """Long code of one line a solid: a session of edits on it goes on for as long as one wants."""
    floor = dice.pick(GROUNDS)
    colors = [color for color in BRIGHT if color != floor]
    lines = [f"plane {{ y, 0 {paint(floor)} }}"]
    for row in range(_ROWS):
        lines += ["", f"// row {row + 1}"]
        for column in range(_COLUMNS):
            x = round((column - (_COLUMNS - 1) / 2) * _APART + 0.1 * dice.share() - 0.05, 2)
            z = round((row - (_ROWS - 1) / 2) * _APART + 0.1 * dice.share() - 0.05, 2)
            lines.append(_solid(dice, x, z, round(0.2 + 0.12 * dice.share(), 2), dice.pick(colors)))
    return pov(dice, "Market of solids in rows", lines, eye=(0, 6.4, -8.6), target=0)


def _solid(dice: Dice, x: float, z: float, radius: float, color: str) -> str:
    look = paint(color, dice.pick(_FINISHES))
    kind = dice.pick(("sphere", "box", "cylinder", "cone", "torus"))
    r = number(radius)
    if kind == "sphere":
        return f"sphere {{ {vector(x, radius, z)}, {r} {look} }}"
    if kind == "box":
        half = round(radius * 0.7, 2)
        high = round(radius * (0.8 + dice.share()), 2)
        turned = dice.pick((0, 15, 30, 45, 60))
        turn = f"rotate y*{turned} " if turned else ""
        return (
            f"box {{ {vector(-half, 0, -half)}, {vector(half, high, half)} {turn}translate {vector(x, 0, z)} {look} }}"
        )
    high = round(radius * (1.2 + 1.2 * dice.share()), 2)
    if kind == "cylinder":
        thin = number(round(radius * 0.8, 2))
        return f"cylinder {{ {vector(x, 0, z)}, {vector(x, high, z)}, {thin} {look} }}"
    if kind == "cone":
        top = number(round(radius * dice.pick((0.0, 0.0, 0.3, 0.5)), 2))
        return f"cone {{ {vector(x, 0, z)}, {r}, {vector(x, high, z)}, {top} {look} }}"
    minor = round(radius * 0.28, 2)
    return f"torus {{ {number(round(radius - minor, 2))}, {number(minor)} translate {vector(x, minor, z)} {look} }}"
