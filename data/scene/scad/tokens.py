"""Words of OpenSCAD's language with their places, so that code can be changed without touching the rest."""

import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<string>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<word>\$?[A-Za-z_]\w*)|(?P<sign>[^\s\w])""",
    re.S,
)


class Token(msgspec.Struct, frozen=True):
    """`kind`: string, number, word or sign; `text` as written."""

    kind: str
    text: str
    start: int
    end: int


def tokens(code: str) -> list[Token]:
    """All but comments and blanks."""
    return list(_tokens(code))


def _tokens(code: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(code):
        if found.lastgroup != "comment":
            yield Token(str(found.lastgroup), found[0], found.start(), found.end())
