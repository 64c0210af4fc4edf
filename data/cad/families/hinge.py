"""Leaves of hinges: a plate with screw holes and knuckles along one side."""

from trivium.data.cad.families.family import BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    thickness = dice.between(2, 4)
    knuckles = dice.between(2, 4)
    knuckle = dice.between(6, 14)
    radius = thickness + dice.between(2, 4)
    screw = dice.pick((3, 4, 5))
    parameters = {
        "leaf_width": 2 * dice.between(10, 25) + 2 * radius,
        "thickness": thickness,
        "knuckle_count": knuckles,
        "knuckle_length": knuckle,
        "knuckle_diameter": 2 * radius,
        "pin_diameter": 2 * (radius - thickness),
        "screw_hole_diameter": screw,
        "screw_hole_count": dice.between(2, 3) if (2 * knuckles - 1) * knuckle > 8 * screw else 2,
    }
    title = "Hinge leaf with knuckles and screw holes"
    return Part(title=title, parameters=parameters, body=_BUILDER if mode == BUILDER else _ALGEBRA)


_LENGTHS = """
    length = (2 * knuckle_count - 1) * knuckle_length
    screw_pitch = length / screw_hole_count
"""
_BUILDER = f"""{_LENGTHS}
    with BuildPart() as hinge:
        # the leaf
        Box(leaf_width, length, thickness, align=(Align.MIN, Align.CENTER, Align.MIN))
        # the knuckles
        for number in range(knuckle_count):
            y = (2 * number + 1 - knuckle_count) * knuckle_length
            with Locations(Pos(0, y, knuckle_diameter / 2) * Rot(90, 0, 0)):
                Cylinder(knuckle_diameter / 2, knuckle_length)
        # the gaps between the knuckles
        for number in range(knuckle_count - 1):
            with Locations((0, (2 * number + 2 - knuckle_count) * knuckle_length, 0)):
                Box(knuckle_diameter + 2, knuckle_length, 4 * knuckle_diameter, mode=Mode.SUBTRACT)
        # the hole of the pin
        with Locations(Pos(0, 0, knuckle_diameter / 2) * Rot(90, 0, 0)):
            Cylinder(pin_diameter / 2, 2 * length, mode=Mode.SUBTRACT)
        # the screw holes
        with Locations(((leaf_width + knuckle_diameter / 2) / 2, 0, thickness)):
            with GridLocations(1, screw_pitch, 1, screw_hole_count):
                CounterSinkHole(screw_hole_diameter / 2, screw_hole_diameter * 0.8)

    result = hinge.part
"""
_ALGEBRA = f"""{_LENGTHS}
    # the leaf
    hinge = Box(leaf_width, length, thickness, align=(Align.MIN, Align.CENTER, Align.MIN))
    # the knuckles
    for number in range(knuckle_count):
        y = (2 * number + 1 - knuckle_count) * knuckle_length
        hinge += Pos(0, y, knuckle_diameter / 2) * Rot(90, 0, 0) * Cylinder(knuckle_diameter / 2, knuckle_length)
    # the gaps between the knuckles
    for number in range(knuckle_count - 1):
        y = (2 * number + 2 - knuckle_count) * knuckle_length
        hinge -= Pos(0, y, 0) * Box(knuckle_diameter + 2, knuckle_length, 4 * knuckle_diameter)
    # the hole of the pin
    hinge -= Pos(0, 0, knuckle_diameter / 2) * Rot(90, 0, 0) * Cylinder(pin_diameter / 2, 2 * length)
    # the screw holes
    for place in GridLocations(1, screw_pitch, 1, screw_hole_count):
        x = (leaf_width + knuckle_diameter / 2) / 2
        hinge -= Pos(x, 0, 0) * place * Cylinder(screw_hole_diameter / 2, 4 * thickness)

    result = hinge
"""

FAMILY = Family(name="hinge", draw=draw)
