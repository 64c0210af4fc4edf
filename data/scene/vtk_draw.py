"""Triangles to pixels through VTK, without a display; imported only inside a guarded child.

Odd: all pictures share one window, and each has a renderer of its own, so nothing of one scene is there for the next.
More samples a pixel are drawn as a larger picture and averaged here: the driver's own antialiasing is not the same
everywhere.
"""

# N points, F faces, H height, W width

import dataclasses
import functools
import io
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkImageData, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkCleanPolyData, vtkPolyDataNormals
from vtkmodules.vtkRenderingCore import (
    vtkActor,
    vtkLight,
    vtkPolyDataMapper,
    vtkRenderer,
    vtkRenderWindow,
    vtkTexture,
    vtkWindowToImageFilter,
)
from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLRenderer  # noqa: F401  the factory of all of the above

from trivium.data.scene.camera import Camera, Floats, Shot, place
from trivium.data.scene.shapes import Mesh, Surface
from trivium.data.scene.sharp import sharp_edges

Pixels = NDArray[np.uint8]
_SHARP = 30.0  # degrees between two faces from which their edge counts as one
_SAME = 2e-5  # of the mesh's radius: files round their numbers, and points nearer than this were one
_THIN = 4e-5  # likewise: a triangle that is less high may be nothing but rounding
_FARTHEST = 60  # grey of the farthest point in a picture of depth; the nearest is 255
# Lights by azimuth and height beside the camera: position in its frame, strength. They add up to about 1.
_LIGHTS = (((-0.7, 1.0, 1.2), 0.85), ((1.0, 0.1, 0.8), 0.35), ((0.1, -0.8, 0.9), 0.15))
_AMBIENT = 0.18


def png(pixels_HW3: Pixels) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels_HW3).save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()


def about() -> str:
    """The graphics driver and its version: with another one pixels may differ."""
    window = vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetSize(16, 16)
    window.AddRenderer(vtkRenderer())
    window.Render()
    told = dict(line.split(":", 1) for line in window.ReportCapabilities().splitlines() if ":" in line)
    window.Finalize()
    return ", ".join(told.get(f"OpenGL {key} string", "unknown").strip() for key in ("renderer", "version"))


def draw(mesh: Mesh, shot: Shot) -> Pixels:
    """[H, W, 3] of what the shot shows. Raises ValueError for a mesh without finite points."""
    camera = place(mesh.coordinates, shot)
    if shot.shows == "depth":
        return _depth_picture(depth(mesh, camera), camera)
    times = shot.samples
    window = _window(mesh, camera, times, flat=shot.shows == "normals")
    wide_HW3 = _color(window).astype(np.uint32)
    height, width = shot.height, shot.width
    sums_HW3 = wide_HW3.reshape(height, times, width, times, 3).sum((1, 3))
    mean_HW3: Pixels = ((2 * sums_HW3 + times * times) // (2 * times * times)).astype(np.uint8)
    return mean_HW3


def depth(mesh: Mesh, camera: Camera) -> Floats:
    """[H, W], distance in front of the camera in its frame; inf where nothing is."""
    window = _window(mesh, camera, 1, flat=True)
    taken = vtkWindowToImageFilter()
    taken.SetInput(window)
    taken.SetInputBufferTypeToZBuffer()
    taken.ReadFrontBufferOff()
    taken.Update()
    values_HW = _array(taken.GetOutput())[..., 0].astype(np.float64)
    low, high = window.GetRenderers().GetFirstRenderer().GetActiveCamera().GetClippingRange()
    if camera.shot.projection == "perspective":
        distance_HW = low * high / (high - values_HW * (high - low))
    else:
        distance_HW = low + values_HW * (high - low)
    return np.where(values_HW >= 1.0, np.inf, distance_HW)


def visible(mesh: Mesh, camera: Camera) -> NDArray[np.int64]:
    """[H, W]: which surface each pixel shows, -1 for none."""
    named = tuple(_numbered(part, number) for number, part in enumerate(mesh.surfaces))
    dark = dataclasses.replace(camera, shot=msgspec.structs.replace(camera.shot, background=(0, 0, 0)))
    window = _window(Mesh(surfaces=named), dark, 1, flat=True)
    codes_HW3 = _color(window).astype(np.int64)
    numbers_HW: NDArray[np.int64] = codes_HW3[..., 0] + (codes_HW3[..., 1] << 8) + (codes_HW3[..., 2] << 16) - 1
    return numbers_HW


def _numbered(part: Surface, number: int) -> Surface:
    code = number + 1
    return Surface(points=part.points, faces=part.faces, color=(code & 255, code >> 8 & 255, code >> 16 & 255))


def _window(mesh: Mesh, camera: Camera, times: int, *, flat: bool) -> vtkRenderWindow:
    """A rendered window; `flat`: no light, no edges, as for depth, normals and numbers of surfaces."""
    shot = camera.shot
    window = _kept_window()
    while (before := window.GetRenderers().GetFirstRenderer()) is not None:
        window.RemoveRenderer(before)
    window.SetSize(shot.width * times, shot.height * times)
    renderer = vtkRenderer()
    black = (0, 0, 0) if flat and shot.shows != "shaded" else shot.background
    renderer.SetBackground(*(value / 255 for value in black))
    renderer.SetTwoSidedLighting(True)
    renderer.RemoveAllLights()
    renderer.SetAutomaticLightCreation(0)
    window.AddRenderer(renderer)
    for part in mesh.surfaces:
        _add(renderer, part, camera, times, flat=flat)
    _aim(renderer, camera)
    for position, strength in _LIGHTS:
        light = vtkLight()
        light.SetLightTypeToCameraLight()
        light.SetPosition(*position)
        light.SetFocalPoint(0, 0, 0)
        light.SetIntensity(strength)
        renderer.AddLight(light)
    window.Render()
    return window


@functools.cache
def _kept_window() -> vtkRenderWindow:
    """One for all pictures: a new one has the driver compile its shaders again, which takes longer than drawing."""
    window = vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)
    return window


