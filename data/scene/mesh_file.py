"""Mesh files to triangles through trimesh; imported only inside a guarded child.

Odd: what a file names beside itself is looked up in its bundle and nowhere else; a name that leads out of it, or to a
network, refuses the whole file, whatever trimesh makes of the failure.
"""

# N points, F faces

import io
import posixpath
from typing import Any
from urllib.parse import unquote

import msgspec
import numpy as np
import trimesh
from trimesh.resolvers import Resolver
from trimesh.visual.texture import TextureVisuals

from trivium.data.scene.mesh_check import check
from trivium.data.scene.shapes import MESHES, FileRequest, Mesh, Surface, surface
from trivium.errors import GuardError

_TEXTURE = 1024  # pixels of a texture's longer side that are kept
_ROUND_TO_PLAIN = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # y-up to z-up


class _Bundle(Resolver):
    """trimesh's way to the files beside a mesh; keeps what was asked for in vain."""

    def __init__(self, folder: str, files: dict[str, bytes]) -> None:
        self._folder, self._files = folder, files
        self.outside: list[str] = []
        self.absent: list[str] = []

    def get(self, name: str) -> bytes:
        name = unquote(str(name)).replace("\\", "/")
        path = posixpath.normpath(posixpath.join(self._folder, name))
        if "://" in name or name.startswith("/") or path.startswith("../") or "\0" in name:
            self.outside.append(name)
            raise FileNotFoundError(name)
        if path not in self._files:
            self.absent.append(name)
            raise FileNotFoundError(name)
        return self._files[path]

    def namespaced(self, namespace: str) -> "_Bundle":
        return self

    def keys(self) -> list[str]:
        return sorted(self._files)

    def write(self, name: str, data: Any) -> None:
        raise PermissionError("a bundle is read only")


def load(request: FileRequest) -> Mesh:
    """The file's triangles, z up. Raises GuardError: `unreadable`, `empty`, `too_many_triangles`, `not_finite`,
    `external_reference`, `absent_file`, `unknown_extension`."""
    kind = posixpath.splitext(request.main.lower())[1]
    body = request.files[request.main]
    check(kind, body)
    resolver = _Bundle(posixpath.dirname(request.main), request.files)
    try:
        scene = trimesh.load_scene(io.BytesIO(body), file_type=kind[1:], resolver=resolver, process=False)
        parts = scene.dump(concatenate=False)
    except Exception as error:
        _judge(resolver)
        raise GuardError("unreadable", f"{type(error).__name__}: {error}") from None
    _judge(resolver)
    found = [part for part in parts if isinstance(part, trimesh.Trimesh) and len(part.faces)]
    triangles = sum(len(part.faces) for part in found)
    if not triangles:
        raise GuardError("empty", "it holds no triangle")
    if triangles > request.most:
        raise GuardError("too_many_triangles", f"{triangles:,} triangles, limit {request.most:,}")
    surfaces = tuple(_surface(part, request.up) for part in found)
    if not all(np.isfinite(part.coordinates).all() and np.abs(part.coordinates).max() < 1e12 for part in surfaces):
        raise GuardError("not_finite", "a point is no finite number or beyond 1e12")
    return Mesh(surfaces=surfaces)


def _judge(resolver: _Bundle) -> None:
    if resolver.outside:
        raise GuardError("external_reference", f"it names {resolver.outside[0]!r}, outside its own files")
    if resolver.absent:
        raise GuardError("absent_file", f"it names {resolver.absent[0]!r}, which is not beside it")


def _surface(part: "trimesh.Trimesh", up: str) -> Surface:
    points_N3 = np.asarray(part.vertices, np.float64)
    points_N3 = points_N3 @ _ROUND_TO_PLAIN.T if up == "y" else points_N3
    name = str(part.metadata.get("name") or part.metadata.get("node") or "")
    try:
        plain = surface(points_N3, np.asarray(part.faces), _words(name))
    except ValueError as error:
        raise GuardError("unreadable", str(error)) from None
    return _coloured(plain, part, len(points_N3))


def _words(name: str) -> str:
    """A name that a person gave; those that files and readers make up are none."""
    base = name.rsplit("/", 1)[-1].strip()
    made_up = not base or len(base) > 60 or any(base.lower().endswith(kind) for kind in MESHES)
    return "" if made_up or base.lower().startswith(("geometry_", "mesh_", "node_", "world")) else base


def _coloured(plain: Surface, part: "trimesh.Trimesh", count: int) -> Surface:
    visual: Any = part.visual
    if isinstance(visual, TextureVisuals):
        material = visual.material
        image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
        if image is not None and visual.uv is not None and len(visual.uv) == count:
            image = image.convert("RGB")
            image.thumbnail((_TEXTURE, _TEXTURE))
            uv = np.ascontiguousarray(visual.uv, "<f4").tobytes()
            return msgspec.structs.replace(plain, uv=uv, texture=image.tobytes(), texture_size=image.size)
        return msgspec.structs.replace(plain, color=_rgb(material.main_color))
    if visual.kind in ("vertex", "face"):
        chosen = visual.vertex_colors if visual.kind == "vertex" else visual.face_colors
        colors = np.asarray(chosen, np.uint8)[:, :3]
        if (colors == colors[0]).all():
            return msgspec.structs.replace(plain, color=_rgb(colors[0]))
        return msgspec.structs.replace(plain, colors=np.ascontiguousarray(colors).tobytes())
    return plain


def _rgb(color: Any) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in np.asarray(color, np.uint8).ravel()[:3])
    return red, green, blue
