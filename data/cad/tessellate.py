"""Solids as triangles; imported only inside the guarded child."""

# N points, F faces of the mesh

from collections.abc import Sequence

import numpy as np
from OCP.BRep import BRep_Tool
from OCP.BRepMesh import BRepMesh_IncrementalMesh
from OCP.TopAbs import TopAbs_REVERSED
from OCP.TopLoc import TopLoc_Location
from OCP.TopoDS import TopoDS_Face, TopoDS_Shape

from trivium.data.scene.camera import Floats
from trivium.data.scene.shapes import Ints, Surface, surface

_ANGLE = 0.2  # radians between two triangles of a curved face; at 0.3 small fillets showed facets as edges
Triangles = tuple[Floats, Ints]


def mesh(shape: TopoDS_Shape, size: float) -> None:
    """Gives the shape's faces their triangles; `size` is its largest side."""
    BRepMesh_IncrementalMesh(shape, size / 500, False, _ANGLE, False)


def triangles(face: TopoDS_Face) -> Triangles | None:
    """Points [N, 3] and triangles [F, 3], turned outwards; None for a face that could not be meshed."""
    place = TopLoc_Location()
    found = BRep_Tool.Triangulation_s(face, place)
    if found is None:
        return None
    move = place.Transformation()
    nodes = [found.Node(number).Transformed(move) for number in range(1, found.NbNodes() + 1)]
    points_N3 = np.array([(node.X(), node.Y(), node.Z()) for node in nodes])
    faces_F3 = np.array([found.Triangle(number).Get() for number in range(1, found.NbTriangles() + 1)], np.int64) - 1
    return points_N3, faces_F3[:, ::-1] if face.Orientation() == TopAbs_REVERSED else faces_F3


def joined(
    all_faces: Sequence[Triangles | None], numbers: Sequence[int], name: str, color: tuple[int, int, int] | None
) -> Surface | None:
    """Some faces as one surface; None when none of them has triangles."""
    points, faces, offset = [], [], 0
    for found in (all_faces[number] for number in numbers):
        if found is not None and len(found[1]):
            points.append(found[0])
            faces.append(found[1] + offset)
            offset += len(found[0])
    if not points:
        return None
    return surface(np.concatenate(points), np.concatenate(faces), name, color)
