"""Carved bodies: unions, intersections and differences of plain solids, one to three of them on a floor."""

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators.made import BRIGHT, GROUNDS, Made, paint, pov, vector

_BODIES = ("pierced cube", "bowl", "die", "lens", "drilled ball", "cross", "dome")


def scene(dice: Dice) -> Made:
    count = dice.between(1, 3)
    colors, floor = dice.sample(BRIGHT, count), dice.pick(GROUNDS)
    lines = [f"plane {{ y, 0 {paint(floor)} }}"]
    bodies = dice.sample(_BODIES, count)
    for number, (body, color) in enumerate(zip(bodies, colors, strict=True)):
        x = round(2.4 * (number - (count - 1) / 2), 2)
        lines += ["", f"// {body}", *_body(dice, body, x, paint(color, dice.pick(("Matte", "Shiny"))))]
    return pov(
        dice, f"Carved bodies: {', '.join(bodies)}", lines, eye=(0.8, 3.2, -7.5), target=0.75, angle=30 + 9 * count
    )


def _body(dice: Dice, body: str, x: float, look: str) -> list[str]:
    turn = f"  rotate y*{dice.pick((0, 15, 30, 45, -25))}"
    place = f"  translate {vector(x, 1, 0)}"
    size = round(0.75 + 0.2 * dice.share(), 2)
    if body == "pierced cube":
        hole = round(size * dice.pick((0.4, 0.5, 0.6)), 2)
        rods = [f"  cylinder {{ -2*{axis}, 2*{axis}, {hole} }}" for axis in dice.sample("xyz", dice.between(1, 3))]
        return ["difference {", f"  box {{ -{size}, {size} }}", *rods, turn, place, f"  {look}", "}"]
    if body == "bowl":
        wall = dice.pick((0.06, 0.1, 0.15))
        inner = round(size - wall, 2)
        cut = f"  box {{ {vector(-2, 0.1, -2)}, {vector(2, 2, 2)} }}"
        return ["difference {", f"  sphere {{ 0, {size} }}", f"  sphere {{ 0, {inner} }}", cut, place, f"  {look}", "}"]
    if body == "die":
        round_ = round(size * 1.38, 2)
        return [
            "intersection {",
            f"  box {{ -{size}, {size} }}",
            f"  sphere {{ 0, {round_} }}",
            turn,
            place,
            f"  {look}",
            "}",
        ]
    if body == "lens":
        off = round(size * dice.pick((0.4, 0.6)), 2)
        halves = [f"  sphere {{ {vector(0, 0, sign * off)}, {size} }}" for sign in (-1, 1)]
        return ["intersection {", *halves, turn, place, f"  {look}", "}"]
    if body == "drilled ball":
        hole, tilt = round(size * dice.pick((0.35, 0.5)), 2), dice.pick((0, 20, 60, 90))
        rod = f"  cylinder {{ -2*y, 2*y, {hole} rotate x*{tilt} }}"
        return ["difference {", f"  sphere {{ 0, {size} }}", rod, turn, place, f"  {look}", "}"]
    if body == "cross":
        thin = round(size * 0.35, 2)
        rods = [f"  cylinder {{ -{size}*{axis}, {size}*{axis}, {thin} }}" for axis in "xyz"]
        return ["union {", *rods, turn, place, f"  {look}", "}"]
    wide = round(size * 0.9, 2)
    walls = f"  cylinder {{ {vector(0, -1, 0)}, {vector(0, 0, 0)}, {wide} }}"
    door = f"  box {{ {vector(-0.25, -1.1, -2)}, {vector(0.25, -0.3, 0)} }}"
    whole = ["  union {", f"  {walls}", f"    sphere {{ 0, {wide} }}", "  }"]
    return ["difference {", *whole, door, turn, place, f"  {look}", "}"]
