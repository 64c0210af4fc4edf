"""Exact measures of triangles: extent, surface, pieces, and volume where it is closed; numpy alone."""

# N points, F faces, E edges

import numpy as np
from numpy.typing import NDArray

from trivium.data.scene.camera import Floats
from trivium.data.scene.shapes import Ints, Mesh

_JOINED = 1e-6  # of the largest side: files round their numbers, and points nearer than this were one


def measures(mesh: Mesh) -> dict[str, float]:
    """Sizes by what is measured: width (x), depth (y), height (z), triangles, pieces, area, volume of a closed piece.

    Files have no unit of length, so none is named. A piece is what hangs together by shared points.
    """
    points_N3, faces_F3 = joined(mesh)
    low_3, high_3 = points_N3.min(0), points_N3.max(0)
    width, depth, height = (float(f"{value:.6g}") for value in high_3 - low_3)
    triangles = sum(len(part.triangles) for part in mesh.surfaces)
    found = {"width": width, "depth": depth, "height": height, "triangles": float(triangles)}
    found["pieces"] = float(len(np.unique(pieces(len(points_N3), faces_F3)[faces_F3[:, 0]])))
    found["surface area"] = float(f"{areas(points_N3, faces_F3).sum():.6g}")
    if found["pieces"] == 1 and closed(faces_F3):  # of several pieces one may lie inside another
        found["volume"] = float(f"{volume(points_N3, faces_F3):.6g}")
    return found


def joined(mesh: Mesh) -> tuple[Floats, Ints]:
    """All surfaces as one, equal points as one point, faces without area gone; unused points too."""
    points, faces, offset = [], [], 0
    for part in mesh.surfaces:
        points.append(part.coordinates)
        faces.append(part.triangles + offset)
        offset += len(points[-1])
    points_N3, faces_F3 = np.concatenate(points), np.concatenate(faces)
    used_N, faces_flat = np.unique(faces_F3, return_inverse=True)
    points_N3, faces_F3 = points_N3[used_N], faces_flat.reshape(-1, 3)
    low_3 = points_N3.min(0)
    step = float((points_N3.max(0) - low_3).max()) * _JOINED or 1.0
    grid_N3 = np.rint((points_N3 - low_3) / step).astype(np.int64)
    _, first_M, same_N = np.unique(grid_N3, axis=0, return_index=True, return_inverse=True)
    faces_F3 = same_N.reshape(-1)[faces_F3]
    whole_F = (faces_F3 != np.roll(faces_F3, 1, axis=1)).all(1)
    kept_F3 = faces_F3[whole_F]
    return points_N3[first_M], kept_F3 if len(kept_F3) else faces_F3


def areas(points_N3: Floats, faces_F3: Ints) -> Floats:
    corners_F33 = points_N3[faces_F3]
    crossed_F3 = np.cross(corners_F33[:, 1] - corners_F33[:, 0], corners_F33[:, 2] - corners_F33[:, 0])
    found_F: Floats = np.linalg.norm(crossed_F3, axis=1) / 2
    return found_F


def closed(faces_F3: Ints) -> bool:
    """Whether each edge has exactly one face on either side, all turned alike."""
    directed_E2 = np.concatenate([faces_F3[:, [0, 1]], faces_F3[:, [1, 2]], faces_F3[:, [2, 0]]])
    unique_E2, counts_E = np.unique(directed_E2, axis=0, return_counts=True)
    if len(faces_F3) < 4 or (counts_E > 1).any():
        return False
    backwards_E2 = unique_E2[:, ::-1]
    return bool(np.array_equal(unique_E2, backwards_E2[np.lexsort((backwards_E2[:, 1], backwards_E2[:, 0]))]))


def volume(points_N3: Floats, faces_F3: Ints) -> float:
    """Of a closed surface, by the divergence theorem; the way round does not matter."""
    corners_F33 = points_N3[faces_F3] - points_N3.mean(0)
    return abs(float(np.linalg.det(corners_F33).sum() / 6))


def pieces(count: int, faces_F3: Ints) -> NDArray[np.int64]:
    """[count]: for each point the smallest point that it hangs together with."""
    label_N = np.arange(count)
    while True:
        low_F = label_N[faces_F3].min(1)
        before_N = label_N.copy()
        np.minimum.at(label_N, faces_F3.ravel(), np.repeat(low_F, 3))
        label_N = label_N[label_N]
        if np.array_equal(before_N, label_N):
            return label_N
