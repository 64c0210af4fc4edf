"""The files that a clean page keeps, under short names of their own; pictures are read and written anew."""

import io
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from trivium.data.web.clean.collected import CleanRules
from trivium.data.web.serving import path_of

if TYPE_CHECKING:
    from PIL import Image

_PICTURES = {"PNG": "png", "JPEG": "jpg", "WEBP": "png", "GIF": "png", "BMP": "png", "ICO": "png"}
_FONTS = {b"wOF2": "woff2", b"wOFF": "woff", b"\0\1\0\0": "ttf", b"OTTO": "otf"}
_PIXELS = 100_000_000  # more are not decoded
_SIDE = 1600  # pixels of a kept picture's longer side


class Files:
    """`name` gives the short name of an address that the page's own folder holds; what it gives is in `kept`."""

    def __init__(self, files: dict[str, bytes], rules: CleanRules) -> None:
        self._files, self._rules = files, rules
        self._names: dict[str, str] = {}
        self.kept: dict[str, bytes] = {}
        self.dropped: dict[str, int] = {}

    def name(self, address: str, *, font: bool = False) -> str:
        """ "" when there is no such file, or when it is no picture or font that can be kept."""
        path = path_of(address.partition("#")[0])
        if path is None:
            return self._drop("external")
        if path in self._names:
            return self._names[path]
        payload = self._files.get(path)
        if payload is None:
            return self._drop("missing")
        made = self._font(payload) if font else self._picture(payload)
        if made is None:
            return self._drop("font" if font else "picture")
        kept, extension = made
        stem = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(path).stem.lower()).strip("-")[:40] or "file"
        name, number = f"{stem}.{extension}", 2
        while name in self.kept and self.kept[name] != kept:
            name, number = f"{stem}-{number}.{extension}", number + 1
        self.kept[name] = kept
        self._names[path] = name
        return name

    @property
    def size(self) -> int:
        return sum(map(len, self.kept.values()))

    def _drop(self, what: str) -> str:
        self.dropped[what] = self.dropped.get(what, 0) + 1
        return ""

    def _font(self, payload: bytes) -> tuple[bytes, str] | None:
        extension = _FONTS.get(payload[:4])
        return (payload, extension) if extension and len(payload) <= self._rules.max_font else None

    def _picture(self, payload: bytes) -> tuple[bytes, str] | None:
        head = payload[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")
        if head.startswith((b"<svg", b"<?xml", b"<!--")) and b"<svg" in payload[:4000]:
            return (
                (payload, "svg")
                if len(payload) <= self._rules.max_picture and b"://" not in _outside(payload)
                else None
            )
        return self._bitmap(payload)

    def _bitmap(self, payload: bytes) -> tuple[bytes, str] | None:
        """The first frame, small enough; as it is where it is that already."""
        from PIL import Image

        try:
            with Image.open(io.BytesIO(payload)) as found:
                extension = _PICTURES.get(found.format or "")
                if extension is None or found.width * found.height > _PIXELS:
                    return None
                plain = found.format in ("PNG", "JPEG") and getattr(found, "n_frames", 1) == 1
                if plain and len(payload) <= self._rules.max_picture and max(found.size) <= _SIDE:
                    found.load()
                    return payload, extension
                picture = found.convert("RGBA" if found.mode in ("RGBA", "LA", "P", "PA") else "RGB")
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None
        if max(picture.size) > _SIDE:
            picture.thumbnail((_SIDE, _SIDE))
        while True:
            encoded, extension = _encode(picture)
            if len(encoded) <= self._rules.max_picture or max(picture.size) <= 64:
                return encoded, extension
            picture.thumbnail((picture.width * 3 // 4, picture.height * 3 // 4))


def _encode(picture: "Image.Image") -> tuple[bytes, str]:
    """JPEG for what is opaque, else PNG."""
    out = io.BytesIO()
    if picture.mode == "RGBA" and min(picture.getchannel("A").tobytes()) < 255:
        picture.save(out, "PNG", optimize=True)
        return out.getvalue(), "png"
    picture.convert("RGB").save(out, "JPEG", quality=80)
    return out.getvalue(), "jpg"


def _outside(payload: bytes) -> bytes:
    """An SVG file without the names of its own vocabularies: what is left of addresses leads out."""
    return re.sub(
        rb"""(?:xmlns(?::\w+)?\s*=\s*["'][^"']*["'])|(?:https?://(?:www\.w3\.org|www\.sodipodi|sodipodi)[^"'\s>]*)""",
        b"",
        payload,
    )
