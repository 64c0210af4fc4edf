"""Straight pipes and tees with flanges or plain ends."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    inner = 2 * dice.between(6, 20)
    wall = dice.between(2, 5)
    outer = inner + 2 * wall
    flange, branched = dice.below(4) > 0, dice.below(2) == 1
    bolt = dice.pick((4, 5, 6, 8))
    length = 2 * outer + dice.between(20, 80)
    parameters = {
        "inner_diameter": inner,
        "outer_diameter": outer,
        "length": length,
        **(
            {
                "flange_diameter": outer + 4 * bolt + 4,
                "flange_thickness": dice.between(4, 9),
                "bolt_count": dice.pick((4, 6, 8)),
            }
            if flange
            else {}
        ),
        **({"bolt_circle_diameter": outer + 2 * bolt + 2, "bolt_hole_diameter": bolt} if flange else {}),
        **(
            {"branch_length": outer + dice.between(4, 20), "branch_diameter": outer - 2 * dice.between(1, wall)}
            if branched
            else {}
        ),
    }
    title = f"{'Pipe tee' if branched else 'Straight pipe'} with {'bolted flanges' if flange else 'plain ends'}"
    return Part(title=title, parameters=parameters, body=(_builder if mode == BUILDER else _algebra)(flange, branched))


def _builder(flange: bool, branched: bool) -> str:
    flanges = f"""
        # the flanges
        Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
        with Locations((0, 0, length)):
            Cylinder(flange_diameter / 2, flange_thickness, align=TOP)
    """
    branch = f"""
        # the branch
        with Locations(Pos(0, 0, length / 2) * Rot(0, 90, 0)):
            Cylinder(branch_diameter / 2, branch_length, align={BOTTOM})
            # the hole through the branch
            Cylinder(branch_diameter / 2 - 2, branch_length, align={BOTTOM}, mode=Mode.SUBTRACT)
    """
    bolts = """
        # the bolt holes
        with Locations((0, 0, 0), (0, 0, length)):
            with PolarLocations(bolt_circle_diameter / 2, bolt_count):
                Cylinder(bolt_hole_diameter / 2, 3 * flange_thickness, mode=Mode.SUBTRACT)
    """
    return f"""
    with BuildPart() as pipe:
        # the tube
        Cylinder(outer_diameter / 2, length, align={BOTTOM})
        {feature(flange, flanges, 8)}
        {feature(branched, branch, 8)}
        # the hole through the tube
        Hole(inner_diameter / 2)
        {feature(flange, bolts, 8)}

    result = pipe.part
    """


def _algebra(flange: bool, branched: bool) -> str:
    flanges = f"""
    # the flanges
    pipe += Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    pipe += Pos(0, 0, length - flange_thickness) * Cylinder(flange_diameter / 2, flange_thickness, align={BOTTOM})
    """
    branch = f"""
    # the branch
    side = Pos(0, 0, length / 2) * Rot(0, 90, 0)
    pipe += side * Cylinder(branch_diameter / 2, branch_length, align={BOTTOM})
    # the hole through the branch
    pipe -= side * Cylinder(branch_diameter / 2 - 2, branch_length, align={BOTTOM})
    """
    bolts = """
    # the bolt holes
    drill = Cylinder(bolt_hole_diameter / 2, 3 * flange_thickness)
    for place in PolarLocations(bolt_circle_diameter / 2, bolt_count):
        pipe -= [place * drill, Pos(0, 0, length) * place * drill]
    """
    return f"""
    # the tube
    pipe = Cylinder(outer_diameter / 2, length, align={BOTTOM})
    {feature(flange, flanges, 4)}
    {feature(branched, branch, 4)}
    # the hole through the tube
    pipe -= Cylinder(inner_diameter / 2, 4 * length)
    {feature(flange, bolts, 4)}

    result = pipe
    """


FAMILY = Family(name="pipe", draw=draw)
