"""Bytes of a source file to text: byte-order mark, UTF-8, the encoding that the file names, Windows-1252; or none."""

import codecs
import re
from typing import NamedTuple

from trivium.data.text.charset import junk

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# PEP 263 and Emacs: a comment in the first two lines; Vim's fileencoding has the same form.
_COOKIE = re.compile(rb"^[ \t\f]*(?:#|//|/\*|;|%|--|<!--).*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_HEAD = 512  # bytes in which the encoding is named
MAX_JUNK = 0.001  # share of control characters; a form feed or an escape in a string stays below it


class Decoded(NamedTuple):
    """The text with lines ended by \\n, its encoding, and why it is none (`binary`, `undecodable`, or "")."""

    text: str
    encoding: str
    fault: str = ""


def decode_source(body: bytes) -> Decoded:
    """A pure function of the bytes that never fails."""
    for bom, name in _BOMS:
        if body.startswith(bom):
            return _checked(body[len(bom) :].decode(name, "replace"), name)
    if b"\0" in body:
        return Decoded("", "", "binary")
    for name in ("utf-8", *_named(body)):
        try:
            return _checked(body.decode(name), name)
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    return _checked(body.decode("windows-1252", "replace"), "windows-1252")


def _named(body: bytes) -> list[str]:
    found = _COOKIE.search(b"\n".join(body[:_HEAD].splitlines()[:2]))
    if not found:
        return []
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return []
    # Codecs of Python that are no character sets (rot13, idna, …) either fail or give nonsense: only known families.
    return [name] if re.match(r"iso8859|cp\d|koi8|shift_jis|euc|gb|big5|mac|utf|latin|ascii|johab", name) else []


def _checked(text: str, encoding: str) -> Decoded:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Decoded(text, encoding, "undecodable" if junk(text) > MAX_JUNK else "")
