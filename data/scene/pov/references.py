"""Which files a scene names, and whether it would write one."""

from collections.abc import Iterator, Mapping

from trivium.data.scene.pov.tokens import Token, tokens
from trivium.errors import GuardError

# Words before a string that names a file; in between may stand a kind of picture.
_BITMAPS = frozenset(
    {"gif", "png", "tga", "jpeg", "tiff", "sys", "iff", "pot", "pgm", "ppm", "bmp", "exr", "hdr", "df3"}
)
_NAMED = frozenset({"ttf", "image_map", "bump_map", "material_map", "image_pattern", "height_field", "density_file"})
_CODE = (".inc", ".pov", ".map", ".mcr", ".txt")


def references(code: str) -> Iterator[str]:
    """Names of files in literal strings, as written: includes, fonts, pictures, height fields, files to read."""
    found = tokens(code)
    for at, token in enumerate(found):
        if token.kind != "string":
            continue
        before = found[at - 1] if at else None
        opened = at > 1 and found[at - 2].text == "#fopen"
        if before is not None and (before.text == "#include" or opened or before.text in _BITMAPS | _NAMED):
            yield token.text[1:-1]


def refuse_output(code: str, files: Mapping[str, bytes]) -> None:
    """Raises GuardError `file_output` for a scene that opens a file to write, itself or in a file that it includes."""
    for name, text in _texts(code, files):
        found = tokens(text)
        for at, token in enumerate(found):
            if token.text == "#fopen" and _writes(found[at + 1 : at + 12]):
                raise GuardError("file_output", f"{name} opens a file to write")


def _writes(after: list[Token]) -> bool:
    """Whether `#fopen NAME path mode` is not surely to read: the mode is the first of its words."""
    for token in after[1:]:
        if token.text in ("read", "write", "append"):
            return token.text != "read"
    return True


def _texts(code: str, files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    yield "the scene", code
    for name, content in files.items():
        if name.lower().endswith(_CODE):
            yield name, content.decode("utf-8", "replace")
