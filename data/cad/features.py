"""Holes and cylinders of a solid, found in its own geometry; imported only inside the guarded child."""

import math
from collections import defaultdict

import msgspec
from OCP.BRepAdaptor import BRepAdaptor_Surface
from OCP.BRepClass3d import BRepClass3d_SolidClassifier
from OCP.BRepGProp import BRepGProp
from OCP.GeomAbs import GeomAbs_Cone, GeomAbs_Cylinder, GeomAbs_Plane, GeomAbs_Sphere, GeomAbs_Torus
from OCP.gp import gp_Pnt
from OCP.GProp import GProp_GProps
from OCP.TopAbs import TopAbs_IN, TopAbs_REVERSED
from OCP.TopoDS import TopoDS_Face, TopoDS_Shape

THROUGH, BLIND, COUNTERBORE, CYLINDER = "through hole", "blind hole", "counterbore", "cylinder"
HOLES = (THROUGH, BLIND, COUNTERBORE)
_ROUND = 0.8  # share of a full turn from which a surface counts as round
_ROUGH = 1e-3  # mm: what is nearer is the same
Vector = tuple[float, float, float]


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """A round surface from `start` to `end` on its axis; `faces` are numbers in the order of the shape's faces.

    `open`: whether the hole opens at the start and at the end. Millimetres.
    """

    kind: str
    diameter: float
    start: Vector
    end: Vector
    faces: tuple[int, ...]
    open: tuple[bool, bool] = (False, False)

    @property
    def length(self) -> float:
        return math.dist(self.start, self.end)

    @property
    def axis(self) -> Vector:
        x, y, z = ((b - a) / self.length for a, b in zip(self.start, self.end, strict=True))
        return x, y, z


class _Wall(msgspec.Struct, frozen=True):
    low: float
    high: float
    turn: float  # radians that it covers, if it were straight
    face: int


def features(shape: TopoDS_Shape, faces: list[TopoDS_Face]) -> list[Feature]:
    """Sorted: holes first, the largest diameter first."""
    walls: dict[tuple[bool, float, Vector, Vector], list[_Wall]] = defaultdict(list)
    for number, face in enumerate(faces):
        surface = BRepAdaptor_Surface(face)
        if surface.GetType() == GeomAbs_Cylinder:
            _add(walls, number, face, surface)
    found = [
        (hollow, radius, direction, foot, low, high, members)
        for (hollow, radius, direction, foot), all_walls in walls.items()
        for low, high, members in _runs(all_walls)
        if sum(wall.turn * (wall.high - wall.low) for wall in members) >= _ROUND * 2 * math.pi * (high - low)
    ]
    inside = BRepClass3d_SolidClassifier(shape)
    made = []
    for hollow, radius, direction, foot, low, high, members in found:
        start, end = _at(foot, direction, low), _at(foot, direction, high)
        faces_of = tuple(sorted(wall.face for wall in members))
        if not hollow:
            made.append(Feature(kind=CYLINDER, diameter=2 * radius, start=start, end=end, faces=faces_of))
            continue
        narrower = [
            (other[4], other[5])
            for other in found
            if other[0] and other[2:4] == (direction, foot) and other[1] < radius
        ]
        ends = [_open(inside, _at(foot, direction, low), direction, radius, -1.0)]
        ends.append(_open(inside, _at(foot, direction, high), direction, radius, 1.0))
        meets = any(abs(low - b) < _ROUGH or abs(high - a) < _ROUGH for a, b in narrower)
        kind = THROUGH if all(ends) else COUNTERBORE if meets and any(ends) else BLIND
        if any(ends):
            made.append(
                Feature(kind=kind, diameter=2 * radius, start=start, end=end, faces=faces_of, open=(ends[0], ends[1]))
            )
    made.sort(
        key=lambda one: (
            one.kind == CYLINDER,
            -round(one.diameter, 3),
            one.kind,
            _rounded(one.start),
            _rounded(one.end),
        )
    )
    return made


def turned(faces: list[TopoDS_Face]) -> bool:
    """Whether all surfaces turn about one axis (and some do)."""
    axes = set()
    planes = []
    for face in faces:
        surface = BRepAdaptor_Surface(face)
        kind = surface.GetType()
        if kind == GeomAbs_Plane:
            planes.append(_signless(_vector(surface.Plane().Axis().Direction())))
            continue
        makers = {GeomAbs_Cylinder: surface.Cylinder, GeomAbs_Cone: surface.Cone, GeomAbs_Torus: surface.Torus}
        if kind == GeomAbs_Sphere:
            continue
        if kind not in makers:
            return False
        axes.add(_line(makers[kind]().Axis()))
    return len(axes) == 1 and all(plane == next(iter(axes))[0] for plane in planes)


