"""What the builder and the guarded reader say to each other; imports no PDFium."""

import msgspec

TASK = "trivium.data.text.pdf.read:read"


class PdfRequest(msgspec.Struct, frozen=True):
    body: bytes
    max_pages: int


class PdfText(msgspec.Struct, frozen=True):
    """`pages` in all, of which `blank` have no text; `title` as the file states it."""

    text: str
    title: str
    pages: int
    blank: int
