"""Lengths of rolled and extruded profiles: I, C, T slot and square tube."""

from trivium.data.cad.families.family import BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice

_TITLES = {"I": "I-beam", "C": "C-channel", "tube": "Square tube with rounded corners", "slot": "T-slot profile"}


def draw(dice: Dice, mode: str) -> Part:
    kind = dice.pick(tuple(_TITLES))
    side = 2 * dice.between(12, 30)
    thin = 2 if kind == "slot" else dice.between(2, 4)
    parameters = {
        "height": side + 2 * dice.between(0, 10) if kind in "IC" else side,
        "width": side if kind != "C" else side // 2 + thin,
        "length": dice.between(40, 160),
        "thickness": thin,
        **({"root_fillet": dice.between(1, thin)} if kind == "I" else {}),
        **({"corner_radius": thin + 1} if kind == "tube" else {}),
        **(
            {"slot_opening": max(4, side // 4), "slot_width": side // 2, "slot_depth": side // 4 - thin - 1}
            if kind == "slot"
            else {}
        ),
        **({"core_hole_diameter": max(3, side // 6)} if kind == "slot" else {}),
    }
    return Part(title=_TITLES[kind], parameters=parameters, body=_BODIES[kind, mode == BUILDER])


_SLOT_CUT = """
            # the slots on all four sides
            with PolarLocations(0, 4):
                with Locations((width / 2, 0)):
                    Rectangle(2 * thickness, slot_opening, mode=Mode.SUBTRACT)
                with Locations((width / 2 - thickness, 0)):
                    Rectangle(slot_depth, slot_width, align=(Align.MAX, Align.CENTER), mode=Mode.SUBTRACT)
"""
_BODIES = {
    ("I", True): """
    with BuildPart() as beam:
        with BuildSketch(Plane.YZ) as section:
            # the web and both flanges
            Rectangle(width, height)
            with Locations((-(width + thickness) / 4, 0), ((width + thickness) / 4, 0)):
                Rectangle((width - thickness) / 2, height - 2 * thickness, mode=Mode.SUBTRACT)
            # the fillets at the root
            inner = section.vertices().filter_by(lambda corner: abs(corner.Y) < width / 2 - 0.1)
            fillet(inner, root_fillet)
        extrude(amount=length)

    result = beam.part
    """,
    ("I", False): """
    # the web and both flanges
    section = Rectangle(width, height)
    gap = Rectangle((width - thickness) / 2, height - 2 * thickness)
    section -= [Pos(side * (width + thickness) / 4, 0) * gap for side in (-1, 1)]
    # the fillets at the root
    section = fillet(section.vertices().filter_by(lambda corner: abs(corner.X) < width / 2 - 0.1), root_fillet)
    beam = extrude(Plane.YZ * section, length)

    result = beam
    """,
    ("C", True): """
    with BuildPart() as channel:
        with BuildSketch(Plane.YZ):
            # the channel
            Rectangle(width, height)
            # the hollow
            with Locations((thickness, 0)):
                Rectangle(width, height - 2 * thickness, mode=Mode.SUBTRACT)
        extrude(amount=length)

    result = channel.part
    """,
    ("C", False): """
    # the channel
    section = Rectangle(width, height)
    # the hollow
    section -= Pos(thickness, 0) * Rectangle(width, height - 2 * thickness)
    channel = extrude(Plane.YZ * section, length)

    result = channel
    """,
    ("tube", True): """
    with BuildPart() as tube:
        with BuildSketch(Plane.YZ):
            # the outside
            RectangleRounded(width, height, corner_radius)
            # the hollow
            RectangleRounded(
                width - 2 * thickness, height - 2 * thickness, corner_radius - thickness, mode=Mode.SUBTRACT
            )
        extrude(amount=length)

    result = tube.part
    """,
    ("tube", False): """
    # the outside
    section = RectangleRounded(width, height, corner_radius)
    # the hollow
    section -= RectangleRounded(width - 2 * thickness, height - 2 * thickness, corner_radius - thickness)
    tube = extrude(Plane.YZ * section, length)

    result = tube
    """,
    ("slot", True): f"""
    with BuildPart() as profile:
        with BuildSketch(Plane.YZ):
            # the square
            Rectangle(width, height)
            # the hole in the core
            Circle(core_hole_diameter / 2, mode=Mode.SUBTRACT){_SLOT_CUT.rstrip()}
        extrude(amount=length)

    result = profile.part
    """,
    ("slot", False): """
    # the square
    section = Rectangle(width, height)
    # the hole in the core
    section -= Circle(core_hole_diameter / 2)
    # the slots on all four sides
    for angle in (0, 90, 180, 270):
        section -= Rot(0, 0, angle) * Pos(width / 2, 0) * Rectangle(2 * thickness, slot_opening)
        chamber = Rectangle(slot_depth, slot_width, align=(Align.MAX, Align.CENTER))
        section -= Rot(0, 0, angle) * Pos(width / 2 - thickness, 0) * chamber
    profile = extrude(Plane.YZ * section, length)

    result = profile
    """,
}

FAMILY = Family(name="profile", draw=draw)
