"""Knobs: fluted or smooth grips with a rounded top and a D-shaped shaft hole."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    grip = 2 * dice.between(10, 24)
    fluted, skirted = dice.below(3) > 0, dice.below(2) == 1
    parameters = {
        "grip_diameter": grip,
        "grip_height": dice.between(12, 24),
        "top_fillet": dice.between(1, 3),
        **({"flute_count": dice.pick((6, 8, 10, 12)), "flute_diameter": max(2, grip // 8)} if fluted else {}),
        **({"skirt_diameter": grip + 2 * dice.between(3, 6), "skirt_height": dice.between(2, 4)} if skirted else {}),
        "shaft_diameter": 6,
        "shaft_flat": 1,
        "shaft_depth": dice.between(8, 10),
    }
    title = f"{'Fluted' if fluted else 'Smooth'} knob{' with a skirt' if skirted else ''} for a D-shaft"
    body = (_builder if mode == BUILDER else _algebra)(fluted, skirted)
    return Part(title=title, parameters=parameters, body=body)


def _builder(fluted: bool, skirted: bool) -> str:
    flutes = """
        # the flutes
        with PolarLocations(grip_diameter / 2, flute_count):
            Cylinder(flute_diameter / 2, 4 * grip_height, mode=Mode.SUBTRACT)
    """
    skirt = f"""
        # the skirt
        Cylinder(skirt_diameter / 2, skirt_height, align={BOTTOM})
    """
    return f"""
    with BuildPart() as knob:
        # the grip
        Cylinder(grip_diameter / 2, grip_height, align={BOTTOM})
        # the rounded top
        fillet(knob.faces().sort_by(Axis.Z)[-1].edges(), top_fillet)
        {feature(fluted, flutes, 8)}
        {feature(skirted, skirt, 8)}
        # the shaft hole with its flat
        with BuildSketch():
            Circle(shaft_diameter / 2)
            with Locations((0, shaft_diameter - shaft_flat)):
                Rectangle(shaft_diameter, shaft_diameter, mode=Mode.SUBTRACT)
        extrude(amount=shaft_depth, mode=Mode.SUBTRACT)

    result = knob.part
    """


def _algebra(fluted: bool, skirted: bool) -> str:
    flutes = """
    # the flutes
    flute = Cylinder(flute_diameter / 2, 4 * grip_height)
    knob -= [place * flute for place in PolarLocations(grip_diameter / 2, flute_count)]
    """
    skirt = f"""
    # the skirt
    knob += Cylinder(skirt_diameter / 2, skirt_height, align={BOTTOM})
    """
    return f"""
    # the grip
    knob = Cylinder(grip_diameter / 2, grip_height, align={BOTTOM})
    # the rounded top
    knob = fillet(knob.faces().sort_by(Axis.Z)[-1].edges(), top_fillet)
    {feature(fluted, flutes, 4)}
    {feature(skirted, skirt, 4)}
    # the shaft hole with its flat
    hole = Circle(shaft_diameter / 2)
    hole -= Pos(0, shaft_diameter - shaft_flat) * Rectangle(shaft_diameter, shaft_diameter)
    knob -= extrude(hole, shaft_depth)

    result = knob
    """


FAMILY = Family(name="knob", draw=draw, grid="z")
