"""Lines of a mesh: its own edges, whole, and none that rounding makes."""

import math

import numpy as np
import pytest

from trivium.data.scene.sharp import sharp_edges

CORNERS = np.array([[x, y, z] for x in (0.0, 3.0) for y in (0.0, 2.0) for z in (0.0, 1.0)])
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
FACES = np.array([[q[0], q[i], q[i + 1]] for q in QUADS for i in (1, 2)])
THIN = 4e-5


def test_a_box_has_its_twelve_edges_and_no_diagonal() -> None:
    found = sharp_edges(CORNERS, FACES, 30.0, THIN)
    lengths = np.linalg.norm(CORNERS[found[:, 0]] - CORNERS[found[:, 1]], axis=1)
    assert sorted(lengths) == [1.0] * 4 + [2.0] * 4 + [3.0] * 4


def test_a_side_that_is_open_ends_in_lines() -> None:
    assert len(sharp_edges(CORNERS[:4], FACES[:2], 30.0, THIN)) == 4
    assert sharp_edges(CORNERS, np.array([[0, 0, 1]]), 30.0, THIN).shape == (0, 2)


@pytest.mark.parametrize(("fold", "inner"), [(0.0, 0.0), (20.0, 0.0), (90.0, 1.0)])
def test_a_needle_between_two_faces_is_judged_by_what_it_lies_between(fold: float, inner: float) -> None:
    """A point on the edge of another triangle, off it by rounding: the needle that fills the gap may face anywhere."""
    turn = math.radians(fold)
    low = [0.5, -math.cos(turn), -math.sin(turn)]
    points = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.5, -1e-7, 1e-6], [0.5, 1.0, 0], low])
    faces = np.array([[0, 1, 3], [0, 2, 1], [0, 4, 2], [2, 4, 1]])
    found = sharp_edges(points, faces, 30.0, THIN)
    along = [tuple(edge) for edge in found if set(edge) <= {0, 1, 2}]
    assert sum(np.linalg.norm(points[a] - points[b]) for a, b in along) == pytest.approx(inner, abs=1e-6)
    assert len(found) - len(along) == 4  # the border
