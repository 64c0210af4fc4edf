"""Pipe elbows: a bent tube with a flange at each end."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    inner = 2 * dice.between(6, 20)
    wall = dice.between(2, 4)
    outer = inner + 2 * wall
    bolt = dice.pick((4, 5, 6))
    bolted = dice.below(4) > 0
    parameters = {
        "inner_diameter": inner,
        "wall": wall,
        "bend_radius": outer + dice.between(6, 40),
        "flange_diameter": outer + 4 * bolt + 4,
        "flange_thickness": dice.between(4, 8),
        **({"bolt_count": dice.pick((4, 6)), "bolt_hole_diameter": bolt} if bolted else {}),
    }
    title = f"Right-angled pipe elbow with {'bolted' if bolted else 'plain'} flanges"
    return Part(title=title, parameters=parameters, body=(_builder if mode == BUILDER else _algebra)(bolted))


def _places(bolted: bool) -> str:
    return f"""
    outer_diameter = inner_diameter + 2 * wall
    {feature(bolted, "bolt_circle_radius = (outer_diameter + flange_diameter) / 4")}
    end = Pos(bend_radius, 0, bend_radius) * Rot(0, 90, 0)
    """


def _builder(bolted: bool) -> str:
    bolts = """
        # the bolt holes
        with Locations(Pos(0, 0, 0), end):
            with PolarLocations(bolt_circle_radius, bolt_count):
                Cylinder(bolt_hole_diameter / 2, 4 * flange_thickness, mode=Mode.SUBTRACT)
    """
    return f"""{_places(bolted)}
    with BuildPart() as elbow:
        # the bent tube
        with BuildLine() as path:
            ThreePointArc(
                (0, 0, 0),
                (bend_radius * (1 - 0.5**0.5), 0, bend_radius * 0.5**0.5),
                (bend_radius, 0, bend_radius),
            )
        with BuildSketch(Plane.XY):
            Circle(outer_diameter / 2)
        sweep(path=path.line)
        # the flanges
        Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
        with Locations(end):
            Cylinder(flange_diameter / 2, flange_thickness, align=TOP)
        # the hole through the pipe
        with BuildSketch(Plane.XY):
            Circle(inner_diameter / 2)
        sweep(path=path.line, mode=Mode.SUBTRACT)
        {feature(bolted, bolts, 8)}

    result = elbow.part
    """


def _algebra(bolted: bool) -> str:
    bolts = """
    # the bolt holes
    drill = Cylinder(bolt_hole_diameter / 2, 4 * flange_thickness)
    for place in PolarLocations(bolt_circle_radius, bolt_count):
        elbow -= place * drill
        elbow -= end * place * drill
    """
    return f"""{_places(bolted)}
    path = ThreePointArc(
        (0, 0, 0),
        (bend_radius * (1 - 0.5**0.5), 0, bend_radius * 0.5**0.5),
        (bend_radius, 0, bend_radius),
    )
    # the bent tube
    elbow = sweep(Circle(outer_diameter / 2), path=path)
    # the flanges
    elbow += Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    elbow += end * Cylinder(flange_diameter / 2, flange_thickness, align=TOP)
    # the hole through the pipe
    elbow -= sweep(Circle(inner_diameter / 2), path=path)
    {feature(bolted, bolts, 4)}

    result = elbow
    """


FAMILY = Family(name="elbow", draw=draw)
