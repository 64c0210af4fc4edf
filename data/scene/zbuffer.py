"""A rasteriser of triangles in numpy: the oracle of silhouettes and depth, and the visible share of parts.

Odd: slow and plain on purpose (one triangle after the other, fp64, pixel centres, no antialiasing); what VTK draws is
held against it.
"""

# N points, F faces, H height, W width

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trivium.data.scene.camera import Camera, Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Raster:
    """`depth_HW`: distance in front of the camera in its frame, inf where nothing is; `face_HW`: index, -1 nothing."""

    depth_HW: Floats
    face_HW: Ints


def rasterise(points_N3: Floats, faces_F3: Ints, camera: Camera) -> Raster:
    """What each pixel's centre sees. Faces count from both sides; all must lie in front of the camera."""
    height, width = camera.shot.height, camera.shot.width
    depth_HW = np.full((height, width), np.inf)
    face_HW = np.full((height, width), -1, np.int64)
    perspective = camera.shot.projection == "perspective"
    corners_F33 = camera.project(points_N3)[faces_F3]
    low_F2 = np.floor(corners_F33[..., :2].min(1)).astype(np.int64)
    high_F2 = np.ceil(corners_F33[..., :2].max(1)).astype(np.int64)
    for index, corners_33 in enumerate(corners_F33):
        left, top = np.maximum(low_F2[index], 0)
        right, bottom = np.minimum(high_F2[index], (width, height))
        if left >= right or top >= bottom:
            continue
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = corners_33
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if abs(area) < 1e-12:
            continue
        x_W = np.arange(left, right) + 0.5
        y_H = (np.arange(top, bottom) + 0.5)[:, None]
        a = ((bx - x_W) * (cy - y_H) - (by - y_H) * (cx - x_W)) / area
        b = ((cx - x_W) * (ay - y_H) - (cy - y_H) * (ax - x_W)) / area
        c = 1.0 - a - b
        # Distance is linear on the screen when orthographic, its reciprocal when perspective.
        distance = 1.0 / (a / az + b / bz + c / cz) if perspective else a * az + b * bz + c * cz
        inside = (a >= 0) & (b >= 0) & (c >= 0)
        window = (slice(top, bottom), slice(left, right))
        nearer = inside & (distance < depth_HW[window])
        depth_HW[window][nearer] = distance[nearer]
        face_HW[window][nearer] = index
    return Raster(depth_HW=depth_HW, face_HW=face_HW)
