"""Pillow blocks: a foot with bolt holes and a round bearing seat above it."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    seat = 2 * dice.between(10, 24)
    ring = seat + 2 * dice.between(6, 12)
    bolt = dice.pick((6, 8, 10))
    parameters = {
        "foot_length": ring + 8 * bolt,
        "foot_thickness": dice.between(8, 14),
        "width": 2 * dice.between(8, 16),
        "axis_height": ring // 2 + dice.between(4, 12),
        "ring_diameter": ring,
        "seat_diameter": seat,
        "seat_depth": dice.between(6, 12),
        "shaft_hole_diameter": seat - 2 * dice.between(2, 4),
        "bolt_hole_diameter": bolt,
        "foot_fillet": dice.between(2, 4),
    }
    title = "Pillow block with a stepped bearing seat"
    return Part(title=title, parameters=parameters, body=_BUILDER if mode == BUILDER else _ALGEBRA)


_BUILDER = f"""
    bolt_pitch = (foot_length + ring_diameter) / 2
    with BuildPart() as housing:
        # the foot
        Box(foot_length, width, foot_thickness, align={BOTTOM})
        # the rounded corners of the foot
        fillet(housing.edges().filter_by(Axis.Z), foot_fillet)
        # the ring and what carries it
        with BuildSketch(Plane.XZ):
            with Locations((0, axis_height)):
                Circle(ring_diameter / 2)
            Rectangle(ring_diameter, axis_height, align=(Align.CENTER, Align.MIN))
        extrude(amount=width / 2, both=True)
        # the shaft hole
        with Locations(Pos(0, 0, axis_height) * Rot(90, 0, 0)):
            Cylinder(shaft_hole_diameter / 2, 2 * width, mode=Mode.SUBTRACT)
        # the bearing seat
        with Locations(Pos(0, -width / 2, axis_height) * Rot(90, 0, 0)):
            Cylinder(seat_diameter / 2, 2 * seat_depth, mode=Mode.SUBTRACT)
        # the bolt holes
        with GridLocations(bolt_pitch, 1, 2, 1):
            Hole(bolt_hole_diameter / 2)

    result = housing.part
"""
_ALGEBRA = f"""
    bolt_pitch = (foot_length + ring_diameter) / 2
    # the foot
    housing = Box(foot_length, width, foot_thickness, align={BOTTOM})
    # the rounded corners of the foot
    housing = fillet(housing.edges().filter_by(Axis.Z), foot_fillet)
    # the ring and what carries it
    front = Pos(0, axis_height) * Circle(ring_diameter / 2)
    front += Rectangle(ring_diameter, axis_height, align=(Align.CENTER, Align.MIN))
    housing += extrude(Plane.XZ * front, width / 2, both=True)
    # the shaft hole
    axis = Pos(0, 0, axis_height) * Rot(90, 0, 0)
    housing -= axis * Cylinder(shaft_hole_diameter / 2, 2 * width)
    # the bearing seat
    housing -= axis * Pos(0, 0, width / 2) * Cylinder(seat_diameter / 2, 2 * seat_depth)
    # the bolt holes
    drill = Cylinder(bolt_hole_diameter / 2, 4 * foot_thickness)
    housing -= [place * drill for place in GridLocations(bolt_pitch, 1, 2, 1)]

    result = housing
"""

FAMILY = Family(name="housing", draw=draw)
