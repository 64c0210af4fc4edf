"""Standoffs and spacers: hexagon or round, bored through or from both ends."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    bore = dice.between(3, 6)
    outer = bore + 2 * dice.between(2, 4)
    hexagon, through, pinned = dice.below(2) == 1, dice.below(2) == 1, dice.below(2) == 1
    length = dice.between(12, 40)
    parameters = {
        **({"width_across_flats": outer} if hexagon else {"outer_diameter": outer}),
        "length": length,
        "bore_diameter": bore,
        **({} if through else {"bore_depth": length // 3}),
        **({"stud_diameter": bore - 1, "stud_length": dice.between(4, 8)} if pinned and not through else {}),
    }
    title = f"{'Hexagon' if hexagon else 'Round'} {'spacer' if through else 'standoff'}"
    if pinned and not through:
        title += " with a stud"
    body = (_builder if mode == BUILDER else _algebra)(hexagon, through, pinned and not through)
    return Part(title=title, parameters=parameters, body=body)


def _outline(hexagon: bool) -> str:
    return "RegularPolygon(width_across_flats / 2, 6, major_radius=False)" if hexagon else "Circle(outer_diameter / 2)"


def _builder(hexagon: bool, through: bool, pinned: bool) -> str:
    stud = """
        # the stud
        Cylinder(stud_diameter / 2, stud_length, align=TOP)
    """
    low = f"""
        # the lower bore
        Cylinder(bore_diameter / 2, bore_depth, align={BOTTOM}, mode=Mode.SUBTRACT)
    """
    return f"""
    with BuildPart() as standoff:
        # the body
        with BuildSketch():
            {_outline(hexagon)}
        extrude(amount=length)
        {feature(not through and not pinned, low, 8)}
        # the {"" if through else "upper "}bore
        with Locations((0, 0, length)):
            Hole(bore_diameter / 2{"" if through else ", depth=bore_depth"})
        {feature(pinned, stud, 8)}

    result = standoff.part
    """


def _algebra(hexagon: bool, through: bool, pinned: bool) -> str:
    stud = """
    # the stud
    standoff += Cylinder(stud_diameter / 2, stud_length, align=TOP)
    """
    low = f"""
    # the lower bore
    standoff -= Cylinder(bore_diameter / 2, bore_depth, align={BOTTOM})
    """
    return f"""
    # the body
    standoff = extrude({_outline(hexagon)}, length)
    {feature(not through and not pinned, low, 4)}
    # the {"" if through else "upper "}bore
    standoff -= Pos(0, 0, length) * Cylinder(bore_diameter / 2, 2 * {"length" if through else "bore_depth"})
    {feature(pinned, stud, 4)}

    result = standoff
    """


FAMILY = Family(name="standoff", draw=draw, grid="z")