def _aim(renderer: vtkRenderer, camera: Camera) -> None:
    eye, toward, up = camera.eye_3, camera.axes_33[2], camera.axes_33[1]
    aimed = renderer.GetActiveCamera()
    aimed.SetPosition(*eye)
    aimed.SetFocalPoint(*(eye - toward))
    aimed.SetViewUp(*up)
    if camera.shot.projection == "perspective":
        aimed.SetViewAngle(camera.shot.field)
    else:
        aimed.ParallelProjectionOn()
        aimed.SetParallelScale(camera.half)
    room = (camera.far - camera.near) * 0.01 + 1e-4
    aimed.SetClippingRange(max(camera.near - room, camera.far * 1e-4), camera.far + room)


def _add(renderer: vtkRenderer, part: Surface, camera: Camera, times: int, *, flat: bool) -> None:
    if not len(part.faces):
        return
    data = _polydata(part, camera)
    normals = flat and camera.shot.shows == "normals"
    if normals:
        _paint_normals(data, part, camera)
    mapper, actor = vtkPolyDataMapper(), vtkActor()
    look = actor.GetProperty()
    look.SetColor(*(value / 255 for value in part.color or camera.shot.color))
    mapper.SetScalarVisibility(bool(data.GetPointData().GetScalars() or data.GetCellData().GetScalars()))
    if flat:
        look.LightingOff()
        look.SetInterpolationToFlat()
        mapper.SetInputData(data)
    else:
        look.SetAmbient(_AMBIENT)
        look.SetDiffuse(1.0 - _AMBIENT / 2)
        look.SetSpecular(0.12)
        look.SetSpecularPower(24)
        mapper.SetInputData(_smooth(data))
        if part.texture:
            actor.SetTexture(_texture(part))
    actor.SetMapper(mapper)
    if camera.shot.edges and not flat:
        mapper.SetResolveCoincidentTopologyToPolygonOffset()
        mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(1.0, 1.0)
        renderer.AddActor(_edges(data, times))
    renderer.AddActor(actor)


def _polydata(part: Surface, camera: Camera) -> vtkPolyData:
    points_N3, faces_F3 = camera.to_frame(part.coordinates), part.triangles
    data, points, cells = vtkPolyData(), vtkPoints(), vtkCellArray()
    points.SetData(_values(np.ascontiguousarray(points_N3, np.float32)))
    cells.SetData(3, _indices(np.ascontiguousarray(faces_F3.ravel(), np.int64)))
    data.SetPoints(points)
    data.SetPolys(cells)
    if part.colors:
        colors = np.frombuffer(part.colors, np.uint8).reshape(-1, 3)
        holder = data.GetPointData() if len(colors) == len(points_N3) else data.GetCellData()
        holder.SetScalars(_values(colors))
    if part.texture and part.uv:
        uv = np.frombuffer(part.uv, "<f4").reshape(-1, 2)
        data.GetPointData().SetTCoords(_values(uv))
    return data


