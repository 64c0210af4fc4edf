"""A solid on paper: single views with hidden lines, and a sheet of three views with dimensions.

Odd: third-angle projection, as most drawings with millimetres on screens have it: the top view lies above the front
view, the right view to its right.
"""

import math
from collections import defaultdict

import numpy as np
from OCP.TopoDS import TopoDS_Shape

from trivium.data.cad.features import CYLINDER, Feature
from trivium.data.cad.lines import Lines, project
from trivium.data.cad.paper import Paper
from trivium.data.cad.requests import CadSettings
from trivium.data.cad.solid import Measures
from trivium.data.cad.strokes import Point, Stroke, tidy
from trivium.data.scene.camera import Floats, place, view

_NAMES = {"isometric": "isometric view", "front": "front view", "top": "top view", "right": "right view"}
# What lies across each straight view, to the right and up, and towards who looks: axis numbers.
_AXES = {"front": (0, 2, 1), "top": (0, 1, 2), "right": (1, 2, 0)}
_LEFT, _BETWEEN, _RIGHT, _TOP, _BOTTOM = 58.0, 84.0, 78.0, 30.0, 52.0  # pixels around and between the three views
_OFF = 26.0  # from a view to its dimension line
_TEXT = 13.0
_MOST_LABELS = 5  # of holes beside one view
_MOST_CENTRES = 60  # holes and cylinders with centre lines


def single(
    shape: TopoDS_Shape, points_N3: Floats, found: Measures, around: list[Feature], settings: CadSettings
) -> str:
    """One view as SVG; framed as the shaded view of the same name would be."""
    shot = view(_NAMES[settings.view], width=settings.width, height=settings.height, margin=1.12)
    camera = place(points_N3, shot)
    axes_33 = camera.axes_33
    straight = settings.view in _AXES
    lines = project(shape, axes_33, max(found.sides), hidden=straight)
    scale = shot.height / (2 * camera.half * camera.radius)
    middle = [float(axes_33[row] @ (camera.centre_3 + camera.radius * camera.eye_3)) for row in (0, 1)]

    def to(point: Point) -> Point:
        return shot.width / 2 + (point[0] - middle[0]) * scale, shot.height / 2 - (point[1] - middle[1]) * scale

    paper = _paper(settings)
    _draw(paper, lines, to)
    if straight:
        _centres(paper, around, settings.view, scale, to)
    return paper.svg()


def sheet(
    shape: TopoDS_Shape,
    points_N3: Floats,
    found: Measures,
    around: list[Feature],
    settings: CadSettings,
    round_axis: int,
) -> str:
    """Three views, overall dimensions, diameters of holes, and an isometric view in the corner.

    `round_axis`: the axis that a turned part turns about, -1 for others.
    """
    x, y, z = found.sides
    wide, high = settings.width - _LEFT - _BETWEEN - _RIGHT, settings.height - _TOP - _BETWEEN - _BOTTOM
    scale = min(wide / (x + y), high / (y + z))
    slack_x, slack_y = (wide - (x + y) * scale) / 2, (high - (y + z) * scale) / 2
    left, top = _LEFT + slack_x, _TOP + slack_y
    second_x, second_y = left + x * scale + _BETWEEN, top + y * scale + _BETWEEN
    corners = {"front": (left, second_y), "top": (left, top), "right": (second_x, second_y)}
    paper = _paper(settings)
    paper.lines("frame", [_box(6, 6, settings.width - 6, settings.height - 6)])
    for name, (at_x, at_y) in corners.items():
        across, up, _ = _AXES[name]
        low, top_of = found.low[across], found.high[up]

        def to(point: Point, at_x: float = at_x, at_y: float = at_y, low: float = low, top_of: float = top_of) -> Point:
            return at_x + (point[0] - low) * scale, at_y + (top_of - point[1]) * scale

        lines = project(shape, place(points_N3, view(_NAMES[name])).axes_33, max(found.sides))
        _draw(paper, lines, to)
        _centres(paper, around, name, scale, to)
        _diameters(paper, around, name, scale, to, at_x + found.sides[across] * scale, at_y)
    written_to = left + x * scale + 25 + 7.8 * max(map(len, _labels(around, "top")), default=0)
    _corner(paper, shape, points_N3, found, max(second_x, written_to), top, settings)
    bottom = second_y + z * scale
    diameter = ["Ø" if round_axis >= 0 and axis != round_axis else "" for axis in range(3)]
    _across(paper, left, left + x * scale, bottom + _OFF, bottom, diameter[0] + number(x))
    _upright(paper, left - _OFF, second_y, bottom, left, diameter[2] + number(z))
    if round_axis != 2:  # of a disc seen from above the width says all
        _upright(paper, left - _OFF, top, top + y * scale, left, diameter[1] + number(y))
    return paper.svg()


