"""The engine "mesh": STL, OBJ, PLY, OFF and glTF files, or triangles that another engine made, as shaded pictures.

with MeshRenderer() as renderer:
    pictures = renderer.triangles(Mesh(surfaces=(surface(points, faces),)), [view("isometric view")])
"""

import posixpath
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trivium.data.closing import Opening
from trivium.data.guard import Guard, Limits, Profile
from trivium.data.pairs.engine import Drawing
from trivium.data.scene.camera import Shot
from trivium.data.scene.shapes import MESHES, AboutRequest, FileRequest, Mesh, MeshPictures, MeshRequest
from trivium.errors import GuardError

TASK = "trivium.data.scene.mesh_task:draw"
LIMITS = Limits(wall_seconds=300, cpu_seconds=30, memory_bytes=4 << 30, scratch_bytes=64 << 20, requests=500)
# Software GL: one thread, no display to look for, no cache of shaders between pictures.
PROFILE = Profile(
    name="mesh",
    read=("/usr/share/glvnd", "/usr/share/drirc.d"),
    environment={
        "VTK_DEFAULT_OPENGL_WINDOW": "vtkEGLRenderWindow",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "GALLIUM_DRIVER": "llvmpipe",
        "LP_NUM_THREADS": "0",
        "MESA_SHADER_CACHE_DISABLE": "true",
        "EGL_PLATFORM": "surfaceless",
    },
)


class MeshRules(Shot, frozen=True):
    """What the engine draws of a file: `main` among the files (the only mesh when empty) as a `Shot` sees it.

    `up`: the axis that points up in the file; `auto`: y in glTF and OBJ, z in the others.
    """

    main: str = ""
    up: Literal["auto", "y", "z"] = "auto"
    most: Annotated[int, Meta(ge=1, le=5_000_000)] = 500_000  # triangles


class MeshRenderer(Opening):
    """A guarded child that draws meshes; one a worker."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._guard = Guard(TASK, limits, profile=PROFILE)
        self._about = ""

    def open(self) -> None:
        """Raises MissingDependencyError where VTK or trimesh is not installed."""
        self._guard.start()

    def close(self) -> None:
        self._guard.close()

    def environment(self) -> str:
        """Versions of what decides pixels, one line, the graphics driver among them; asks the child once."""
        if not self._about:
            told = self._guard.call(AboutRequest(), MeshPictures).about
            packages = ", ".join(f"{name} {_version(name)}" for name in ("vtk", "trimesh", "numpy"))
            self._about = f"{packages}, {told}"
        return self._about

    def triangles(self, mesh: Mesh, shots: Sequence[Shot]) -> MeshPictures:
        """A PNG a shot, in order. Raises GuardError."""
        return self._guard.call(MeshRequest(mesh=mesh, shots=tuple(shots)), MeshPictures)

    def file(self, main: str, files: Mapping[str, bytes], shots: Sequence[Shot], *, up: str, most: int) -> MeshPictures:
        """The same for a mesh file. Raises GuardError with the reason for one that is refused."""
        request = FileRequest(main=main, files=dict(files), up=up, shots=tuple(shots), most=most)
        return self._guard.call(request, MeshPictures)


class MeshEngine:
    """Draws mesh files. `code` is the text of the main file where it is text, else "" and the file is in `files`."""

    name = "mesh"

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._renderer = MeshRenderer(limits)

    def open(self) -> None:
        self._renderer.open()

    def close(self) -> None:
        self._renderer.close()

    def environment(self) -> str:
        return self._renderer.environment()

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        rules = msgspec.json.decode(settings, type=MeshRules)
        held = {**files, rules.main: code.encode()} if code and rules.main else dict(files)
        main = rules.main or _only(held)
        if main not in held:
            raise GuardError("absent_file", f"{main!r} is not among the files")
        shot = Shot(**{field: getattr(rules, field) for field in Shot.__struct_fields__})
        pictures = self._renderer.file(main, held, [shot], up=_up(rules.up, main), most=rules.most)
        return drawing(pictures, shot)


def drawing(pictures: MeshPictures, shot: Shot) -> Drawing:
    """The first picture as engines give it."""
    return Drawing(
        payload=pictures.pngs[0], mime="image/png", width=shot.width, height=shot.height, facts=pictures.facts
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def _only(files: Mapping[str, bytes]) -> str:
    found = [name for name in files if posixpath.splitext(name.lower())[1] in MESHES]
    if len(found) != 1:
        raise GuardError("absent_file", f"{len(found)} mesh files; settings name none of them")
    return found[0]


def _up(up: str, main: str) -> str:
    if up != "auto":
        return up
    return "y" if posixpath.splitext(main.lower())[1] in (".glb", ".gltf", ".obj") else "z"
