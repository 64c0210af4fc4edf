"""Words of POV-Ray's scene language with their places, so that code can be changed without touching the rest."""

import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<directive>\#\s*[A-Za-z]+)"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<sign>[^\s\w])"""
)
_COMMENT = re.compile(r"/\*|\*/")


class Token(msgspec.Struct, frozen=True):
    """`kind`: string, directive, number, word or sign; `text` as written (directives without blanks, in lower case)."""

    kind: str
    text: str
    start: int
    end: int


def tokens(code: str) -> list[Token]:
    """All but comments and blanks; a comment that never ends takes the rest."""
    return list(_tokens(code))


def _tokens(code: str) -> Iterator[Token]:
    at = 0
    while found := _TOKEN.search(code, at):
        at = found.end()
        kind = str(found.lastgroup)
        if kind == "block":
            at = _after_comment(code, at)
        elif kind != "line":
            text = found[0]
            if kind == "directive":
                text = "#" + text[1:].strip().lower()
            yield Token(kind, text, found.start(), found.end())


def _after_comment(code: str, at: int) -> int:
    depth = 1
    while depth:
        found = _COMMENT.search(code, at)
        if found is None:
            return len(code)
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at
