"""Where the mouths of holes lie in a picture, and which of them the solid itself hides; no engine.

Odd: a bore behind a counterbore is seen through another hole's mouth, and its own lies mostly behind the front. A box
around a mouth that can't be seen would be right in space and wrong in the picture, so such a hole has none.
"""

# N points, F faces, P points of a mouth

import numpy as np

from trivium.data.cad.facts import listed
from trivium.data.cad.features import HOLES, Feature, Vector
from trivium.data.pairs.facts import Box
from trivium.data.scene.camera import Camera, Floats
from trivium.data.scene.shapes import Mesh

FREE = 0.8  # share of a mouth that nothing may lie in front of
_RINGS = (0.95, 0.75, 0.5, 0.2)  # of its radius: where a mouth is looked at
_NEARER = 1e-3  # of the mesh's radius: what lies in front by less is the mouth's own edge


def rims(around: list[Feature], camera: Camera, mesh: Mesh) -> dict[int, Box]:
    """The box of each mouth that opens towards the reader and is seen, by the hole's number among `listed`."""
    found: dict[int, Box] = {}
    toward = camera.axes_33[2]
    corners_F33 = _corners(mesh, camera)
    for number, one in enumerate(listed(around)):
        axis = np.array(one.axis)
        if one.kind not in HOLES:
            continue
        facing = [(one.start, -1.0), (one.end, 1.0)]
        mouths = [
            at for (at, way), is_open in zip(facing, one.open, strict=True) if is_open and way * axis @ toward > 0.05
        ]
        if not mouths:
            continue
        first = np.cross(axis, toward if abs(axis @ toward) < 0.99 else camera.axes_33[0])
        first /= np.linalg.norm(first)
        across = (first, np.cross(axis, first))
        inside_P3 = np.concatenate([_ring(mouths[0], one.diameter / 2 * share, across, 24) for share in _RINGS])
        if _free(camera.project(inside_P3), corners_F33) < FREE:
            continue
        seen_N3 = camera.project(_ring(mouths[0], one.diameter / 2, across, 48))
        left, top = seen_N3[:, :2].min(0)
        right, bottom = seen_N3[:, :2].max(0)
        found[number] = (round(float(left), 1), round(float(top), 1), round(float(right), 1), round(float(bottom), 1))
    return found


def _ring(middle: Vector, radius: float, across: tuple[Floats, Floats], count: int) -> Floats:
    turn_N1 = np.linspace(0, 2 * np.pi, count, endpoint=False)[:, None]
    return np.array(middle) + radius * (np.cos(turn_N1) * across[0] + np.sin(turn_N1) * across[1])


def _corners(mesh: Mesh, camera: Camera) -> Floats:
    """[F, 3, 3]: x and y in pixels and the distance of each corner of each triangle."""
    parts = [camera.project(part.coordinates)[part.triangles] for part in mesh.surfaces]
    return np.concatenate(parts) if parts else np.zeros((0, 3, 3))


def _free(points_P3: Floats, corners_F33: Floats) -> float:
    """The share of the points, as the camera projects them, that no triangle lies in front of."""
    low_2, high_2 = points_P3[:, :2].min(0), points_P3[:, :2].max(0)
    farthest = points_P3[:, 2].max() - _NEARER
    near_F = (corners_F33[..., :2].max(1) >= low_2).all(1) & (corners_F33[..., :2].min(1) <= high_2).all(1)
    near_F &= corners_F33[..., 2].min(1) < farthest
    hidden_P = np.zeros(len(points_P3), np.bool_)
    for (ax, ay, az), (bx, by, bz), (cx, cy, cz) in corners_F33[near_F]:
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-9:
            continue
        x_P, y_P = points_P3[:, 0], points_P3[:, 1]
        a_P = ((bx - x_P) * (cy - y_P) - (by - y_P) * (cx - x_P)) / area
        b_P = ((cx - x_P) * (ay - y_P) - (cy - y_P) * (ax - x_P)) / area
        c_P = 1.0 - a_P - b_P
        inside_P = (a_P >= 0) & (b_P >= 0) & (c_P >= 0)
        hidden_P |= inside_P & (a_P * az + b_P * bz + c_P * cz < points_P3[:, 2] - _NEARER)
    return 1.0 - float(hidden_P.mean())
