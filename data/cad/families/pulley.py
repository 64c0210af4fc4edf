"""Belt pulleys: V grooves or a flat rim, a bore, holes or a thin web."""

from trivium.data.cad.families.family import BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    bore = 2 * dice.between(4, 10)
    hub = bore + 2 * dice.between(4, 8)
    grooves = dice.between(1, 3)
    groove = dice.between(6, 10)
    rim = dice.between(2, 4)
    outer = hub + 2 * groove + 2 * dice.between(10, 30)
    width = grooves * (groove + rim) + rim
    holed = outer - 2 * groove - hub > 36
    room = (outer - 2 * groove - hub) // 2
    parameters = {
        "outer_diameter": outer,
        "width": width,
        "bore_diameter": bore,
        "groove_count": grooves,
        "groove_width": groove,
        "groove_depth": groove - 1,
        "rim_width": rim,
        **(
            {"hole_count": dice.between(3, 6), "hole_diameter": room // 2, "hole_circle_diameter": hub + room}
            if holed
            else {}
        ),
    }
    title = f"V-belt pulley{' with holes in its web' if holed else ''}"
    return Part(title=title, parameters=parameters, body=(_builder if mode == BUILDER else _algebra)(holed))


_PROFILE = """
    # the rim and its grooves
    outer_radius = outer_diameter / 2
    profile = [(0, 0), (outer_radius, 0)]
    for groove in range(groove_count):
        low = rim_width + groove * (groove_width + rim_width)
        profile += [(outer_radius, low), (outer_radius - groove_depth, low + groove_width * 0.3)]
        profile += [(outer_radius - groove_depth, low + groove_width * 0.7), (outer_radius, low + groove_width)]
    profile += [(outer_radius, width), (0, width)]
"""


def _builder(holed: bool) -> str:
    holes = """
        # the holes in the web
        with PolarLocations(hole_circle_diameter / 2, hole_count):
            Hole(hole_diameter / 2)
    """
    return f"""{_PROFILE}
    with BuildPart() as pulley:
        with BuildSketch(Plane.XZ):
            with BuildLine():
                Polyline(*profile, close=True)
            make_face()
        revolve(axis=Axis.Z)
        # the bore
        Hole(bore_diameter / 2)
        {feature(holed, holes, 8)}

    result = pulley.part
    """


def _algebra(holed: bool) -> str:
    holes = """
    # the holes in the web
    places = PolarLocations(hole_circle_diameter / 2, hole_count)
    pulley -= [place * Cylinder(hole_diameter / 2, 4 * width) for place in places]
    """
    return f"""{_PROFILE}
    pulley = revolve(Plane.XZ * make_face(Polyline(*profile, close=True)), Axis.Z)
    # the bore
    pulley -= Cylinder(bore_diameter / 2, 4 * width)
    {feature(holed, holes, 4)}

    result = pulley
    """


FAMILY = Family(name="pulley", draw=draw)
