"""Shaft clamps: a ring with a slit and ears, held together by a screw."""

from trivium.data.cad.families.family import BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    bore = 2 * dice.between(5, 20)
    ring = dice.between(4, 8)
    screw = dice.pick((4, 5, 6))
    parameters = {
        "bore_diameter": bore,
        "outer_diameter": bore + 2 * ring,
        "width": screw + 2 * dice.between(3, 7),
        "ear_length": 2 * screw + 4,
        "ear_thickness": dice.between(5, 8),
        "slit_width": dice.between(2, 4),
        "screw_diameter": screw,
    }
    title = "Split clamp ring with two ears for a screw"
    body = _BUILDER if mode == BUILDER else _ALGEBRA
    return Part(title=title, parameters=parameters, body=body)


_SIZES = """
    outer_radius = outer_diameter / 2
    ear_middle = outer_radius + ear_length / 2
    ears_width = 2 * ear_thickness + slit_width
"""
_BUILDER = f"""{_SIZES}
    with BuildPart() as clamp:
        # the ring
        Cylinder(outer_radius, width)
        # the ears
        with Locations((ear_middle - 2, 0, 0)):
            Box(ear_length + 4, ears_width, width)
        # the bore
        Hole(bore_diameter / 2)
        # the slit
        with Locations((ear_middle - outer_radius / 2, 0, 0)):
            Box(ear_length + outer_radius + 2, slit_width, 2 * width, mode=Mode.SUBTRACT)
        # the screw hole
        with Locations(Pos(ear_middle, 0, 0) * Rot(90, 0, 0)):
            Cylinder(screw_diameter / 2, 2 * ears_width, mode=Mode.SUBTRACT)

    result = clamp.part
"""
_ALGEBRA = f"""{_SIZES}
    # the ring
    clamp = Cylinder(outer_radius, width)
    # the ears
    clamp += Pos(ear_middle - 2, 0, 0) * Box(ear_length + 4, ears_width, width)
    # the bore
    clamp -= Cylinder(bore_diameter / 2, 2 * width)
    # the slit
    clamp -= Pos(ear_middle - outer_radius / 2, 0, 0) * Box(ear_length + outer_radius + 2, slit_width, 2 * width)
    # the screw hole
    clamp -= Pos(ear_middle, 0, 0) * Rot(90, 0, 0) * Cylinder(screw_diameter / 2, 2 * ears_width)

    result = clamp
"""

FAMILY = Family(name="clamp", draw=draw, grid="yz")