def _paint_normals(data: vtkPolyData, part: Surface, camera: Camera) -> None:
    corners_F33 = part.coordinates[part.triangles]
    normals_F3 = np.cross(corners_F33[:, 1] - corners_F33[:, 0], corners_F33[:, 2] - corners_F33[:, 0])
    lengths_F = np.linalg.norm(normals_F3, axis=1, keepdims=True)
    seen_F3 = (normals_F3 / np.where(lengths_F > 0, lengths_F, 1.0)) @ camera.axes_33.T
    middle_F3 = camera.to_frame(corners_F33.mean(1)) - camera.eye_3
    away_F = (
        np.einsum("fi,fi->f", normals_F3, middle_F3) > 0
        if camera.shot.projection == "perspective"
        else seen_F3[:, 2] < 0
    )
    seen_F3 = np.where(away_F[:, None], -seen_F3, seen_F3)
    painted = np.rint((seen_F3 + 1) * 127.5).astype(np.uint8)
    data.GetPointData().SetScalars(None)
    data.GetCellData().SetScalars(_values(painted))


def _smooth(data: vtkPolyData) -> vtkPolyData:
    """The mesh with normals at its points, split where an edge is sharp; files often split all points, so they meet."""
    joined: vtkPolyData = data if _carries(data) else _joined(data)
    normals = vtkPolyDataNormals()
    normals.SetInputData(joined)
    normals.SetFeatureAngle(_SHARP)
    normals.ConsistencyOff()
    normals.NonManifoldTraversalOff()
    normals.Update()
    smooth: vtkPolyData = normals.GetOutput()
    return smooth


def _carries(data: vtkPolyData) -> bool:
    return bool(data.GetPointData().GetTCoords() or data.GetPointData().GetScalars())


def _joined(data: vtkPolyData) -> vtkPolyData:
    clean = vtkCleanPolyData()
    clean.SetInputData(data)
    clean.ToleranceIsAbsoluteOn()
    clean.SetAbsoluteTolerance(_SAME)
    clean.ConvertPolysToLinesOff()
    clean.ConvertStripsToPolysOff()
    clean.ConvertLinesToPointsOff()
    clean.Update()
    joined: vtkPolyData = clean.GetOutput()
    return joined


def _edges(data: vtkPolyData, times: int) -> vtkActor:
    joined = _joined(data)
    points_N3 = vtk_to_numpy(joined.GetPoints().GetData()).astype(np.float64)
    faces_F3 = vtk_to_numpy(joined.GetPolys().GetConnectivityArray()).astype(np.int64).reshape(-1, 3)
    edges_E2 = sharp_edges(points_N3, faces_F3, _SHARP, _THIN)
    drawn, lines = vtkPolyData(), vtkCellArray()
    lines.SetData(2, _indices(np.ascontiguousarray(edges_E2.ravel())))
    drawn.SetPoints(joined.GetPoints())
    drawn.SetLines(lines)
    mapper, actor = vtkPolyDataMapper(), vtkActor()
    mapper.SetInputData(drawn)
    mapper.ScalarVisibilityOff()
    actor.SetMapper(mapper)
    look = actor.GetProperty()
    look.SetColor(0.13, 0.15, 0.18)
    look.SetLineWidth(float(times))
    look.LightingOff()
    return actor


def _texture(part: Surface) -> vtkTexture:
    wide, high = part.texture_size
    pixels = np.frombuffer(part.texture, np.uint8).reshape(high, wide, 3)[::-1]
    image = vtkImageData()
    image.SetDimensions(wide, high, 1)
    image.GetPointData().SetScalars(_values(np.ascontiguousarray(pixels).reshape(-1, 3)))
    texture = vtkTexture()
    texture.SetInputData(image)
    texture.InterpolateOn()
    texture.MipmapOn()
    texture.RepeatOn()
    return texture


def _values(array: NDArray[Any]) -> Any:
    """VTK's own copy of numbers."""
    return numpy_to_vtk(array, deep=True)


def _indices(array: NDArray[np.int64]) -> Any:
    return numpy_to_vtkIdTypeArray(array, deep=True)


def _color(window: vtkRenderWindow) -> Pixels:
    taken = vtkWindowToImageFilter()
    taken.SetInput(window)
    taken.SetInputBufferTypeToRGB()
    taken.ReadFrontBufferOff()
    taken.Update()
    pixels_HW3: Pixels = _array(taken.GetOutput())
    return pixels_HW3


def _array(image: vtkImageData) -> Any:
    """Rows from the top."""
    width, height, _ = image.GetDimensions()
    values = vtk_to_numpy(image.GetPointData().GetScalars())
    return values.reshape(height, width, -1)[::-1]


def _depth_picture(distance_HW: Floats, camera: Camera) -> Pixels:
    seen = np.isfinite(distance_HW)
    share_HW = np.clip((np.where(seen, distance_HW, camera.near) - camera.near) / (camera.far - camera.near), 0, 1)
    grey_HW = np.where(seen, np.rint(255 - share_HW * (255 - _FARTHEST)), 0).astype(np.uint8)
    return np.repeat(grey_HW[..., None], 3, axis=2)
