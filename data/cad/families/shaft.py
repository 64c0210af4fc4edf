"""Stepped shafts with a keyway, chamfered ends, sometimes a centre hole or a groove for a retaining ring."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    seat = 2 * dice.between(5, 15)
    middle = seat + 2 * dice.between(2, 6)
    end = seat - 2 * dice.between(1, 3)
    key = max(2, seat // 4)
    length = dice.between(3, 6) * key
    grooved, bored = dice.below(2) == 1, dice.below(2) == 1
    parameters = {
        "seat_diameter": seat,
        "seat_length": length + 2 * dice.between(4, 8),
        "collar_diameter": middle,
        "collar_length": dice.between(8, 40),
        "end_diameter": end,
        "end_length": dice.between(12, 50),
        "end_chamfer": 1,
        "keyway_length": length,
        "keyway_width": key,
        "keyway_depth": max(1, key // 2),
        **({"groove_width": 2, "groove_depth": 1, "groove_distance": 4} if grooved else {}),
        **({"centre_hole_diameter": max(2, end // 4), "centre_hole_depth": end // 2} if bored else {}),
    }
    body = (_builder if mode == BUILDER else _algebra)(grooved, bored)
    return Part(title="Stepped shaft with a keyway", parameters=parameters, body=body)


_PLACES = """
    collar_start = seat_length
    end_start = seat_length + collar_length
    total_length = end_start + end_length
"""


def _builder(grooved: bool, bored: bool) -> str:
    groove = f"""
        # the groove for the retaining ring
        with Locations((0, 0, total_length - groove_distance)):
            Cylinder(end_diameter, groove_width, align={BOTTOM}, mode=Mode.SUBTRACT)
            Cylinder(end_diameter / 2 - groove_depth, groove_width, align={BOTTOM})
    """
    hole = """
        # the centre hole
        with Locations((0, 0, total_length)):
            Hole(centre_hole_diameter / 2, depth=centre_hole_depth)
    """
    return f"""{_PLACES}
    with BuildPart() as shaft:
        # the seat
        Cylinder(seat_diameter / 2, seat_length, align={BOTTOM})
        # the collar
        with Locations((0, 0, collar_start)):
            Cylinder(collar_diameter / 2, collar_length, align={BOTTOM})
        # the end
        with Locations((0, 0, end_start)):
            Cylinder(end_diameter / 2, end_length, align={BOTTOM})
        # the chamfers of both ends
        chamfer(shaft.faces().sort_by(Axis.Z)[0].edges(), end_chamfer)
        chamfer(shaft.faces().sort_by(Axis.Z)[-1].edges(), end_chamfer)
        {feature(grooved, groove, 8)}
        {feature(bored, hole, 8)}
        # the keyway
        with BuildSketch(Plane.YZ.offset(seat_diameter / 2)):
            with Locations((0, seat_length / 2)):
                SlotOverall(keyway_length, keyway_width, rotation=90)
        extrude(amount=-keyway_depth, mode=Mode.SUBTRACT)

    result = shaft.part
    """


def _algebra(grooved: bool, bored: bool) -> str:
    groove = f"""
    # the groove for the retaining ring
    ring = Cylinder(end_diameter, groove_width, align={BOTTOM})
    ring -= Cylinder(end_diameter / 2 - groove_depth, groove_width, align={BOTTOM})
    shaft -= Pos(0, 0, total_length - groove_distance) * ring
    """
    hole = """
    # the centre hole
    shaft -= Pos(0, 0, total_length) * Cylinder(centre_hole_diameter / 2, 2 * centre_hole_depth)
    """
    return f"""{_PLACES}
    # the seat
    shaft = Cylinder(seat_diameter / 2, seat_length, align={BOTTOM})
    # the collar
    shaft += Pos(0, 0, collar_start) * Cylinder(collar_diameter / 2, collar_length, align={BOTTOM})
    # the end
    shaft += Pos(0, 0, end_start) * Cylinder(end_diameter / 2, end_length, align={BOTTOM})
    # the chamfers of both ends
    shaft = chamfer(shaft.faces().sort_by(Axis.Z)[0].edges(), end_chamfer)
    shaft = chamfer(shaft.faces().sort_by(Axis.Z)[-1].edges(), end_chamfer)
    {feature(grooved, groove, 4)}
    {feature(bored, hole, 4)}
    # the keyway
    outline = Pos(0, seat_length / 2) * SlotOverall(keyway_length, keyway_width, rotation=90)
    shaft -= extrude(Plane.YZ.offset(seat_diameter / 2) * outline, -keyway_depth)

    result = shaft
    """


FAMILY = Family(name="shaft", draw=draw)
