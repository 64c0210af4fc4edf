"""Handwheels: a rim, round spokes and a hub with a square or round bore."""

from trivium.data.cad.families.family import BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    rim = 2 * dice.between(4, 8)
    wheel = 2 * dice.between(40, 90)
    hub = 2 * dice.between(10, 16)
    square = dice.below(2) == 1
    parameters = {
        "wheel_diameter": wheel,
        "rim_thickness": rim,
        "spoke_count": dice.between(3, 6),
        "spoke_diameter": rim // 2 - rim // 2 % 2,
        "hub_diameter": hub,
        "hub_height": rim + 2 * dice.between(2, 8),
        "bore_size": hub // 2,
    }
    title = f"Handwheel with round spokes and a {'square' if square else 'round'} bore"
    body = (_BUILDER if mode == BUILDER else _ALGEBRA).replace("BORE", _BORES[mode == BUILDER][square])
    return Part(title=title, parameters=parameters, body=body)


_BORES = {
    True: {
        True: "Box(bore_size, bore_size, 4 * hub_height, mode=Mode.SUBTRACT)",
        False: "Hole(bore_size / 2)",
    },
    False: {True: "Box(bore_size, bore_size, 4 * hub_height)", False: "Cylinder(bore_size / 2, 4 * hub_height)"},
}
_BUILDER = """
    ring_radius = wheel_diameter / 2 - rim_thickness / 2
    with BuildPart() as wheel:
        # the rim
        with BuildSketch(Plane.XZ):
            with Locations((ring_radius, 0)):
                RectangleRounded(rim_thickness, rim_thickness, rim_thickness / 4)
        revolve(axis=Axis.Z)
        # the spokes
        with PolarLocations(ring_radius / 2, spoke_count):
            Cylinder(spoke_diameter / 2, ring_radius, rotation=(0, 90, 0))
        # the hub
        Cylinder(hub_diameter / 2, hub_height)
        # the bore
        BORE

    result = wheel.part
"""
_ALGEBRA = """
    ring_radius = wheel_diameter / 2 - rim_thickness / 2
    # the rim
    section = RectangleRounded(rim_thickness, rim_thickness, rim_thickness / 4)
    wheel = revolve(Plane.XZ * Pos(ring_radius, 0) * section, Axis.Z)
    # the spokes
    spoke = Rot(0, 90, 0) * Cylinder(spoke_diameter / 2, ring_radius)
    wheel += [place * spoke for place in PolarLocations(ring_radius / 2, spoke_count)]
    # the hub
    wheel += Cylinder(hub_diameter / 2, hub_height)
    # the bore
    wheel -= BORE

    result = wheel
"""

FAMILY = Family(name="handwheel", draw=draw, grid="z")
