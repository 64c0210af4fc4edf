"""What has to stand letter by letter: URLs and addresses, code spans, options, paths, versions, identifiers.

Found once in a text and taken out of it, so that no other check reads a number or a name into them.
"""

import re
from typing import NamedTuple

from trivium.data.rephrase.gate.read.spans import blank

# Units and ordinal ends after a number make no identifier: 5GB, 21st, 1990s.
_ADDRESS = re.compile(
    r"\b(?:https?|ftp|git|ssh)://[^\s<>\"'`，。；、）」』]+|\bwww\.[\w-]+(?:\.[\w-]+)+(?:/[^\s<>\"'`，。；、）」』]*)?"
    r"|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b|\bdoi:10\.\S+"
)
_CODE = re.compile(r"(?s:```.*?```)|`[^`\n]+`")
_IDENTIFIER = re.compile(
    r"(?<![\w/.-])(?:"
    r"--[a-z][\w-]+(?:=[^\s,;)]+)?"  # an option
    r"|(?<=[\s(\"'])-[A-Za-z](?=[\s,.;:)\"'])"
    r"|(?:~|\.{1,2})?(?:/[\w.+@-]+){2,}/?|/(?:etc|usr|var|tmp|bin|dev|home|proc|opt)\b(?:/[\w.+@-]+)*"  # a path
    r"|[A-Z]:\\[\w\\.-]+"
    r"|[A-Za-z_]\w*\(\)"  # a call
    r"|[A-Za-z]\w*(?:\.[A-Za-z_]\w+)+(?:\(\))?"  # dotted
    r"|[A-Za-z]\w*(?:_\w+)+|_\w+|[a-z]+[A-Z]\w*|(?:[A-Z][a-z]+){2,}[A-Z]?\b(?<!Mc)"  # snake, camel
    r"|(?!\d{1,2}\.\d{1,2}\.\d{4}(?!\d))"
    r"v?\d+(?:\.\d+){2,}(?:[-+.]?(?:rc|beta|alpha|dev|post|a|b)\.?\d*)?"  # a version or an IP address
    r"|v\d+(?:\.\d+)*"
    r"|0x[0-9a-fA-F]+|[0-9a-f]{12,}"
    r"|(?:ISBN|ISSN|CVE|RFC|ISO|IEEE|DIN|EN|IEC)[- ]?\d[\d-]*"
    r"|[A-Z]{1,5}-?\d+[A-Z]?\d*|[A-Za-z]{2,}\d+\w*|[a-z]\d+(?:\.\d+)*"  # H2O, B12, mp3, utf8
    r")(?![\w])",
    re.ASCII,  # a Han sign beside an identifier is no part of it
)
# Names with one capital inside and nothing else odd are names: McDonald, YouTube is an identifier and that is fine.
_TRAILING = ".,;:!?)]}'\"*"
_COMPOUND = re.compile(r"(?<=\w)-[A-ZÄÖÜ][a-zäöüß]+$")  # the /etc/hosts-Datei of German
_PLAIN = re.compile(
    r"(?:[A-Za-z]\.)+[A-Za-z]?|[a-z]+\.[A-Z][a-z]+|e\.g|i\.e|[A-Za-z]"
)  # initials; a stop without a blank


class Literal(NamedTuple):
    """One such stretch; `kind` is `address`, `code` or `identifier`."""

    kind: str
    text: str
    start: int
    stop: int


def literals(text: str) -> tuple[list[Literal], str]:
    """All in the order of the kinds, and the text with blanks where they stand."""
    found = []
    for kind, pattern in (("address", _ADDRESS), ("code", _CODE), ("identifier", _IDENTIFIER)):
        spans = []
        for match in pattern.finditer(text):
            piece = match[0] if kind == "code" else _COMPOUND.sub("", match[0].rstrip(_TRAILING))
            if kind == "identifier" and match[0].endswith("()"):
                piece = match[0]
            if not piece.strip("` \n") or (kind == "identifier" and _PLAIN.fullmatch(piece)):
                continue  # backticks around an address, which is found already, hold no code of their own
            found.append(Literal(kind, piece, match.start(), match.start() + len(piece)))
            spans.append((match.start(), match.start() + len(piece)))
        text = blank(text, spans)
    return found, text
