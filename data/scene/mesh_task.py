"""The guarded task of meshes: files or triangles in, pictures and facts out; imported only inside the child."""

# N points, F faces

import numpy as np

from trivium.data.pairs.facts import Box, Facts, Part
from trivium.data.scene import vtk_draw
from trivium.data.scene.camera import Camera, place
from trivium.data.scene.mesh_file import load
from trivium.data.scene.shapes import AboutRequest, FileRequest, Mesh, MeshPictures, MeshRequest
from trivium.data.scene.solid import measures

_PARTS = 60  # named in the facts; more have no place in a description
_VISIBLE = 12  # pixels of a part from which a person sees it


def draw(request: MeshRequest | FileRequest | AboutRequest) -> MeshPictures:
    """The task. Raises GuardError with the reason for a file that is refused."""
    if isinstance(request, AboutRequest):
        return MeshPictures(about=vtk_draw.about())
    mesh = load(request) if isinstance(request, FileRequest) else request.mesh
    pngs = tuple(vtk_draw.png(vtk_draw.draw(mesh, shot)) for shot in request.shots)
    return MeshPictures(pngs=pngs, facts=facts_of(mesh, place(mesh.coordinates, request.shots[0])))


def facts_of(mesh: Mesh, camera: Camera) -> Facts:
    """What the triangles themselves say: sizes, pieces, and the named surfaces that are seen."""
    sizes = measures(mesh)
    named = [number for number, part in enumerate(mesh.surfaces) if part.name][:_PARTS]
    seen = vtk_draw.visible(mesh, camera) if named else None
    parts = []
    for number in named:
        box = None if seen is None else _box(seen == number)
        if box is None:
            continue
        part = mesh.surfaces[number]
        color = "" if part.color is None or part.texture or part.colors else "#{:02x}{:02x}{:02x}".format(*part.color)
        own = measures(Mesh(surfaces=(part,)))
        parts.append(Part(kind="part", name=part.name, color=color, box=box, sizes={"triangles": own["triangles"]}))
    return Facts(what=f"a 3D model of {int(sizes['triangles']):,} triangles", parts=tuple(parts), sizes=sizes)


def _box(mask_HW: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Box | None:
    if int(mask_HW.sum()) < _VISIBLE:
        return None
    rows, columns = np.flatnonzero(mask_HW.any(1)), np.flatnonzero(mask_HW.any(0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
