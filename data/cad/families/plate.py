"""Plates with hole patterns: grids, circles, slots, a window."""

from trivium.data.cad.families.family import BUILDER, TOP, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    hole = dice.pick((3, 4, 5, 6, 8))
    columns, rows = dice.between(2, 6), dice.between(2, 4)
    pitch_x, pitch_y = hole * dice.between(3, 5), hole * dice.between(3, 5)
    margin = hole * dice.between(1, 3) + hole
    slotted = dice.below(3) == 0
    length = (columns - 1) * pitch_x + 2 * margin
    width = (rows - 1) * pitch_y + 2 * margin + (2 * hole + 6 if slotted else 0)
    round_ = dice.between(1, margin - 1)
    countersunk = dice.below(3) == 0
    thickness = dice.between(2, 6) + (hole // 2 if countersunk else 0)
    parameters = {
        "length": length,
        "width": width,
        "thickness": thickness,
        "corner_radius": round_,
        "hole_diameter": hole,
        "hole_columns": columns,
        "hole_rows": rows,
        "hole_column_pitch": pitch_x,
        "hole_row_pitch": pitch_y,
        **({"slot_length": length - 2 * margin, "slot_width": hole} if slotted else {}),
    }
    title = f"Plate with a grid of {'countersunk ' if countersunk else ''}holes{' and a slot' if slotted else ''}"
    body = (_builder if mode == BUILDER else _algebra)(slotted, countersunk)
    return Part(title=title, parameters=parameters, body=body)


def _builder(slotted: bool, countersunk: bool) -> str:
    slot = """
        # the slot
        with BuildSketch(Plane.XY.offset(thickness)):
            with Locations((0, width / 2 - slot_width - 2)):
                SlotOverall(slot_length, slot_width)
        extrude(amount=-thickness, mode=Mode.SUBTRACT)
    """
    drop = "(0, -slot_width - 3, thickness)" if slotted else "(0, 0, thickness)"
    hole = "CounterSinkHole(hole_diameter / 2, hole_diameter * 0.9)" if countersunk else "Hole(hole_diameter / 2)"
    return f"""
    with BuildPart() as plate:
        # the plate
        with BuildSketch():
            RectangleRounded(length, width, corner_radius)
        extrude(amount=thickness)
        {feature(slotted, slot, 8)}
        # the holes
        with Locations({drop}):
            with GridLocations(hole_column_pitch, hole_row_pitch, hole_columns, hole_rows):
                {hole}

    result = plate.part
    """


def _algebra(slotted: bool, countersunk: bool) -> str:
    slot = """
    # the slot
    outline -= Pos(0, width / 2 - slot_width - 2) * SlotOverall(slot_length, slot_width)
    """
    drop = "Pos(0, -slot_width - 3) * " if slotted else ""
    sink = f"""
    # the countersinks
    sink = Cone(hole_diameter / 2, hole_diameter * 0.9, hole_diameter * 2 / 5, align={TOP})
    plate -= [{drop or ""}Pos(0, 0, thickness) * place * sink for place in places]
    """
    return f"""
    # the plate
    outline = RectangleRounded(length, width, corner_radius)
    {feature(slotted, slot, 4)}
    # the holes
    places = GridLocations(hole_column_pitch, hole_row_pitch, hole_columns, hole_rows)
    outline -= [{drop}place * Circle(hole_diameter / 2) for place in places]

    plate = extrude(outline, thickness)
    {feature(countersunk, sink, 4)}

    result = plate
    """


FAMILY = Family(name="plate", draw=draw)
