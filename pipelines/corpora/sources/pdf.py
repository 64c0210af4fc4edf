"""Folders of PDF files."""

from trivium.data.stage import Content
from trivium.pipelines.corpora.sources.packed import Packed


class PdfFolder(Packed, kw_only=True, tag="pdf_folder"):
    """PDF files below a folder or in archives."""

    GIVES = Content.PDF

    suffixes: tuple[str, ...] = (".pdf",)
    max_bytes: int = 64 << 20
    mime: str = "application/pdf"
