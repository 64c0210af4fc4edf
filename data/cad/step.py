"""STEP files read with their colours and names; imported only inside the guarded child."""

import os
import re

import msgspec
from OCP.collections import Sequence_TDF_Label
from OCP.IFSelect import IFSelect_RetDone
from OCP.Quantity import Quantity_Color, Quantity_TOC_sRGB
from OCP.STEPCAFControl import STEPCAFControl_Reader
from OCP.TCollection import TCollection_ExtendedString
from OCP.TDocStd import TDocStd_Document
from OCP.TopAbs import TopAbs_SOLID
from OCP.TopLoc import TopLoc_Location
from OCP.TopoDS import TopoDS_Shape
from OCP.XCAFDoc import XCAFDoc_DocumentTool
from OCP.XCAFPrs import XCAFPrs

from trivium.data.cad.solid import parts_of, unique_faces
from trivium.errors import GuardError

Rgb = tuple[int, int, int]
_SCHEMA = re.compile(rb"ISO-10303-21\s*;")
_PRODUCT = re.compile(rb"\bPRODUCT\s*\(\s*'([^']{1,80})'")


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """`colors`: of each face in the shape's order, None where the file gives none; `name`: the first product's."""

    shape: TopoDS_Shape
    colors: list[Rgb | None]
    name: str


def read(payload: bytes) -> Read:
    """Raises GuardError `broken` for a file that is no STEP or can't be read, `no_solid` for one without solids."""
    if not _SCHEMA.search(payload[:4096]):
        raise GuardError("broken", "no STEP file: it does not begin with ISO-10303-21")
    path = "part.step"
    with open(path, "wb") as file:
        file.write(payload)
    document = TDocStd_Document(TCollection_ExtendedString("XmlXCAF"))
    reader = STEPCAFControl_Reader()
    reader.SetColorMode(True)
    reader.SetNameMode(True)
    done = reader.ReadFile(path) == IFSelect_RetDone and reader.Transfer(document)
    os.unlink(path)
    if not done:
        raise GuardError("broken", "the STEP reader gave up")
    tool = XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    labels = Sequence_TDF_Label()
    tool.GetFreeShapes(labels)
    shapes = [tool.GetShape_s(labels.Value(number)) for number in range(1, labels.Length() + 1)]
    if not any(True for shape in shapes for _ in parts_of(shape, TopAbs_SOLID)):
        raise GuardError("no_solid", f"{len(shapes)} shapes, none of them solid")
    shape = shapes[0] if len(shapes) == 1 else _together(shapes)
    return Read(shape=shape, colors=_colors(labels, shape), name=_name(payload))


def _together(shapes: list[TopoDS_Shape]) -> TopoDS_Shape:
    from OCP.BRep import BRep_Builder
    from OCP.TopoDS import TopoDS_Compound

    whole, builder = TopoDS_Compound(), BRep_Builder()
    builder.MakeCompound(whole)
    for shape in shapes:
        builder.Add(whole, shape)
    return whole


def _colors(labels: Sequence_TDF_Label, shape: TopoDS_Shape) -> list[Rgb | None]:
    """The style nearest to each face: its own, its solid's, its part's."""
    from OCP.collections import IndexedDataMap_TopoDS_Shape_XCAFPrs_Style_TopTools_ShapeMapHasher as Styles

    styles = Styles()
    for number in range(1, labels.Length() + 1):
        XCAFPrs.CollectStyleSettings_s(labels.Value(number), TopLoc_Location(), styles)
    by_face: dict[int, Rgb | None] = {}
    order = unique_faces(shape)
    for depth in (0, 1):  # wholes first, faces last: the nearer one wins
        for number in range(1, styles.Extent() + 1):
            styled = styles.FindKey(number)
            inner = unique_faces(styled)
            if (len(inner) == 1) != (depth == 1):
                continue
            style = styles.FindFromIndex(number)
            if style.IsSetColorSurf():
                color = _rgb(style.GetColorSurf())
                for face in inner:
                    by_face[hash(face)] = color
    return [by_face.get(hash(face)) for face in order]


def _rgb(color: Quantity_Color) -> Rgb:
    red, green, blue = color.Values(Quantity_TOC_sRGB)
    return round(red * 255), round(green * 255), round(blue * 255)


def _name(payload: bytes) -> str:
    found = _PRODUCT.search(payload)
    text = found.group(1).decode("ascii", "replace").strip() if found else ""
    return text if text.isprintable() and "\ufffd" not in text else ""
