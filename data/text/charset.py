"""Bytes of a page to text: the declared encoding when it fits, else the detected one."""

import codecs
import re

_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META_WINDOW = 4096  # bytes; the HTML standard looks at 1,024, real pages are later


# The HTML standard's "binary data bytes" (MIME sniffing, section 3), and what decoders make of bytes without a meaning.
_JUNK = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")


def junk(text: str) -> float:
    """The share of control and replacement characters: next to none of a page, a tenth or more of other files."""
    return len(_JUNK.findall(text)) / max(1, len(text))


def decode_page(body: bytes, mime: str = "") -> tuple[str, str]:
    """(text, encoding name) of a page; never fails.

    Order: byte-order mark, the HTTP header's charset in `mime`, the page's meta element, UTF-8, then detection. A
    declared encoding that does not decode the bytes is passed over.
    """
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    for bom, name in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, "replace"), name
    for name in (*_declared(body, mime), "utf-8"):
        try:
            return body.decode(name), name
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    name = detect_encoding(body, html5_compatible=True) or "windows-1252"
    return bytes_to_str(body, name, errors="replace"), name


def _declared(body: bytes, mime: str) -> list[str]:
    """Encodings that the header and the page name, as Python knows them, by the HTML standard's aliases."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    names = []
    header = _HEADER.search(mime)
    if header:
        names.append(header[1])
    meta = _META.search(body[:_META_WINDOW])
    if meta:
        names.append(meta[1].decode("ascii"))
    mapped = [map_encoding_to_html5(name, fallback_utf8=False) for name in names]
    # A meta element that could be read as ASCII can't be UTF-16: the standard says to read it as UTF-8.
    return ["utf-8" if name.lower().startswith("utf-16") else name for name in mapped if name]
