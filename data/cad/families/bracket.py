"""Brackets of bent sheet: L, U and T, with screw holes and sometimes a rib."""

from trivium.data.cad.families.family import BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice

_NAMES = {"L": "Angle bracket", "U": "U-shaped bracket", "T": "T-shaped bracket"}
_OUTLINES = {
    "L": """
        (0, 0),
        (base_length, 0),
        (base_length, thickness),
        (thickness, thickness),
        (thickness, height),
        (0, height),
    """,
    "U": """
        (0, 0),
        (base_length, 0),
        (base_length, height),
        (base_length - thickness, height),
        (base_length - thickness, thickness),
        (thickness, thickness),
        (thickness, height),
        (0, height),
    """,
    "T": """
        (0, 0),
        (base_length, 0),
        (base_length, thickness),
        ((base_length + thickness) / 2, thickness),
        ((base_length + thickness) / 2, height),
        ((base_length - thickness) / 2, height),
        ((base_length - thickness) / 2, thickness),
        (0, thickness),
    """,
}
_CORNERS = {"L": "thickness", "U": "thickness", "T": "(base_length + thickness) / 2"}
_LOW = {"L": "(base_length + thickness) * 2 / 3", "U": "base_length / 2", "T": "base_length / 5"}
_UPRIGHT = {"L": "thickness / 2", "U": "thickness / 2", "T": "base_length / 2"}


def draw(dice: Dice, mode: str) -> Part:
    shape = dice.pick(("L", "L", "U", "T"))
    thickness = dice.between(3, 8)
    hole = dice.pick((4, 5, 6, 8))
    width = 2 * dice.between(hole + 4, 30)
    base = dice.between(7, 14) * (4 if shape == "L" else 6) + 2 * thickness
    height = dice.between(30, 80)
    ribbed = shape == "L" and dice.below(2) == 1 and width > 5 * hole
    rows = 2 if ribbed else 1 if width < 4 * hole else dice.between(1, 2)
    parameters = {
        "base_length": base,
        "width": width,
        "height": height,
        "thickness": thickness,
        "inner_fillet": dice.between(1, thickness),
        "hole_diameter": hole,
        "hole_rows": rows,
        "hole_row_pitch": width // 2,
        **({"rib_size": min(base, height) // 2, "rib_thickness": thickness} if ribbed else {}),
    }
    title = f"{_NAMES[shape]} with {'a stiffening rib and ' if ribbed else ''}screw holes"
    return Part(title=title, parameters=parameters, body=(_builder if mode == BUILDER else _algebra)(shape, ribbed))


def _outline(shape: str, indent: int) -> str:
    return feature(True, _OUTLINES[shape], indent)


def _builder(shape: str, ribbed: bool) -> str:
    rib = """
        # the rib
        with BuildSketch(Plane.XZ):
            with BuildLine():
                Polyline((0, 0), (thickness + rib_size, 0), (0, thickness + rib_size), close=True)
            make_face()
        extrude(amount=rib_thickness / 2, both=True)
    """
    return f"""
    with BuildPart() as bracket:
        # the bent sheet
        with BuildSketch(Plane.XZ):
            with BuildLine():
                Polyline(
                    {_outline(shape, 20)}
                    close=True,
                )
            make_face()
        extrude(amount=width / 2, both=True)
        # the fillet inside the bend
        corner = bracket.edges().filter_by(Axis.Y).sort_by_distance(({_CORNERS[shape]}, 0, thickness))[0]
        fillet(corner, inner_fillet)
        {feature(ribbed, rib, 8)}
        # the holes in the base
        with Locations(({_LOW[shape]}, 0, thickness / 2)):
            with GridLocations(1, hole_row_pitch, 1, hole_rows):
                Cylinder(hole_diameter / 2, 2 * thickness, mode=Mode.SUBTRACT)
        # the holes in the upright
        with Locations(Pos({_UPRIGHT[shape]}, 0, height * 3 / 4) * Rot(0, 90, 0)):
            with GridLocations(1, hole_row_pitch, 1, hole_rows):
                Cylinder(hole_diameter / 2, 2 * thickness, mode=Mode.SUBTRACT)

    result = bracket.part
    """


def _algebra(shape: str, ribbed: bool) -> str:
    rib = """
    # the rib
    rib = Polyline((0, 0), (thickness + rib_size, 0), (0, thickness + rib_size), close=True)
    bracket += extrude(Plane.XZ * make_face(rib), rib_thickness / 2, both=True)
    """
    return f"""
    # the bent sheet
    outline = Polyline(
        {_outline(shape, 8)}
        close=True,
    )
    bracket = extrude(Plane.XZ * make_face(outline), width / 2, both=True)
    # the fillet inside the bend
    corner = bracket.edges().filter_by(Axis.Y).sort_by_distance(({_CORNERS[shape]}, 0, thickness))[0]
    bracket = fillet(corner, inner_fillet)
    {feature(ribbed, rib, 4)}
    # the holes in the base
    bracket -= [
        Pos({_LOW[shape]}, 0, thickness / 2) * row * Cylinder(hole_diameter / 2, 2 * thickness)
        for row in GridLocations(1, hole_row_pitch, 1, hole_rows)
    ]
    # the holes in the upright
    bracket -= [
        Pos({_UPRIGHT[shape]}, 0, height * 3 / 4) * Rot(0, 90, 0) * row * Cylinder(hole_diameter / 2, 2 * thickness)
        for row in GridLocations(1, hole_row_pitch, 1, hole_rows)
    ]

    result = bracket
    """


FAMILY = Family(name="bracket", draw=draw)
