"""Bolts: hexagon or round heads, a shank, a threaded length shown by its ridges."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    size = dice.pick((6, 8, 10, 12, 16, 20))
    pitch = {6: 1, 8: 1, 10: 2, 12: 2, 16: 2, 20: 3}[size]
    hexagon = dice.below(3) > 0
    turns = dice.between(5, 10)
    shank = dice.between(2, 12)
    parameters = {
        "nominal_diameter": size,
        "shank_length": shank,
        "thread_pitch": pitch,
        "thread_turns": turns,
        "head_height": (2 * size + 2) // 3,
        **(
            {"width_across_flats": {6: 10, 8: 13, 10: 16, 12: 18, 16: 24, 20: 30}[size]}
            if hexagon
            else {"head_diameter": 3 * size // 2, "socket_across_flats": size * 3 // 4 + 1, "socket_depth": size // 2}
        ),
        "washer_diameter": 3 * size // 2 + (2 if hexagon else 4),
        "washer_thickness": 1,
    }
    title = "Hexagon head bolt with a ridged thread" if hexagon else "Socket head cap screw with a ridged thread"
    body = (_builder if mode == BUILDER else _algebra)(hexagon)
    return Part(title=title, parameters=parameters, body=body)


_RIDGES = """
    # the ridges of the thread, one ring a turn
    end = shank_length + thread_pitch * thread_turns
    depth = thread_pitch / 2
    profile = [(0, 0), (0, shank_length), (nominal_diameter / 2, shank_length)]
    for turn in range(thread_turns):
        low = shank_length + thread_pitch * turn
        profile += [(nominal_diameter / 2 - depth, low + thread_pitch / 2), (nominal_diameter / 2, low + thread_pitch)]
    profile += [(0, end)]
"""


def _head(hexagon: bool) -> str:
    return "RegularPolygon(width_across_flats / 2, 6, major_radius=False)" if hexagon else "Circle(head_diameter / 2)"


def _builder(hexagon: bool) -> str:
    socket = """
        # the socket
        with BuildSketch(Plane.XY.offset(-head_height)):
            RegularPolygon(socket_across_flats / 2, 6, major_radius=False)
        extrude(amount=socket_depth, mode=Mode.SUBTRACT)
    """
    return f"""{_RIDGES}
    with BuildPart() as bolt:
        # the head
        with BuildSketch():
            {_head(hexagon)}
        extrude(amount=-head_height)
        # the washer face
        Cylinder(washer_diameter / 2, washer_thickness, align={BOTTOM})
        # the shank
        Cylinder(nominal_diameter / 2, shank_length, align={BOTTOM})
        {feature(not hexagon, socket, 8)}
        with BuildSketch(Plane.XZ):
            with BuildLine():
                Polyline(*profile[1:], close=True)
            make_face()
        revolve(axis=Axis.Z)

    result = bolt.part
    """


def _algebra(hexagon: bool) -> str:
    socket = """
    # the socket
    socket = RegularPolygon(socket_across_flats / 2, 6, major_radius=False)
    bolt -= extrude(Pos(0, 0, -head_height) * socket, socket_depth)
    """
    return f"""{_RIDGES}
    thread = revolve(Plane.XZ * make_face(Polyline(*profile[1:], close=True)), Axis.Z)
    # the head
    bolt = extrude({_head(hexagon)}, -head_height)
    # the washer face
    bolt += Cylinder(washer_diameter / 2, washer_thickness, align={BOTTOM})
    # the shank
    bolt += Cylinder(nominal_diameter / 2, shank_length, align={BOTTOM})
    bolt += thread
    {feature(not hexagon, socket, 4)}

    result = bolt
    """


FAMILY = Family(name="bolt", draw=draw, grid="z")
