"""Formulas set aside before the prose around them is parsed: they stay as written, and the parser is spared most of it.

Odd: a `$` inside braces of a formula (`$x \\text{ if $y$}$`) belongs to that formula, so braces are counted.
"""

import re

from trivium.data.text.latex.source import Literals
from trivium.data.text.latex.words import FORMULAS, PLAIN_FORMULAS

_LONGEST = 20_000  # characters of a formula; beyond, a `$` has lost its partner
_LABEL = re.compile(r"\\label\s*\{[^{}]{0,200}\}")
_TOKEN = re.compile(
    r"\\begin\s*\{(" + "|".join(sorted(FORMULAS, key=len, reverse=True)) + r")(\*?)\}|\\\(|\\\[|\$\$?|\\[^A-Za-z]"
)
_INNER = re.compile(r"\\.|[{}$]", re.DOTALL)


def set_aside(text: str, literals: Literals) -> str:
    """`text` with marks for its formulas; `literals` shows them as `$…$`, or as `$$…$$` in a paragraph of their own."""
    kept, at = [], 0
    while token := _TOKEN.search(text, at):
        found = _ending(text, token)
        if found is None:
            kept.append(text[at : token.end()])
            at = token.end()
            continue
        start, end, after, display = found
        kept += [text[at : token.start()], _held(text[start:end], display, literals, text[token.start() : after])]
        at = after
    return "".join([*kept, text[at:]])


def _held(inner: str, display: bool, literals: Literals, written: str) -> str:
    formula = _LABEL.sub("", inner).strip()
    if not formula:
        return " "
    if display:
        return f"\n\n{literals.hold(written, f'$${formula}$$')}\n\n"
    return literals.hold(written, f"${' '.join(formula.split())}$")


def _ending(text: str, token: re.Match[str]) -> tuple[int, int, int, bool] | None:
    """(where the formula's inside begins and ends, what comes after it, whether it is displayed), if it ends."""
    opening, limit = token[0], token.end() + _LONGEST
    if token[1]:
        closing = f"\\end{{{token[1]}{token[2]}}}"
        end = text.find(closing, token.end(), limit)
        if end < 0:
            return None
        after = end + len(closing)
        return (token.end(), end, after, True) if token[1] in PLAIN_FORMULAS else (token.start(), after, after, True)
    if opening in ("\\(", "\\["):
        end = text.find("\\)" if opening == "\\(" else "\\]", token.end(), limit)
        return None if end < 0 else (token.end(), end, end + 2, opening == "\\[")
    if not opening.startswith("$"):
        return None  # \$, \\ and other letters that are no formula
    depth = 0
    for part in _INNER.finditer(text, token.end(), limit):
        if part[0] == "$" and depth <= 0:
            if len(opening) == 1:
                return token.end(), part.start(), part.end(), False
            if text.startswith("$$", part.start()):
                return token.end(), part.start(), part.start() + 2, True
        depth += (part[0] == "{") - (part[0] == "}")
    return None
