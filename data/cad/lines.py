"""Solids as lines by hidden-line removal; imported only inside the guarded child.

Odd: the exact algorithm takes seconds where a solid has hundreds of faces; there the one that works on triangles is
used, whose curves are polygons. Which of the two depends on the number of faces alone.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
from OCP.BRepAdaptor import BRepAdaptor_Curve
from OCP.BRepLib import BRepLib
from OCP.GCPnts import GCPnts_TangentialDeflection
from OCP.GeomAbs import GeomAbs_Line
from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt
from OCP.HLRAlgo import HLRAlgo_Projector
from OCP.HLRBRep import HLRBRep_Algo, HLRBRep_HLRToShape, HLRBRep_PolyAlgo, HLRBRep_PolyHLRToShape
from OCP.TopAbs import TopAbs_EDGE, TopAbs_FACE
from OCP.TopExp import TopExp_Explorer
from OCP.TopoDS import TopoDS, TopoDS_Edge, TopoDS_Shape

from trivium.data.cad.strokes import Point, Stroke, tidy
from trivium.data.scene.camera import Floats

EXACT_FACES = 160  # up to so many the exact algorithm is used
_ANGLE = 0.12  # radians between points of a curve


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """Strokes in millimetres, x to the right and y up, as seen. `smooth`: where two faces meet without an edge."""

    visible: list[Stroke]
    smooth: list[Stroke]
    hidden: list[Stroke]


def project(shape: TopoDS_Shape, axes_33: Floats, size: float, *, hidden: bool = True) -> Lines:
    """What is seen along the camera's axes (right, up, towards who looks); the shape must carry triangles.

    `size`: the shape's largest side, from which the fineness of curves follows.
    """
    right, toward = axes_33[0], axes_33[2]
    plane = gp_Ax2(gp_Pnt(0, 0, 0), gp_Dir(*map(float, toward)), gp_Dir(*map(float, right)))
    found = (_exact if _faces(shape) <= EXACT_FACES else _coarse)(shape, HLRAlgo_Projector(plane), hidden)
    fine = size / 1000
    outlines = [points for kind in ("sharp", "outline") for points in _points(found[kind], fine)]
    visible = tidy(outlines)
    return Lines(
        visible=visible,
        smooth=tidy(_points(found["smooth"], fine), under=visible),
        hidden=tidy(_points(found["hidden"], fine), under=visible) if hidden else [],
    )


def _faces(shape: TopoDS_Shape) -> int:
    found, faces = 0, TopExp_Explorer(shape, TopAbs_FACE)
    while faces.More():
        found += 1
        faces.Next()
    return found


_Found = dict[str, list[TopoDS_Shape]]


def _exact(shape: TopoDS_Shape, projector: HLRAlgo_Projector, hidden: bool) -> _Found:
    algorithm = HLRBRep_Algo()
    algorithm.Add(shape)
    algorithm.Projector(projector)
    algorithm.Update()
    algorithm.Hide()
    return _sorted(HLRBRep_HLRToShape(algorithm), hidden)


def _coarse(shape: TopoDS_Shape, projector: HLRAlgo_Projector, hidden: bool) -> _Found:
    algorithm = HLRBRep_PolyAlgo()
    algorithm.Load(shape)
    algorithm.Projector(projector)
    algorithm.Update()
    result = HLRBRep_PolyHLRToShape()
    result.Update(algorithm)
    return _sorted(result, hidden)


def _sorted(result: HLRBRep_HLRToShape | HLRBRep_PolyHLRToShape, hidden: bool) -> _Found:
    found = {
        "sharp": [result.VCompound()],
        "outline": [result.OutLineVCompound()],
        "smooth": [result.Rg1LineVCompound()],
        "hidden": [result.HCompound(), result.OutLineHCompound()] if hidden else [],
    }
    return {
        kind: [shape for shape in shapes if shape is not None and not shape.IsNull()] for kind, shapes in found.items()
    }


def _points(shapes: list[TopoDS_Shape], fine: float) -> Iterator[list[Point]]:
    for shape in shapes:
        BRepLib.BuildCurves3d_s(shape)
        edges = TopExp_Explorer(shape, TopAbs_EDGE)
        while edges.More():
            yield _sampled(TopoDS.Edge(edges.Current()), fine)
            edges.Next()


def _sampled(edge: TopoDS_Edge, fine: float) -> list[Point]:
    curve = BRepAdaptor_Curve(edge)
    first, last = curve.FirstParameter(), curve.LastParameter()
    if not np.isfinite([first, last]).all() or abs(last - first) > 1e9:
        return []
    if curve.GetType() == GeomAbs_Line:
        points = [curve.Value(first), curve.Value(last)]
    else:
        sampled = GCPnts_TangentialDeflection(curve, _ANGLE, fine)
        points = [sampled.Value(number) for number in range(1, sampled.NbPoints() + 1)]
    return [(point.X(), point.Y()) for point in points]
