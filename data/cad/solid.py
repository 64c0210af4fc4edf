"""Whether a shape is a sound solid, and its exact measures; imported only inside the guarded child."""

import os
from collections.abc import Iterator

import msgspec
from OCP.Bnd import Bnd_Box
from OCP.BRep import BRep_Tool
from OCP.BRepBndLib import BRepBndLib
from OCP.BRepCheck import BRepCheck_Analyzer
from OCP.BRepGProp import BRepGProp
from OCP.GProp import GProp_GProps
from OCP.IFSelect import IFSelect_RetDone
from OCP.Message import Message, Message_Gravity
from OCP.STEPControl import STEPControl_AsIs, STEPControl_Reader, STEPControl_Writer
from OCP.TopAbs import TopAbs_EDGE, TopAbs_FACE, TopAbs_ShapeEnum, TopAbs_SHELL, TopAbs_SOLID
from OCP.TopExp import TopExp_Explorer
from OCP.TopoDS import TopoDS, TopoDS_Shape

from trivium.errors import GuardError

_SAME = 1e-6  # relative: volumes before and after a round trip
_WHOLE = 1e-4  # mm from a whole number
_SIDES = (0.01, 20_000.0)  # mm: sides of a bounding box beyond these are a mistake


# The exchange of files reports each step on standard output.
for _printer in Message.DefaultMessenger_s().Printers():
    _printer.SetTraceLevel(Message_Gravity.Message_Fail)


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Of the whole: mm, mm², mm³; `volume` None where some solid is not closed or not valid."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    volume: float | None
    area: float
    solids: int
    faces: int
    edges: int

    @property
    def sides(self) -> tuple[float, float, float]:
        x, y, z = (high - low for low, high in zip(self.low, self.high, strict=True))
        return x, y, z


def parts_of(shape: TopoDS_Shape, kind: TopAbs_ShapeEnum) -> Iterator[TopoDS_Shape]:
    found = TopExp_Explorer(shape, kind)
    while found.More():
        yield found.Current()
        found.Next()


def measured(shape: TopoDS_Shape, most_faces: int) -> Measures:
    """Raises GuardError `no_solid`, `too_large` (faces) or `bad_size`."""
    solids = list(parts_of(shape, TopAbs_SOLID))
    if not solids:
        raise GuardError("no_solid", "it holds no solid")
    faces = sum(1 for _ in parts_of(shape, TopAbs_FACE))
    if faces > most_faces:
        raise GuardError("too_large", f"{faces:,} faces, limit {most_faces:,}")
    box = Bnd_Box()
    BRepBndLib.AddOptimal_s(shape, box, False, False)
    if box.IsVoid() or box.IsOpen():
        raise GuardError("bad_size", "it is empty or has no end")
    low, high = box.CornerMin(), box.CornerMax()
    area = GProp_GProps()
    BRepGProp.SurfaceProperties_s(shape, area)
    found = Measures(
        low=(low.X(), low.Y(), low.Z()),
        high=(high.X(), high.Y(), high.Z()),
        volume=volume(shape) if not fault(shape) else None,
        area=area.Mass(),
        solids=len(solids),
        faces=faces,
        edges=sum(1 for _ in parts_of(shape, TopAbs_EDGE)) // 2,
    )
    if not all(_SIDES[0] <= side <= _SIDES[1] for side in found.sides):
        shown = " × ".join(f"{side:.4g}" for side in found.sides)
        raise GuardError("bad_size", f"{shown} mm; sides from {_SIDES[0]:g} to {_SIDES[1]:,.0f} mm are drawn")
    return found


def volume(shape: TopoDS_Shape) -> float:
    held = GProp_GProps()
    BRepGProp.VolumeProperties_s(shape, held)
    mass: float = held.Mass()
    return mass


def fault(shape: TopoDS_Shape) -> str:
    """Why the shape's solids are not sound; empty when they are."""
    if not BRepCheck_Analyzer(shape).IsValid():
        return "its geometry is not valid"
    for solid in parts_of(shape, TopAbs_SOLID):
        if not all(BRep_Tool.IsClosed_s(shell) for shell in parts_of(solid, TopAbs_SHELL)):
            return "a shell of it is open"
        if volume(solid) <= 0:
            return "it encloses no volume"
    return ""


def prove(shape: TopoDS_Shape, found: Measures, grid: str) -> None:
    """Raises GuardError `invalid_solid`, `round_trip` or `off_grid`."""
    if found.volume is None:
        raise GuardError("invalid_solid", fault(shape))
    for axis, side in zip("xyz", found.sides, strict=True):
        if axis in grid and abs(side - round(side)) > _WHOLE:
            raise GuardError("off_grid", f"{side:.6g} mm along {axis}, whole millimetres are promised")
    again = _round_trip(shape)
    why = fault(again)
    if why:
        raise GuardError("round_trip", f"read back from STEP: {why}")
    after = volume(again)
    if abs(after - found.volume) > _SAME * found.volume:
        raise GuardError("round_trip", f"volume {found.volume:.9g} mm³ became {after:.9g} by a round trip through STEP")


def _round_trip(shape: TopoDS_Shape) -> TopoDS_Shape:
    path = "round-trip.step"
    writer = STEPControl_Writer()
    if writer.Transfer(shape, STEPControl_AsIs) != IFSelect_RetDone or writer.Write(path) != IFSelect_RetDone:
        raise GuardError("round_trip", "it can't be written as STEP")
    reader = STEPControl_Reader()
    read = reader.ReadFile(path)
    os.unlink(path)
    if read != IFSelect_RetDone:
        raise GuardError("round_trip", "its STEP file can't be read back")
    reader.TransferRoots()
    again: TopoDS_Shape = reader.OneShape()
    return again


def unique_faces(shape: TopoDS_Shape) -> list[TopoDS_Shape]:
    return [TopoDS.Face(face) for face in parts_of(shape, TopAbs_FACE)]
