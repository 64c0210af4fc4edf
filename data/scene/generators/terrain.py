"""Landscapes: hills of an isosurface or rows of towers over water, under a sky; what a loop in the code draws."""

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators.made import BRIGHT, Made, paint, pov, vector
from trivium.data.scene.pov.colors import CSS, literal

_LANDS = ("olive", "tan", "seagreen", "khaki", "firebrick", "gray")


def scene(dice: Dice) -> Made:
    return _hills(dice) if dice.below(2) else _towers(dice)


def _hills(dice: Dice) -> Made:
    land, water = dice.pick(_LANDS), dice.pick(("steelblue", "turquoise", "navy", "teal"))
    scale, high = dice.pick((0.6, 0.9, 1.3)), dice.pick((0.8, 1.2, 1.6))
    shift = vector(dice.between(0, 40), 0, dice.between(0, 40))
    level = round(high * dice.pick((0.4, 0.5, 0.6)), 2)
    lines = [
        '#include "functions.inc"',
        "",
        "// hills",
        "isosurface {",
        f"  function {{ y - {high}*f_noise3d(x/{scale} + {shift.strip('<>').split(',')[0]}, 0, z/{scale}) }}",
        f"  contained_by {{ box {{ {vector(-6, -0.1, -6)}, {vector(6, 2, 6)} }} }}",
        "  max_gradient 4",
        f"  {paint(land)}",
        "}",
        "",
        "// water",
        f"plane {{ y, {level} {paint(water, 'Shiny')} }}",
    ]
    return pov(dice, f"Hills of {land} over {water} water", lines, eye=(0, 3.5, -9), target=0.4, angle=45)


def _towers(dice: Dice) -> Made:
    low, high = dice.sample(BRIGHT, 2)
    side, seed = dice.between(5, 9), dice.between(1, 9999)
    lines = [
        f"plane {{ y, 0 {paint(dice.pick(_LANDS))} }}",
        "",
        f"#declare Random = seed({seed});",
        f"#declare Side = {side};",
        "#for (Row, 0, Side - 1)",
        "  #for (Column, 0, Side - 1)",
        "    #local Height = 0.2 + 1.8*pow(rand(Random), 2);",
        "    box {",
        "      <-0.4, 0, -0.4>, <0.4, Height, 0.4>",
        "      pigment {",
        f"        #if (Height < 1) color {literal(CSS[low])} #else color {literal(CSS[high])} #end",
        "      }",
        "      finish { Matte }",
        "      translate <Column - (Side - 1)/2, 0, Row - (Side - 1)/2>",
        "    }",
        "  #end",
        "#end",
    ]
    far = round(side * 1.3, 2)
    title = f"City of {side} by {side} towers, {low} below a height of 1 and {high} above"
    return pov(dice, title, lines, eye=(far * 0.5, far * 0.7, -far), target=0.3, angle=44)
