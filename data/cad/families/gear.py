"""Spur gears with involute teeth, a bore, a keyway, sometimes a hub or holes that save weight."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    module = dice.between(2, 4)
    teeth = dice.between(12, 40)
    root = module * teeth - 2 * module - module // 2
    bore = 2 * dice.between(3, max(3, min(12, root // 8)))
    key = max(2, bore // 4)
    hubbed = root > bore + 24 and dice.below(2) == 1
    holed = root > bore * 2 + 50
    parameters = {
        "module": module,
        "teeth": teeth,
        "pressure_angle": 20,
        "face_width": dice.between(6, 20),
        "bore_diameter": bore,
        "keyway_width": key,
        "keyway_depth": max(1, key // 2),
        **({"hub_diameter": bore + 12, "hub_height": dice.between(4, 12)} if hubbed else {}),
        **({"hole_count": dice.between(4, 6), "hole_diameter": (root - bore - 12) // 6} if holed else {}),
    }
    title = f"Spur gear with involute teeth{', a hub' if hubbed else ''} and a keyway"
    body = _PROFILE + (_builder if mode == BUILDER else _algebra)(hubbed, holed)
    return Part(title=title, parameters=parameters, body=body, imports=("math",))


_PROFILE = """
    pitch_radius = module * teeth / 2
    tip_radius = pitch_radius + module
    root_radius = pitch_radius - 1.25 * module
    base_radius = pitch_radius * math.cos(math.radians(pressure_angle))


    def involute(radius):
        \"\"\"The angle by which the involute has turned at a radius.\"\"\"
        along = math.sqrt(max(radius**2 / base_radius**2 - 1, 0))
        return along - math.atan(along)


    def at(radius, angle):
        return radius * math.cos(angle), radius * math.sin(angle)


    def tooth(number):
        \"\"\"Both flanks of a tooth, its tip, and the root up to the next tooth.\"\"\"
        turn = 2 * math.pi * number / teeth
        half = math.pi / (2 * teeth) + involute(pitch_radius)
        start = max(base_radius, root_radius)
        radii = [start + (tip_radius - start) * step / 5 for step in range(6)]
        right = [at(radius, turn - half + involute(radius)) for radius in radii]
        left = [at(radius, turn + half - involute(radius)) for radius in reversed(radii)]
        after = turn + 2 * math.pi / teeth
        edges = [Spline(*right), ThreePointArc(right[-1], at(tip_radius, turn), left[0]), Spline(*left)]
        if root_radius < start:
            edges += [Line(at(root_radius, turn - half), right[0]), Line(left[-1], at(root_radius, turn + half))]
        root = [at(min(root_radius, start), angle) for angle in (turn + half, (turn + after) / 2, after - half)]
        return edges + [ThreePointArc(*root)]


    outline = make_face([edge for number in range(teeth) for edge in tooth(number)])
"""


def _builder(hubbed: bool, holed: bool) -> str:
    hub = f"""
        # the hub
        Cylinder(hub_diameter / 2, face_width + hub_height, align={BOTTOM})
    """
    holes = """
        # the weight-saving holes
        with PolarLocations((root_radius + bore_diameter / 2 + keyway_depth) / 2, hole_count):
            Hole(hole_diameter / 2)
    """
    return f"""
    with BuildPart() as gear:
        # the body and the teeth
        extrude(outline, face_width)
        {feature(hubbed, hub, 8)}
        {feature(holed, holes, 8)}
        # the bore
        Hole(bore_diameter / 2)
        # the keyway
        with Locations((0, bore_diameter / 2, 0)):
            Box(keyway_width, 2 * keyway_depth, 4 * face_width + 40, mode=Mode.SUBTRACT)

    result = gear.part
    """


def _algebra(hubbed: bool, holed: bool) -> str:
    hub = f"""
    # the hub
    gear += Cylinder(hub_diameter / 2, face_width + hub_height, align={BOTTOM})
    """
    holes = """
    # the weight-saving holes
    places = PolarLocations((root_radius + bore_diameter / 2 + keyway_depth) / 2, hole_count)
    gear -= [place * Cylinder(hole_diameter / 2, 4 * face_width) for place in places]
    """
    return f"""
    # the body and the teeth
    gear = extrude(outline, face_width)
    {feature(hubbed, hub, 4)}
    {feature(holed, holes, 4)}
    # the bore
    gear -= Cylinder(bore_diameter / 2, 4 * face_width + 40)
    # the keyway
    gear -= Pos(0, bore_diameter / 2, 0) * Box(keyway_width, 2 * keyway_depth, 4 * face_width + 40)

    result = gear
    """


FAMILY = Family(name="gear", draw=draw, grid="z")
