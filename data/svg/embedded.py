"""The size of an embedded PNG or JPEG, read from its header without decoding a pixel."""

import base64
import binascii
import re
import struct

from trivium.data.svg.policy import SvgRefusedError

_DATA = re.compile(r"data:image/(png|jpeg|jpg);base64,([A-Za-z0-9+/=\s]*)\Z", re.IGNORECASE)
_MOST_PIXELS = 1 << 20
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # JPEG start-of-frame markers


def canonical(uri: str, limit: int) -> str:
    """The data URI of a PNG or JPEG of at most `limit` bytes and 2^20 pixels. Raises SvgRefusedError."""
    match = _DATA.match(uri.strip())
    if match is None:
        raise SvgRefusedError("embedded_image", f"not a base64 PNG or JPEG: {uri.strip()[:40]!r}")
    try:
        raw = base64.b64decode("".join(match[2].split()), validate=True)
    except (binascii.Error, ValueError):
        raise SvgRefusedError("embedded_image", "broken base64") from None
    if len(raw) > limit:
        raise SvgRefusedError("embedded_image", f"{len(raw)} bytes, {limit} allowed")
    kind = "png" if match[1].lower() == "png" else "jpeg"
    size = _png(raw) if kind == "png" else _jpeg(raw)
    if size is None or not 0 < size[0] * size[1] <= _MOST_PIXELS:
        raise SvgRefusedError("embedded_image", f"{kind} of size {size}, {_MOST_PIXELS} pixels allowed")
    return f"data:image/{kind};base64,{base64.b64encode(raw).decode()}"


def _png(raw: bytes) -> tuple[int, int] | None:
    if raw[:8] != b"\x89PNG\r\n\x1a\n" or raw[12:16] != b"IHDR" or len(raw) < 24:
        return None
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while raw[:2] == b"\xff\xd8" and at + 9 <= len(raw) and raw[at] == 0xFF:
        if raw[at + 1] in _FRAMES:
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        at += 2 + max(2, struct.unpack(">H", raw[at + 2 : at + 4])[0])
    return None
