"""What the builder and the guarded converter say to each other; imports no parser."""

import msgspec

TASK = "trivium.data.text.latex.convert:convert"


class LatexRequest(msgspec.Struct, frozen=True):
    text: str


class LatexText(msgspec.Struct, frozen=True):
    text: str
    title: str
