"""Nuts and washers: hexagon nuts with chamfered corners, flange nuts, slotted nuts."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    size = dice.pick((5, 6, 8, 10, 12, 16, 20, 24))
    kind = dice.pick(("plain", "flange", "slotted"))
    flats = size + size // 2 + 2 * (size > 6)
    parameters = {
        "thread_diameter": size,
        "width_across_flats": flats,
        "height": size - size // 5 + 2 * (kind == "slotted"),
        "countersink": 1,
        **({"flange_diameter": flats + size, "flange_thickness": max(1, size // 6)} if kind == "flange" else {}),
        **({"slot_width": max(1, size // 5), "slot_depth": max(2, size // 3)} if kind == "slotted" else {}),
    }
    title = {"plain": "Hexagon nut", "flange": "Hexagon nut with a flange", "slotted": "Slotted hexagon nut"}[kind]
    body = (_builder if mode == BUILDER else _algebra)(kind)
    return Part(title=title, parameters=parameters, body=body)


_ROUNDING = "Cone(0.62 * width_across_flats + height * 1.7, 0.545 * width_across_flats, height, align={})"


def _builder(kind: str) -> str:
    flange = f"""
        # the flange
        Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    """
    slots = """
        # the slots
        with Locations((0, 0, height - slot_depth / 2)):
            with PolarLocations(0, 3):
                Box(2 * width_across_flats, slot_width, slot_depth, mode=Mode.SUBTRACT)
    """
    return f"""
    with BuildPart() as nut:
        # the hexagon
        with BuildSketch():
            RegularPolygon(width_across_flats / 2, 6, major_radius=False)
        extrude(amount=height)
        # the rounded corners
        {_ROUNDING.format(BOTTOM)[:-1]}, mode=Mode.INTERSECT)
        {feature(kind == "flange", flange, 8)}
        # the threaded hole
        Hole(thread_diameter / 2)
        # the countersink
        chamfer(nut.edges().filter_by(GeomType.CIRCLE).sort_by(SortBy.RADIUS)[:2], countersink)
        {feature(kind == "slotted", slots, 8)}

    result = nut.part
    """


def _algebra(kind: str) -> str:
    flange = f"""
    # the flange
    nut += Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    """
    slots = """
    # the slots
    for angle in (0, 60, 120):
        slot = Box(2 * width_across_flats, slot_width, slot_depth)
        nut -= Pos(0, 0, height - slot_depth / 2) * Rot(0, 0, angle) * slot
    """
    return f"""
    # the hexagon
    nut = extrude(RegularPolygon(width_across_flats / 2, 6, major_radius=False), height)
    # the rounded corners
    nut &= {_ROUNDING.format(BOTTOM)}
    {feature(kind == "flange", flange, 4)}
    # the threaded hole
    nut -= Cylinder(thread_diameter / 2, 4 * height)
    # the countersink
    nut = chamfer(nut.edges().filter_by(GeomType.CIRCLE).sort_by(SortBy.RADIUS)[:2], countersink)
    {feature(kind == "slotted", slots, 4)}

    result = nut
    """


FAMILY = Family(name="nut", draw=draw, grid="z")
