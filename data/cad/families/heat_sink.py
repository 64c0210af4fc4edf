"""Heat sinks: a base with fins or pins, and holes to screw it down."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    pinned = dice.below(3) == 0
    thickness = dice.between(1, 3) + 2 * pinned
    count = dice.between(5, 8) if pinned else dice.between(6, 14)
    pitch = thickness + dice.between(2, 5) + 2 * pinned
    hole = dice.pick((3, 4))
    span = (count - 1) * pitch + thickness
    parameters = {
        "length": span + 8 * hole if pinned else 2 * dice.between(15, 40),
        "width": span,
        "base_thickness": dice.between(3, 6),
        "fin_height": dice.between(10, 35),
        **({"pin_diameter": thickness} if pinned else {"fin_thickness": thickness}),
        "fin_count": count,
        "fin_pitch": pitch,
        "screw_hole_diameter": hole,
    }
    if not pinned:
        parameters["tab_length"] = 3 * hole
    title = f"Heat sink with {'round pins' if pinned else 'straight fins'} and screw holes"
    key = ("pins" if pinned else "fins", mode == BUILDER)
    return Part(title=title, parameters=parameters, body=_BODIES[key])


_BODIES = {
    ("fins", True): f"""
    with BuildPart() as sink:
        # the base with a tab at each end
        Box(length + 2 * tab_length, width, base_thickness, align={BOTTOM})
        # the fins
        with Locations((0, 0, base_thickness)):
            with GridLocations(1, fin_pitch, 1, fin_count):
                Box(length, fin_thickness, fin_height, align={BOTTOM})
        # the screw holes
        with GridLocations(length + tab_length, 1, 2, 1):
            Hole(screw_hole_diameter / 2)

    result = sink.part
    """,
    ("fins", False): f"""
    # the base with a tab at each end
    sink = Box(length + 2 * tab_length, width, base_thickness, align={BOTTOM})
    # the fins
    fin = Pos(0, 0, base_thickness) * Box(length, fin_thickness, fin_height, align={BOTTOM})
    sink += [place * fin for place in GridLocations(1, fin_pitch, 1, fin_count)]
    # the screw holes
    for place in GridLocations(length + tab_length, 1, 2, 1):
        sink -= place * Cylinder(screw_hole_diameter / 2, 4 * base_thickness)

    result = sink
    """,
    ("pins", True): f"""
    with BuildPart() as sink:
        # the base
        Box(length, width, base_thickness, align={BOTTOM})
        # the pins
        with Locations((0, 0, base_thickness)):
            with GridLocations(fin_pitch, fin_pitch, fin_count, fin_count):
                Cylinder(pin_diameter / 2, fin_height, align={BOTTOM})
        # the screw holes
        with GridLocations(length - 2 * screw_hole_diameter, 1, 2, 1):
            Hole(screw_hole_diameter / 2)

    result = sink.part
    """,
    ("pins", False): f"""
    # the base
    sink = Box(length, width, base_thickness, align={BOTTOM})
    # the pins
    pin = Pos(0, 0, base_thickness) * Cylinder(pin_diameter / 2, fin_height, align={BOTTOM})
    sink += [place * pin for place in GridLocations(fin_pitch, fin_pitch, fin_count, fin_count)]
    # the screw holes
    for place in GridLocations(length - 2 * screw_hole_diameter, 1, 2, 1):
        sink -= place * Cylinder(screw_hole_diameter / 2, 4 * base_thickness)

    result = sink
    """,
}

FAMILY = Family(name="heat_sink", draw=draw)
