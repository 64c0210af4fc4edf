"""PDF bytes → lines with their places, by PDFium; imported only inside a guarded child."""

import ctypes
from collections.abc import Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw as pdfium

from trivium.data.text.pdf.layout import BROKEN, Line, text_of
from trivium.data.text.pdf.requests import PdfRequest, PdfText
from trivium.errors import GuardError

_WIDE = 2.2  # times the letters' size, from which a gap parts two cells
_LETTER = 0.5  # of its size, the width of a letter
_REASONS = {pdfium.FPDF_ERR_PASSWORD: "encrypted", pdfium.FPDF_ERR_SECURITY: "encrypted"}


def read(request: PdfRequest) -> PdfText:
    """The guarded task. Raises GuardError: `encrypted`, `damaged`, `too_many_pages`."""
    try:
        document = pypdfium2.PdfDocument(request.body)
    except pypdfium2.PdfiumError as error:
        reason = _REASONS.get(getattr(error, "err_code", None), "damaged")
        raise GuardError(reason, str(error)) from None
    count = len(document)
    if count > request.max_pages:
        raise GuardError("too_many_pages", f"{count:,} pages, limit {request.max_pages:,}")
    pages = []
    for number in range(count):
        try:
            page = document[number]
        except pypdfium2.PdfiumError as error:
            raise GuardError("damaged", f"page {number + 1} of {count}: {error}") from None
        pages.append(list(_lines(page.get_textpage())))
        page.close()
    title = document.get_metadata_value("Title")
    return PdfText(text_of(pages), title, count, sum(not page for page in pages))


def _lines(page: Any) -> Iterator[Line]:
    text, count = page.get_text_range(), page.count_chars()
    if len(text) != count:  # some letters are two characters, others none: then each is asked for
        text = "".join(_character(pdfium.FPDFText_GetUnicode(page, index)) for index in range(count))
    at = 0
    for part in text.split("\r\n"):
        if part.strip(f" \t\xa0{BROKEN}"):
            yield from _line(page.raw, part, at)
        at += len(part) + 2


def _character(code: int) -> str:
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"


def _line(page: Any, text: str, at: int) -> Iterator[Line]:
    """A line of PDFium may go on over several of the page, where a word was broken: taken apart behind the mark."""
    x, y = ctypes.c_double(), ctypes.c_double()
    cells: list[tuple[str, float, float]] = []
    word, left, last, baseline, size = "", 0.0, 0.0, 0.0, 0.0
    for index, letter in enumerate(text):
        if letter in " \t\xa0\r\n":
            word += " " if word else ""
            continue
        if letter == BROKEN:  # drawn as a hyphen; what follows is the next line
            yield Line((*cells, (word + BROKEN, left, last)), baseline, size)
            cells, word, size = [], "", 0.0
            continue
        pdfium.FPDFText_GetCharOrigin(page, at + index, x, y)
        if not word and not cells:
            size = max(1.0, pdfium.FPDFText_GetFontSize(page, at + index))
            left, baseline = x.value, y.value
        elif x.value - last > _WIDE * size and abs(y.value - baseline) < size:
            cells.append((word.strip(), left, last))
            word, left = "", x.value
        word += letter
        last = x.value + _LETTER * size
    if word:
        cells.append((word.strip(), left, last))
    if cells:
        yield Line(tuple(cells), baseline, size)
