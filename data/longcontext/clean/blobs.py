"""Characters that no reader reads: base64, hex dumps, minified code."""

import re
from collections import Counter
from math import log2

_RUN = re.compile(r"[A-Za-z0-9+/_-]{60,}={0,2}")
_HEX_RUN = re.compile(r"(?:[0-9A-Fa-f]{2}[ :,]?|0x[0-9A-Fa-f]{1,8},\s*){32,}")
# `hexdump -C`, `xxd`, `od`: an offset, then groups of hex digits.
_HEX_LINE = re.compile(r"^\s*(?:0x)?[0-9A-Fa-f]{4,16}:?\s+(?:[0-9A-Fa-f]{2,8}\s+){4,}.*$", re.MULTILINE)
_LONG_LINE = 500  # characters; minified code has longer lines and hardly a space
_SPACES = 0.08
_PIECE = 24  # characters
_RANDOM = 5.2  # bits a character: paths and joined words stay below, base64 of packed bytes lies near 6
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def blob_characters(text: str) -> float:
    """Share of the characters that stand in blobs."""
    if not text:
        return 0.0
    spans = [match.span() for match in _RUN.finditer(text) if _is_random(match[0])]
    spans += [match.span() for match in _HEX_RUN.finditer(text)]
    spans += [match.span() for match in _HEX_LINE.finditer(text)]
    at = 0
    for line in text.split("\n"):
        # Scripts that write no spaces between words are no blobs.
        if len(line) > _LONG_LINE and line.isascii() and sum(c.isspace() for c in line) < _SPACES * len(line):
            spans.append((at, at + len(line)))
        at += len(line) + 1
    return _covered(spans) / len(text)


def _is_random(run: str) -> bool:
    """Paths and joined words have long runs too, but none with letters of both cases and digits in one piece."""
    piece = max(re.split(r"[/_-]", run), key=len)
    mixed = all(len(re.findall(kind, piece)) >= 2 for kind in ("[A-Z]", "[a-z]", "[0-9]"))
    if len(piece) >= _PIECE and mixed:
        return True
    counts = Counter(run)
    entropy = -sum(n / len(run) * log2(n / len(run)) for n in counts.values())
    return entropy > _RANDOM or set(run) <= _HEX_DIGITS


def _covered(spans: list[tuple[int, int]]) -> int:
    """Characters in the union of the spans."""
    total = end = 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total
