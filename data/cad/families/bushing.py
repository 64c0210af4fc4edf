"""Bushings: plain or flanged sleeves, sometimes with an oil hole."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    inner = 2 * dice.between(3, 15)
    outer = inner + 2 * dice.between(2, 6)
    length = dice.between(12, 50)
    flanged, oiled = dice.below(3) > 0, dice.below(2) == 1
    parameters = {
        "inner_diameter": inner,
        "outer_diameter": outer,
        "length": length,
        **(
            {"flange_diameter": outer + 2 * dice.between(3, 8), "flange_thickness": dice.between(2, 5)}
            if flanged
            else {}
        ),
        **({"oil_hole_diameter": dice.between(2, 4)} if oiled else {}),
        "edge_chamfer": 1,
    }
    title = f"{'Flanged bushing' if flanged else 'Plain bushing'}{' with an oil hole' if oiled else ''}"
    return Part(title=title, parameters=parameters, body=(_builder if mode == BUILDER else _algebra)(flanged, oiled))


def _builder(flanged: bool, oiled: bool) -> str:
    flange = f"""
        # the flange
        Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    """
    oil = """
        # the oil hole
        with Locations(Pos(0, outer_diameter / 2, length * 2 / 3) * Rot(90, 0, 0)):
            Cylinder(oil_hole_diameter / 2, outer_diameter, mode=Mode.SUBTRACT)
    """
    return f"""
    with BuildPart() as bushing:
        # the sleeve
        Cylinder(outer_diameter / 2, length, align={BOTTOM})
        # the chamfer of the upper edge
        chamfer(bushing.faces().sort_by(Axis.Z)[-1].edges(), edge_chamfer)
        {feature(flanged, flange, 8)}
        # the bore
        Hole(inner_diameter / 2)
        {feature(oiled, oil, 8)}

    result = bushing.part
    """


def _algebra(flanged: bool, oiled: bool) -> str:
    flange = f"""
    # the flange
    bushing += Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    """
    oil = """
    # the oil hole
    drill = Pos(0, outer_diameter / 2, length * 2 / 3) * Rot(90, 0, 0)
    bushing -= drill * Cylinder(oil_hole_diameter / 2, outer_diameter)
    """
    return f"""
    # the sleeve
    bushing = Cylinder(outer_diameter / 2, length, align={BOTTOM})
    # the chamfer of the upper edge
    bushing = chamfer(bushing.faces().sort_by(Axis.Z)[-1].edges(), edge_chamfer)
    {feature(flanged, flange, 4)}
    # the bore
    bushing -= Cylinder(inner_diameter / 2, 4 * length)
    {feature(oiled, oil, 4)}

    result = bushing
    """


FAMILY = Family(name="bushing", draw=draw)
