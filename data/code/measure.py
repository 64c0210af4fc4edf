"""Scores of a source file, each one small rule; thresholds stand in the recipe's policy.

Where the rules come from: lines, alphabetic share and encoded data from StarCoder 2 (arXiv 2402.19173, section 2.1);
the alphanumeric share and the same line lengths from Codex (2107.03374, section 3.1) and The Stack's filters.
"""

import re
import string
from collections import Counter

from trivium.data.code.generated import is_generated
from trivium.data.code.paths import is_fixture, is_license, is_lock, is_minified, is_vendored

SCORES = (
    "characters",
    "lines",
    "mean_line_length",
    "max_line_length",
    "alphabetic",
    "alphanumeric",
    "digits",
    "encoded_longest",
    "encoded_share",
    "repeated_lines",
    "generated",
    "minified",
    "vendored",
    "fixture",
    "lock_file",
)
# Of the lines that say something: closing brackets and the like repeat in all code.
_SAYS = 12  # characters

_ASCII_LETTERS = string.ascii_letters.encode()
_ASCII_DIGITS = string.digits.encode()
# StarCoder 2's three expressions; the hexadecimal one without its nested repetition, which takes minutes on bad input.
_ENCODED = (
    re.compile(r"[a-zA-Z0-9+/\n=]{64,}"),
    re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}(?:, ?|[ \n]+|(?=\\x)|\b)){8,}"),
    re.compile(r"(?:\\u[0-9a-fA-F]{4}){8,}"),
)
_HEX_AT_ALL = re.compile(
    r"\\x[0-9a-fA-F]{2}\\x|0x[0-9a-fA-F]{2}, ?\n?\s*0x|[0-9a-fA-F]{2} [0-9a-fA-F]{2} [0-9a-fA-F]{2} "
)
_WORDY = re.compile(r"[a-z]{3,}/?")


def measure(path: str, text: str) -> dict[str, float]:
    """All scores: lengths in characters, shares between 0 and 1, verdicts 0 or 1."""
    lines = text.split("\n")
    count = max(1, len(text))
    letters, digits = _counts(text)
    longest, encoded = _encoded(text)
    lengths = [len(line) for line in lines]
    marked = not is_license(path)  # licences speak of generated files
    scores = {
        "characters": len(text),
        "lines": len(lines),
        "mean_line_length": sum(lengths) / len(lines),
        "max_line_length": max(lengths),
        "alphabetic": letters / count,
        "alphanumeric": (letters + digits) / count,
        "digits": digits / count,
        "encoded_longest": longest,
        "encoded_share": encoded / count,
        "repeated_lines": _repeated(lines),
        "generated": marked and is_generated(path, text),
        "minified": is_minified(path),
        "vendored": is_vendored(path),
        "fixture": is_fixture(path),
        "lock_file": is_lock(path),
    }
    return {name: round(float(scores[name]), 4) for name in SCORES}


def _counts(text: str) -> tuple[int, int]:
    """(letters, digits) of any script; bytes are counted where all characters are ASCII, which is ten times as fast."""
    if text.isascii():
        raw = text.encode("ascii")
        return len(raw) - len(raw.translate(None, _ASCII_LETTERS)), len(raw) - len(raw.translate(None, _ASCII_DIGITS))
    return sum(map(str.isalpha, text)), sum(map(str.isdigit, text))


def _encoded(text: str) -> tuple[int, int]:
    """(longest run, characters in all runs) of Base64, hexadecimal or Unicode-escape data.

    A run of Base64's alphabet that is a path or a word list is none: real data mixes cases and digits.
    """
    found = [match[0] for match in _ENCODED[0].finditer(text) if _is_data(match[0])]
    if _HEX_AT_ALL.search(text):
        found += [match[0] for match in _ENCODED[1].finditer(text)]
    if "\\u" in text:
        found += [match[0] for match in _ENCODED[2].finditer(text)]
    lengths = [len(run) for run in found]
    return max(lengths, default=0), sum(lengths)


def _is_data(run: str) -> bool:
    words = sum(map(len, _WORDY.findall(run)))
    return words < len(run) // 2 and any(c.isdigit() for c in run)


def _repeated(lines: list[str]) -> float:
    """Share of characters in lines that came before, of lines of twelve characters or more."""
    said = [line for line in map(str.strip, lines) if len(line) >= _SAYS]
    total = sum(map(len, said))
    return sum(len(line) * (times - 1) for line, times in Counter(said).items()) / total if total else 0.0
