"""Bytes to text: by mark, by the declared encoding when it fits, repaired where two were mixed, else detected."""

import codecs
import contextlib
import re
from collections.abc import Sequence

import numpy as np

_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16's does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META_WINDOW = 4096  # bytes; the HTML standard looks at 1,024, real pages are later
_WIDE_WINDOW = 4096
_NO_CHANCE = 3  # characters beyond ASCII that are valid UTF-8
_STRAYS = 3  # characters of UTF-8 to each stray byte from which a text is UTF-8 at heart
_SHIFTED = re.compile(rb"\x1b\$(?:[@B]|\)C|\([@BD])")  # ISO 2022: into the Japanese or Korean set
_BEYOND = re.compile(r"[^\x00-\x7f]")


# The HTML standard's "binary data bytes" (MIME sniffing, section 3), and what decoders make of bytes without a meaning.
_SPACE, _DELETE, _C1_END = (np.uint8(value) for value in (0x20, 0x7F, 0xA0))
_MEANT = tuple(np.uint8(value) for value in b"\t\n\f\r\x1b\x85")  # controls that are no junk


def junk(text: str) -> float:
    """The share of control and replacement characters: next to none of a page, a tenth or more of other files."""
    payload = text.encode("latin-1", "replace")  # all others become question marks
    codes = np.frombuffer(payload, dtype=np.uint8)
    found = int(np.count_nonzero(codes < _SPACE)) + int(np.count_nonzero(codes - _DELETE < _C1_END - _DELETE))
    found -= sum(int(np.count_nonzero(codes == byte)) for byte in _MEANT)
    return (found + text.count("\ufffd")) / max(1, len(text))


def decode_page(body: bytes, mime: str = "") -> tuple[str, str]:
    """(text, encoding name) of a page; never fails. `mime` (HTTP) and the page's own meta element declare charsets."""
    return decode(body, _declared(body, mime))


def decode(body: bytes, declared: Sequence[str] = ()) -> tuple[str, str]:
    """(text, encoding name) of any text; never fails.

    Order: byte-order mark; ISO 2022 by its escapes; UTF-16 by its NULs; UTF-8 that is no chance (all of the bytes,
    several characters beyond ASCII), whatever was declared; what is `declared` and decodes all; UTF-8 with single bytes
    of windows-1252 among it (files that were joined); detection.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return _mixed(body[len(bom) :]) if name == "utf-8" else (body[len(bom) :].decode(name, "replace"), name)
    if shifted := _SHIFTED.search(body):
        name = "iso2022_kr" if shifted[0].endswith(b")C") else "iso2022_jp_2"
        with contextlib.suppress(UnicodeDecodeError):
            return body.decode(name), name
    wide = _wide(body)
    if wide:
        return body.decode(wide, "replace"), wide
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and (not declared or _is_no_chance(body, text)):
        return text, "utf-8"
    for name in declared:
        try:
            return body.decode(name), name
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    if text is not None:
        return text, "utf-8"
    return _repaired(body)


def _repaired(body: bytes) -> tuple[str, str]:
    """No encoding that was declared decodes all of it, nor does UTF-8."""
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    text, name = _mixed(body)
    if _strays(body) * _STRAYS <= _beyond_ascii(text):
        return text, name
    name = detect_encoding(body, html5_compatible=True) or "windows-1252"
    return bytes_to_str(body, name, errors="replace"), name


def _mixed(body: bytes) -> tuple[str, str]:
    """UTF-8 whose stray bytes are read as windows-1252."""
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError:
        return body.decode("utf-8", "trivium.windows-1252"), "utf-8+windows-1252"


def _western(error: UnicodeError) -> tuple[str, int]:
    """A codec error handler; see `_mixed`."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("windows-1252", "replace"), error.end


codecs.register_error("trivium.windows-1252", _western)


def _strays(body: bytes) -> int:
    """Bytes that are no part of UTF-8."""
    return len(body) - len(body.decode("utf-8", "ignore").encode())


def _beyond_ascii(text: str) -> int:
    return 0 if text.isascii() else len(_BEYOND.findall(text))


def _is_no_chance(body: bytes, text: str) -> bool:
    """Whether bytes that are UTF-8 have enough characters beyond ASCII, each of two to four bytes, to be just that."""
    more = len(body) - len(text)
    if more < _NO_CHANCE or more >= 3 * _NO_CHANCE:
        return more >= _NO_CHANCE
    return _beyond_ascii(text) >= _NO_CHANCE


def _wide(body: bytes) -> str:
    """UTF-16 without a mark: every other byte of text in most scripts' first pages is NUL."""
    head = body[:_WIDE_WINDOW]
    half = len(head) // 2
    if half < 8 or head.count(0) < half // 2:
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > half // 2 and even * 50 < odd:
        return "utf-16-le"
    return "utf-16-be" if even > half // 2 and odd * 50 < even else ""


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