def written(around: list[Feature]) -> tuple[str, ...]:
    """The sizes that a dimensioned sheet gives: all sides, and diameters where the hole of every part is labelled."""
    sides = tuple(f"size along {axis} mm" for axis in "xyz")
    holes = [feature for feature in around if feature.kind != CYLINDER]
    for name, (_, _, toward) in _AXES.items():
        own = [feature for feature in holes if _lies(feature, toward)]
        if len(_groups(own, name)) > _MOST_LABELS:
            return sides
    straight = all(any(_lies(feature, axis) for axis in range(3)) for feature in holes)
    return (*sides, "diameter mm") if straight else sides


def number(value: float) -> str:
    """Millimetres as drawings give them: no zeros behind, two decimals at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return text if text != "-0" else "0"


def _paper(settings: CadSettings) -> Paper:
    ink = dict.fromkeys(("visible", "smooth", "frame", "dimension"), settings.ink)
    soft = _mixed(settings.ink, settings.paper)
    return Paper(settings.width, settings.height, settings.paper, {**ink, "hidden": soft, "centre": soft})


def _mixed(ink: str, paper: str) -> str:
    pairs = [(int(ink[at : at + 2], 16), int(paper[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a * 0.65 + b * 0.35):02x}" for a, b in pairs)


def _draw(paper: Paper, lines: Lines, to) -> None:  # type: ignore[no-untyped-def]
    for kind in ("visible", "smooth", "hidden"):
        strokes: list[Stroke] = getattr(lines, kind)
        paper.lines(kind, ([to(point) for point in stroke] for stroke in strokes))


def _box(left: float, top: float, right: float, bottom: float) -> Stroke:
    return ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))


def _lies(feature: Feature, axis: int) -> bool:
    return abs(feature.axis[axis]) > 0.999


def _centres(paper: Paper, around: list[Feature], name: str, scale: float, to) -> None:  # type: ignore[no-untyped-def]
    """Crosses where an axis points at the reader, a line along it where it lies in the paper."""
    across, up, toward = _AXES[name]
    marked: list[Stroke] = []
    for feature in around[:_MOST_CENTRES]:
        over = 5 / scale
        reach = feature.diameter / 2 + over
        x, y = feature.start[across], feature.start[up]
        if _lies(feature, toward):
            marked += [((x - reach, y), (x + reach, y)), ((x, y - reach), (x, y + reach))]
        elif _lies(feature, across) or _lies(feature, up):
            dx, dy = feature.axis[across] * over, feature.axis[up] * over
            marked.append(((x - dx, y - dy), (feature.end[across] + dx, feature.end[up] + dy)))
    paper.lines("centre", ([to(point) for point in stroke] for stroke in tidy(marked)))


def _diameters(  # type: ignore[no-untyped-def]
    paper: Paper, around: list[Feature], name: str, scale: float, to, right: float, top: float
) -> None:
    """One label for all holes of a diameter that are seen as circles, in the room to the right of the view."""
    across, up, _ = _AXES[name]
    labels = list(_labels(around, name).items())
    labels.sort(key=lambda one: (-round(one[1].start[up], 3), round(one[1].start[across], 3), one[0]))
    for place_of, (label, shown) in enumerate(labels):
        centre = to((shown.start[across], shown.start[up]))
        end = (right + 12, top + 10 + place_of * 20)
        angle = math.atan2(end[1] - centre[1], end[0] - centre[0])
        rim = (
            centre[0] + math.cos(angle) * shown.diameter / 2 * scale,
            centre[1] + math.sin(angle) * shown.diameter / 2 * scale,
        )
        paper.lines("dimension", [(rim, end, (end[0] + 6, end[1]))])
        paper.arrow(rim, end)
        paper.words(label, (end[0] + 9, end[1] + 4.5), size=_TEXT, anchor="start")


def _labels(around: list[Feature], name: str) -> dict[str, Feature]:
    """What stands beside a view, and the hole that each label points at."""
    across, up, _ = _AXES[name]
    labels = {}
    for label, members in list(_groups(around, name).items())[:_MOST_LABELS]:
        places = {(round(one.start[across], 3), round(one.start[up], 3)) for one in members}
        shown = max(members, key=lambda one: (round(one.start[across] + one.start[up], 3), one.start))
        labels[label if len(places) == 1 else f"{len(places)}× {label}"] = shown
    return labels


def _groups(around: list[Feature], name: str) -> dict[str, list[Feature]]:
    """Holes seen as circles in a view, by their label."""
    groups: dict[str, list[Feature]] = defaultdict(list)
    for feature in around:
        if feature.kind != CYLINDER and _lies(feature, _AXES[name][2]):
            deep = "" if all(feature.open) else f" ↧{number(feature.length)}"
            groups[f"Ø{number(feature.diameter)}{deep}"].append(feature)
    return groups


def _across(paper: Paper, left: float, right: float, y: float, foot: float, text: str) -> None:
    """A dimension from left to right at height `y`, with lines from the view at `foot`."""
    paper.lines("dimension", [((x, foot + 4), (x, y + 5)) for x in (left, right)])
    if right - left >= 20:
        paper.lines("dimension", [((left, y), (right, y))])
        paper.arrow((left, y), (right, y))
        paper.arrow((right, y), (left, y))
    else:  # arrows from outside
        paper.lines("dimension", [((left - 16, y), (right + 16, y))])
        paper.arrow((left, y), (left - 16, y))
        paper.arrow((right, y), (right + 16, y))
    narrow = right - left < 8.0 * len(text) + 4
    paper.words(text, ((left + right) / 2, y + (_TEXT + 4 if narrow else -4)), size=_TEXT)


def _upright(paper: Paper, x: float, top: float, bottom: float, foot: float, text: str) -> None:
    """A dimension from bottom to top at `x`, with lines from the view at `foot`; read from the right."""
    paper.lines("dimension", [((foot - 4, y), (x - 5, y)) for y in (top, bottom)])
    if bottom - top >= 20:
        paper.lines("dimension", [((x, top), (x, bottom))])
        paper.arrow((x, top), (x, bottom))
        paper.arrow((x, bottom), (x, top))
    else:
        paper.lines("dimension", [((x, top - 16), (x, bottom + 16))])
        paper.arrow((x, top), (x, top - 16))
        paper.arrow((x, bottom), (x, bottom + 16))
    narrow = bottom - top < 8.0 * len(text) + 4
    if narrow:
        paper.words(text, (x - 6, (top + bottom) / 2 + 4.5), size=_TEXT, anchor="end")
    else:
        paper.words(text, (x - 4, (top + bottom) / 2), size=_TEXT, upright=True)


def _corner(
    paper: Paper,
    shape: TopoDS_Shape,
    points_N3: Floats,
    found: Measures,
    left: float,
    top: float,
    settings: CadSettings,
) -> None:
    """The isometric view in the free quarter."""
    right = settings.width - 20.0
    bottom = top + max(found.sides[1], 1e-9) * min(
        (settings.width - _LEFT - _BETWEEN - _RIGHT) / (found.sides[0] + found.sides[1]),
        (settings.height - _TOP - _BETWEEN - _BOTTOM) / (found.sides[1] + found.sides[2]),
    )
    top, bottom = 18.0, bottom + _BETWEEN / 2
    axes_33 = place(points_N3, view("isometric view")).axes_33
    lines = project(shape, axes_33, max(found.sides), hidden=False)
    seen_N2 = np.asarray(points_N3) @ axes_33[:2].T
    low, high = seen_N2.min(0), seen_N2.max(0)
    scale = min((right - left) / (high[0] - low[0]), (bottom - top) / (high[1] - low[1])) * 0.94

    def to(point: Point) -> Point:
        return (
            (left + right) / 2 + (point[0] - float(low[0] + high[0]) / 2) * float(scale),
            (top + bottom) / 2 - (point[1] - float(low[1] + high[1]) / 2) * float(scale),
        )

    _draw(paper, lines, to)
