"""What a generator knows of its drawing beyond the code, on its way from the source to the stage that draws."""

from collections.abc import Mapping

import msgspec

from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts, Part
from trivium.data.svg.requests import Seen

PLAN = "plan.json"  # member of a source's bundle, and of the draft's media until it is drawn
DRAWING = "drawing.svg"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`marks` are the elements (in drawing order) that show each part of `facts`; `edits` and `bugs` are the same
    generator's drawings of changed data.
    """

    facts: Facts
    marks: tuple[tuple[int, ...], ...]
    edits: tuple[Edit, ...] = ()
    bugs: tuple[Edit, ...] = ()


def encode(plan: Plan) -> bytes:
    return msgspec.json.encode(plan, order="sorted")


def decode(payload: bytes) -> Plan:
    return msgspec.json.decode(payload, type=Plan)


def in_pixels(plan: Plan, seen: Mapping[int, Seen]) -> Facts:
    """The facts of a picture in which the elements are seen at `seen`; what is hidden has no box."""
    pairs = zip(plan.facts.parts, plan.marks, strict=True)
    parts = tuple(_boxed(part, [seen[mark].box for mark in marks if mark in seen]) for part, marks in pairs)
    return msgspec.structs.replace(plan.facts, parts=parts)


def _boxed(part: Part, boxes: list[tuple[int, int, int, int]]) -> Part:
    if not boxes:
        return part
    left, top = (float(min(box[edge] for box in boxes)) for edge in (0, 1))
    right, bottom = (float(max(box[edge] for box in boxes)) for edge in (2, 3))
    return msgspec.structs.replace(part, box=(left, top, right, bottom))
