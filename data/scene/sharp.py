"""Which edges of a mesh are drawn as lines: those that end it, and those where two faces meet at an angle.

Odd: solids that were cut hold needles, triangles thinner than a file's numbers are exact, whose normals are noise. A
needle takes the normal of the face across its longest edge, so that what it lies between is judged, and not it.
"""

# N points, F faces, E edges

import numpy as np
from numpy.typing import NDArray

from trivium.data.scene.camera import Floats

Ints = NDArray[np.int64]
_CHAIN = 8  # needles that may lie side by side


def sharp_edges(points_N3: Floats, faces_F3: Ints, degrees: float, thin: float) -> Ints:
    """[E, 2], numbers of points. `thin`: a triangle that is less high than that is a needle.

    Edges of three faces and more are none, and so is what a face that names a point twice would give.
    """
    distinct = (faces_F3 != np.roll(faces_F3, 1, 1)).all(1)
    faces_F3 = faces_F3[distinct]
    if not len(faces_F3):
        return np.zeros((0, 2), np.int64)
    corners_F33 = points_N3[faces_F3]
    normals_F3 = np.cross(corners_F33[:, 1] - corners_F33[:, 0], corners_F33[:, 2] - corners_F33[:, 0])
    doubled_F = np.linalg.norm(normals_F3, axis=1)
    normals_F3 /= np.where(doubled_F > 0, doubled_F, 1.0)[:, None]
    lengths_F3 = np.linalg.norm(np.roll(corners_F33, -1, 1) - corners_F33, axis=2)
    needle_F = doubled_F < thin * lengths_F3.max(1)
    # Each face's edges one after the other, and which edge of the mesh each of them is.
    own_3F2 = np.sort(np.stack([faces_F3, np.roll(faces_F3, -1, 1)], 2), 2).reshape(-1, 2)
    edges_E2, which, count_E = np.unique(own_3F2, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    first_E = np.concatenate([[0], np.cumsum(count_E)[:-1]])
    left_E = order[first_E] // 3
    right_E = np.where(count_E == 2, order[np.minimum(first_E + 1, len(order) - 1)] // 3, left_E)
    _lend(normals_F3, needle_F, which.reshape(-1, 3)[np.arange(len(faces_F3)), lengths_F3.argmax(1)], left_E, right_E)
    flat_E = np.einsum("ei,ei->e", normals_F3[left_E], normals_F3[right_E]) > np.cos(np.radians(degrees))
    found: Ints = edges_E2[(count_E == 1) | ((count_E == 2) & ~flat_E)]
    return found


def _lend(normals_F3: Floats, needle_F: NDArray[np.bool_], longest_F: Ints, left_E: Ints, right_E: Ints) -> None:
    """Gives each needle the normal of the face across its longest edge, through others where they lie side by side."""
    waits = needle_F.copy()
    for _ in range(_CHAIN):
        needles = np.flatnonzero(waits)
        across = np.where(
            left_E[longest_F[needles]] == needles, right_E[longest_F[needles]], left_E[longest_F[needles]]
        )
        ready = (across != needles) & ~waits[across]
        if not ready.any():
            return
        normals_F3[needles[ready]] = normals_F3[across[ready]]
        waits[needles[ready]] = False
