"""Boxes for electronics: a tray with walls and screw bosses, often with its lid beside it."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    wall = dice.between(2, 3)
    boss = 2 * dice.between(3, 5)
    lidded, ported = dice.below(2) == 1, dice.below(2) == 1
    parameters = {
        "length": 2 * dice.between(25, 70),
        "width": 2 * dice.between(20, 45),
        "height": dice.between(18, 50),
        "wall": wall,
        "corner_radius": wall + dice.between(1, 5),
        "boss_diameter": boss,
        "boss_hole_diameter": boss // 2,
        "boss_inset": wall + boss // 2 + 2,
        **({"port_width": dice.between(8, 20), "port_height": dice.between(4, 8)} if ported else {}),
        **({"lid_thickness": wall, "lid_distance": dice.between(10, 20)} if lidded else {}),
    }
    title = f"Enclosure with screw bosses{' and a cable port' if ported else ''}{', and its lid' if lidded else ''}"
    body = (_builder if mode == BUILDER else _algebra)(lidded, ported)
    return Part(title=title, parameters=parameters, body=body)


def _builder(lidded: bool, ported: bool) -> str:
    port = """
        # the cable port
        with Locations((length / 2, 0, height / 2)):
            Box(4 * wall, port_width, port_height, mode=Mode.SUBTRACT)
    """
    lid = """
    with BuildPart() as lid:
        # the lid
        with BuildSketch():
            with Locations((0, width + lid_distance)):
                RectangleRounded(length, width, corner_radius)
                # the screw holes of the lid
                with GridLocations(length - 2 * boss_inset, width - 2 * boss_inset, 2, 2):
                    Circle(boss_hole_diameter / 2, mode=Mode.SUBTRACT)
        extrude(amount=lid_thickness)
    """
    return f"""
    with BuildPart() as tray:
        # the outer block
        with BuildSketch():
            RectangleRounded(length, width, corner_radius)
        extrude(amount=height)
        # the hollow inside
        with BuildSketch(Plane.XY.offset(wall)):
            RectangleRounded(length - 2 * wall, width - 2 * wall, corner_radius - wall)
        extrude(amount=height, mode=Mode.SUBTRACT)
        # the screw bosses
        with Locations((0, 0, wall / 2)):
            with GridLocations(length - 2 * boss_inset, width - 2 * boss_inset, 2, 2):
                Cylinder(boss_diameter / 2, height * 3 / 4, align={BOTTOM})
        # the holes of the bosses
        with Locations((0, 0, wall)):
            with GridLocations(length - 2 * boss_inset, width - 2 * boss_inset, 2, 2):
                Cylinder(boss_hole_diameter / 2, height, align={BOTTOM}, mode=Mode.SUBTRACT)
        {feature(ported, port, 8)}
    {feature(lidded, lid, 4)}

    result = {"Compound(children=[tray.part, lid.part])" if lidded else "tray.part"}
    """


def _algebra(lidded: bool, ported: bool) -> str:
    port = """
    # the cable port
    tray -= Pos(length / 2, 0, height / 2) * Box(4 * wall, port_width, port_height)
    """
    lid = """
    # the lid
    outline = RectangleRounded(length, width, corner_radius)
    # the screw holes of the lid
    outline -= [corner * Circle(boss_hole_diameter / 2) for corner in corners]
    lid = extrude(Pos(0, width + lid_distance) * outline, lid_thickness)
    """
    return f"""
    corners = GridLocations(length - 2 * boss_inset, width - 2 * boss_inset, 2, 2)
    # the outer block
    tray = extrude(RectangleRounded(length, width, corner_radius), height)
    # the hollow inside
    inner = RectangleRounded(length - 2 * wall, width - 2 * wall, corner_radius - wall)
    tray -= Pos(0, 0, wall) * extrude(inner, height)
    # the screw bosses
    boss = Cylinder(boss_diameter / 2, height * 3 / 4, align={BOTTOM})
    tray += [Pos(0, 0, wall / 2) * corner * boss for corner in corners]
    # the holes of the bosses
    hole = Cylinder(boss_hole_diameter / 2, height, align={BOTTOM})
    tray -= [Pos(0, 0, wall) * corner * hole for corner in corners]
    {feature(ported, port, 4)}
    {feature(lidded, lid, 4)}

    result = {"Compound(children=[tray, lid])" if lidded else "tray"}
    """


FAMILY = Family(name="enclosure", draw=draw)