def flat_faces_only(faces: list[TopoDS_Face]) -> bool:
    return all(BRepAdaptor_Surface(face).GetType() == GeomAbs_Plane for face in faces)


def _add(walls, number: int, face: TopoDS_Face, surface: BRepAdaptor_Surface) -> None:  # type: ignore[no-untyped-def]
    cylinder = surface.Cylinder()
    radius = cylinder.Radius()
    direction, foot = _line(cylinder.Axis())
    hollow = (face.Orientation() == TopAbs_REVERSED) == bool(cylinder.Position().Direct())
    # v runs along the surface's own axis, from its own origin
    own = _vector(cylinder.Axis().Direction())
    origin = cylinder.Axis().Location()
    shift = _dot((origin.X(), origin.Y(), origin.Z()), direction)
    sign = 1.0 if _dot(own, direction) > 0 else -1.0
    first, last = shift + sign * surface.FirstVParameter(), shift + sign * surface.LastVParameter()
    low, high = min(first, last), max(first, last)
    if not (math.isfinite(low) and math.isfinite(high)) or high - low < _ROUGH:
        return
    area = GProp_GProps()
    BRepGProp.SurfaceProperties_s(face, area)
    turn = area.Mass() / (radius * (high - low))
    walls[hollow, round(radius, 4), direction, foot].append(_Wall(low, high, turn, number))


def _runs(walls: list[_Wall]) -> list[tuple[float, float, list[_Wall]]]:
    """Walls that touch along the axis, together."""
    runs: list[tuple[float, float, list[_Wall]]] = []
    for wall in sorted(walls, key=lambda one: (round(one.low, 4), round(one.high, 4), one.face)):
        if runs and wall.low <= runs[-1][1] - _ROUGH:
            low, high, members = runs[-1]
            runs[-1] = (low, max(high, wall.high), [*members, wall])
        else:
            runs.append((wall.low, wall.high, [wall]))
    return runs


def _open(inside: BRepClass3d_SolidClassifier, at: Vector, axis: Vector, radius: float, way: float) -> bool:
    """Whether a hole goes on into the open just beyond an end: nothing solid before its mouth."""
    first, second = _across(axis)
    step = 0.02 * radius
    for turn in range(8):
        angle = math.pi * turn / 4 + 0.1
        out = tuple(
            0.97 * radius * (math.cos(angle) * a + math.sin(angle) * b) for a, b in zip(first, second, strict=True)
        )
        point = [a + b + way * step * c for a, b, c in zip(at, out, axis, strict=True)]
        inside.Perform(gp_Pnt(*point), 1e-6)
        if inside.State() == TopAbs_IN:
            return False
    return True


def _across(axis: Vector) -> tuple[Vector, Vector]:
    """Two directions across an axis and each other."""
    least = min(range(3), key=lambda index: abs(axis[index]))
    helper = tuple(1.0 if index == least else 0.0 for index in range(3))
    first = _unit(_cross(axis, helper))  # type: ignore[arg-type]
    return first, _cross(axis, first)


def _line(axis) -> tuple[Vector, Vector]:  # type: ignore[no-untyped-def]
    """An infinite line: its direction, whose first coordinate that is not 0 is positive, and its point nearest 0."""
    direction = _signless(_vector(axis.Direction()))
    place = axis.Location()
    point = (place.X(), place.Y(), place.Z())
    along = _dot(point, direction)
    return direction, _rounded(tuple(p - along * d for p, d in zip(point, direction, strict=True)))


def _signless(vector: Vector) -> Vector:
    rounded = tuple(round(value, 6) + 0.0 for value in vector)
    first = next((value for value in rounded if value), 1.0)
    return tuple((-value if first < 0 else value) + 0.0 for value in rounded)  # type: ignore[return-value]


def _vector(direction) -> Vector:  # type: ignore[no-untyped-def]
    return direction.X(), direction.Y(), direction.Z()


def _rounded(vector: Vector) -> Vector:
    return tuple(round(value, 3) + 0.0 for value in vector)  # type: ignore[return-value]


def _at(foot: Vector, direction: Vector, along: float) -> Vector:
    return tuple(a + along * b for a, b in zip(foot, direction, strict=True))  # type: ignore[return-value]


def _dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(a: Vector) -> Vector:
    length = math.sqrt(_dot(a, a))
    return a[0] / length, a[1] / length, a[2] / length


__all__ = ["BLIND", "COUNTERBORE", "CYLINDER", "HOLES", "THROUGH", "Feature", "features", "flat_faces_only", "turned"]
