"""Crank arms and levers: two eyes joined by a tapering arm, sometimes with a slot."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part, feature
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    large = 2 * dice.between(10, 20)
    small = large - 2 * dice.between(2, 6)
    distance = large + dice.between(20, 80)
    slotted = dice.below(2) == 1 and distance > 2 * large
    thickness = dice.between(5, 10)
    parameters = {
        "eye_distance": distance,
        "large_eye_diameter": large,
        "large_bore_diameter": large // 2,
        "small_eye_diameter": small,
        "small_bore_diameter": small // 2,
        "arm_thickness": thickness,
        "eye_height": thickness + dice.between(2, 14),
        **({"slot_length": distance - large, "slot_width": small // 3} if slotted else {}),
    }
    title = f"Crank arm with two eyes{' and a slot' if slotted else ''}"
    return Part(title=title, parameters=parameters, body=(_builder if mode == BUILDER else _algebra)(slotted))


def _builder(slotted: bool) -> str:
    slot = """
        # the slot
        with BuildSketch():
            with Locations((eye_distance / 2, 0)):
                SlotOverall(slot_length, slot_width)
        extrude(amount=arm_thickness, mode=Mode.SUBTRACT)
    """
    return f"""
    eyes = Circle(large_eye_diameter / 2) + Pos(eye_distance, 0) * Circle(small_eye_diameter / 2)
    outline = make_hull(eyes.edges())
    with BuildPart() as crank:
        # the arm
        extrude(outline, arm_thickness)
        {feature(slotted, slot, 8)}
        # the large eye
        Cylinder(large_eye_diameter / 2, eye_height, align={BOTTOM})
        # the small eye
        with Locations((eye_distance, 0)):
            Cylinder(small_eye_diameter / 2, eye_height, align={BOTTOM})
            # the small bore
            Hole(small_bore_diameter / 2)
        # the large bore
        Hole(large_bore_diameter / 2)

    result = crank.part
    """


def _algebra(slotted: bool) -> str:
    slot = """
    # the slot
    crank -= extrude(Pos(eye_distance / 2, 0) * SlotOverall(slot_length, slot_width), arm_thickness)
    """
    return f"""
    far = Pos(eye_distance, 0, 0)
    # the arm
    eyes = Circle(large_eye_diameter / 2) + far * Circle(small_eye_diameter / 2)
    crank = extrude(make_hull(eyes.edges()), arm_thickness)
    {feature(slotted, slot, 4)}
    # the large eye
    crank += Cylinder(large_eye_diameter / 2, eye_height, align={BOTTOM})
    # the small eye
    crank += far * Cylinder(small_eye_diameter / 2, eye_height, align={BOTTOM})
    # the large bore
    crank -= Cylinder(large_bore_diameter / 2, 4 * eye_height)
    # the small bore
    crank -= far * Cylinder(small_bore_diameter / 2, 4 * eye_height)

    result = crank
    """


FAMILY = Family(name="crank", draw=draw)
