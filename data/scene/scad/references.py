"""Which files OpenSCAD code names: use <…>, include <…>, and strings that look like a file to import."""

import re
from collections.abc import Iterator

from trivium.data.scene.scad.tokens import tokens

_CODE = re.compile(r"(?<![\w$])(?:use|include)\s*<([^<>\n]+)>")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_IMPORTED = (".stl", ".off", ".dxf", ".svg", ".amf", ".3mf", ".png", ".dat", ".csg", ".txt", ".json")


def references(code: str) -> Iterator[str]:
    """Names as written. A string is taken for a file by its ending alone, since its call may be far away."""
    for found in _CODE.finditer(_COMMENT.sub(" ", code)):
        yield found[1].strip()
    for token in tokens(code):
        if token.kind == "string" and token.text[1:-1].lower().endswith(_IMPORTED):
            yield token.text[1:-1]
