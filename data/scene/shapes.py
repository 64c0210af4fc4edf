"""Triangles on their way to a guarded renderer, and what comes back; imports no engine.

Odd: arrays travel as bytes (little-endian), since the walls between processes carry messages, not numpy.
"""

# N points, F faces

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data.pairs.facts import Facts
from trivium.data.scene.camera import Floats, Shot

Ints = NDArray[np.int64]
MESHES = (".stl", ".obj", ".ply", ".off", ".glb", ".gltf")  # ends of the names of files that are read


class Surface(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing of a mesh: points fp64 [N, 3], faces int32 [F, 3].

    Colour: `texture` (RGB uint8 [high, wide, 3], drawn through `uv` fp32 [N, 2], its lower left corner at 0), else
    `colors` (uint8 [N, 3] by point or [F, 3] by face), else `color`, else the shot's.
    """

    points: bytes
    faces: bytes
    name: str = ""
    color: tuple[int, int, int] | None = None
    colors: bytes = b""
    uv: bytes = b""
    texture: bytes = b""
    texture_size: tuple[int, int] = (0, 0)  # wide, high

    @property
    def coordinates(self) -> Floats:
        return np.frombuffer(self.points, "<f8").reshape(-1, 3)

    @property
    def triangles(self) -> Ints:
        return np.frombuffer(self.faces, "<i4").reshape(-1, 3).astype(np.int64)


class Mesh(msgspec.Struct, frozen=True, kw_only=True):
    """z is up; any unit."""

    surfaces: tuple[Surface, ...]

    @property
    def coordinates(self) -> Floats:
        """The corners of all faces, surface after surface; points that no face uses are not among them."""
        return np.concatenate([part.coordinates[np.unique(part.triangles)] for part in self.surfaces])


def surface(
    points_N3: Floats, faces_F3: NDArray[np.integer], name: str = "", color: tuple[int, int, int] | None = None
) -> Surface:
    """Raises ValueError for a face that names a point which is not there."""
    if len(faces_F3) and not 0 <= int(np.min(faces_F3)) <= int(np.max(faces_F3)) < len(points_N3):
        raise ValueError(f"a face names a point beyond the {len(points_N3)} that are there")
    points = np.ascontiguousarray(points_N3, "<f8").tobytes()
    return Surface(points=points, faces=np.ascontiguousarray(faces_F3, "<i4").tobytes(), name=name, color=color)


class MeshRequest(msgspec.Struct, frozen=True, kw_only=True, tag="mesh"):
    """Triangles to be drawn."""

    mesh: Mesh
    shots: tuple[Shot, ...]


class FileRequest(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """A mesh file and those beside it by relative path; `most`: triangles that are let through."""

    main: str
    files: dict[str, bytes]
    up: str
    shots: tuple[Shot, ...]
    most: int


class AboutRequest(msgspec.Struct, frozen=True, kw_only=True, tag="about"):
    """What draws here: answered by an empty `MeshPictures` with its `about`."""


class MeshPictures(msgspec.Struct, frozen=True, kw_only=True):
    """A PNG a shot; `facts` are those of the first. `about`: the graphics driver, where it was asked for."""

    pngs: tuple[bytes, ...] = ()
    facts: Facts = Facts(what="nothing")
    about: str = ""
