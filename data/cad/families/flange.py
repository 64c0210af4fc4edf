"""Round pipe flanges: a disc, a bolt circle, a bore, often a hub."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    bore = dice.between(8, 40) * 2
    hub = bore + 2 * dice.between(4, 10)
    bolt = dice.pick((6, 8, 10, 12, 14, 18))
    circle = hub + bolt + 2 * dice.between(5, 14)
    outer = circle + 2 * bolt + 2 * dice.between(2, 8)
    counts = [count for count in (3, 4, 6, 8, 10, 12) if count * 2 * bolt < 3 * circle]
    thickness = dice.between(8, 24)
    hubbed = dice.below(3) > 0
    parameters = {
        "outer_diameter": outer,
        "thickness": thickness,
        "bore_diameter": bore,
        **({"hub_diameter": hub, "hub_height": thickness + dice.between(6, 40)} if hubbed else {}),
        "bolt_count": dice.pick(counts),
        "bolt_circle_diameter": circle,
        "bolt_hole_diameter": bolt,
        "edge_chamfer": dice.pick((1, 2)),
    }
    title = "Pipe flange with a raised hub" if hubbed else "Flat ring flange with a bolt circle"
    return Part(title=title, parameters=parameters, body=_builder(hubbed) if mode == BUILDER else _algebra(hubbed))


def _builder(hubbed: bool) -> str:
    hub = f"""
        # the hub
        Cylinder(hub_diameter / 2, hub_height, align={BOTTOM})
    """
    return f"""
    with BuildPart() as flange:
        # the disc
        Cylinder(outer_diameter / 2, thickness, align={BOTTOM})
        # the chamfer of the rim
        chamfer(flange.edges().filter_by(GeomType.CIRCLE), edge_chamfer)
        {feature(hubbed, hub, 8)}
        # the bore
        Hole(bore_diameter / 2)
        # the bolt holes
        with PolarLocations(bolt_circle_diameter / 2, bolt_count):
            Hole(bolt_hole_diameter / 2)

    result = flange.part
    """


def _algebra(hubbed: bool) -> str:
    hub = f"""
    # the hub
    flange += Cylinder(hub_diameter / 2, hub_height, align={BOTTOM})
    """
    height = "hub_height" if hubbed else "thickness"
    return f"""
    # the disc
    flange = Cylinder(outer_diameter / 2, thickness, align={BOTTOM})
    # the chamfer of the rim
    flange = chamfer(flange.edges().filter_by(GeomType.CIRCLE), edge_chamfer)
    {feature(hubbed, hub, 4)}
    # the bore
    flange -= Cylinder(bore_diameter / 2, 4 * {height})
    # the bolt holes
    flange -= PolarLocations(bolt_circle_diameter / 2, bolt_count) * Cylinder(bolt_hole_diameter / 2, 4 * thickness)

    result = flange
    """


FAMILY = Family(name="flange", draw=draw)
