"""The guarded CAD child: a script or a STEP file in, a picture and facts out; each request in a fork of its own."""

import cairocffi
import cairosvg
import numpy as np
from cairosvg import surface
from OCP.TopoDS import TopoDS_Face, TopoDS_Shape

from trivium.data.cad import features as found_features
from trivium.data.cad import step, tessellate, views
from trivium.data.cad.execute import execute
from trivium.data.cad.facts import facts, listed
from trivium.data.cad.features import Feature
from trivium.data.cad.mouths import rims
from trivium.data.cad.requests import CadAnswer, CadRequest, CadSettings
from trivium.data.cad.script import check
from trivium.data.cad.solid import Measures, measured, prove, unique_faces
from trivium.data.cad.step import Rgb
from trivium.data.pairs.facts import Facts
from trivium.data.scene.camera import Floats, place, view
from trivium.data.scene.shapes import Mesh, Surface
from trivium.errors import GuardError

# Letters as their outlines say, at the places that their widths say, whatever the machine prefers.
surface.TEXT_ANTIALIAS["plain"] = cairocffi.ANTIALIAS_GRAY
surface.TEXT_HINT_STYLE["plain"] = cairocffi.HINT_STYLE_NONE
surface.TEXT_HINT_METRICS["plain"] = cairocffi.HINT_METRICS_OFF


def work(request: CadRequest) -> list[CadAnswer]:
    """The task: an answer for each of the settings. Raises GuardError with the reason for what is refused."""
    shape, colors, title = _shape(request)
    found = measured(shape, min(settings.most_faces for settings in request.settings))
    for settings in request.settings:
        if settings.check and request.code:
            prove(shape, found, settings.grid)
    faces = unique_faces(shape)
    tessellate.mesh(shape, max(found.sides))
    pieces = [tessellate.triangles(face) for face in faces]
    points = [piece[0] for piece in pieces if piece is not None]
    if not points:
        raise GuardError("no_solid", "no face of it can be meshed")
    points_N3 = np.concatenate(points)
    around = found_features.features(shape, faces)
    round_axis = _round_axis(faces, around)
    flat = found_features.flat_faces_only(faces)
    answers = []
    for settings in request.settings:
        legible = views.written(around) if settings.written else ()
        told = facts(found, around, title=title, turned=round_axis >= 0, flat=flat, legible=legible)
        if settings.view == "shaded":
            answers.append(_shaded(settings, pieces, colors, around, told))
        else:
            drawn = _lines(shape, points_N3, found, around, settings, round_axis)
            answers.append(CadAnswer(facts=told, png=cairosvg.svg2png(bytestring=drawn.encode())))
    return answers


def _shape(request: CadRequest) -> tuple[TopoDS_Shape, list[Rgb | None], str]:
    if request.code:
        return execute(request.code), [], check(request.code).title
    read = step.read(request.file)
    return read.shape, read.colors, read.name


def _round_axis(faces: list[TopoDS_Face], around: list[Feature]) -> int:
    """The axis that a turned part turns about: 0, 1, 2; -1 when it is none or lies askew."""
    if not found_features.turned(faces) or not around:
        return -1
    return next((axis for axis in range(3) if abs(around[0].axis[axis]) > 0.999), -1)


def _lines(
    shape: TopoDS_Shape,
    points_N3: Floats,
    found: Measures,
    around: list[Feature],
    settings: CadSettings,
    round_axis: int,
) -> str:
    if settings.view == "drawing":
        return views.sheet(shape, points_N3, found, around, settings, round_axis)
    return views.single(shape, points_N3, found, around, settings)


def _shaded(
    settings: CadSettings,
    pieces: list[tessellate.Triangles | None],
    colors: list[Rgb | None],
    around: list[Feature],
    told: Facts,
) -> CadAnswer:
    """Each listed feature is a surface of its own, so that the renderer can say where it is seen."""
    named: dict[int, str] = {face: f"p{number}" for number, one in enumerate(listed(around)) for face in one.faces}
    groups: dict[tuple[str, Rgb | None], list[int]] = {}
    for number in range(len(pieces)):
        color = colors[number] if colors else None
        groups.setdefault((named.get(number, ""), color), []).append(number)
    surfaces: list[Surface] = []
    for (name, color), numbers in groups.items():
        made = tessellate.joined(pieces, numbers, name, color)
        if made is not None:
            surfaces.append(made)
    mesh = Mesh(surfaces=tuple(surfaces))
    shot = view(
        "isometric view",
        width=settings.width,
        height=settings.height,
        margin=1.12,
        background=_rgb(settings.paper),
        color=_rgb(settings.color),
    )
    camera = place(mesh.coordinates, shot)
    return CadAnswer(facts=told, mesh=mesh, shot=shot, rims=rims(around, camera, mesh))


def _rgb(color: str) -> Rgb:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
