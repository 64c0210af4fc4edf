"""Formulas between TeX marks and bare equations: kept as they stand, and plain arithmetic that has to hold.

Odd: nothing is evaluated as code. Equalities of plain numbers (`3 × 4 + 1 = 13`) are read by a small grammar in exact
fractions; what it can't read is no arithmetic and not judged.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from trivium.data.rephrase.gate.read.spans import blank

_MARKED = re.compile(
    r"(?s:\$\$.+?\$\$)|\\\((?:[^\\]|\\(?!\)))+\\\)|(?s:\\\[.+?\\\])|(?s:\\begin\{(\w+\*?)\}.+?\\end\{\1\})"
    r"|(?<![\w$\\])\$(?![\s\d$])[^$\n]{1,300}?(?<!\s)\$(?![\w$])|(?<![\w$\\])\$(?=[^$\n]*[=^_\\])[^$\n]{1,300}?(?<!\s)\$(?![\w$])"
)
_TERM = (
    r"(?:\(?[A-Za-zα-ωΑ-Ωπ∂∇√∑∫]{1,2}(?:[₀-₉ₙᵢ⁰¹²³⁴-⁹]|[_^]\{?[\w+-]{1,4}\}?)*['′!]?\)?"
    r"|\d+(?:\.\d+)?[⁰¹²³⁴-⁹]*[A-Za-zπ]{0,2}[²³]?|\([^()\n]{1,40}\)[²³]?"
    r"|(?:sin|cos|tan|log|ln|exp|sqrt|lim|max|min)\b ?\(?[\w²]{0,6}\)?)"
)
_OPERATOR = r"\s*[-+−*/·×÷^=≈≠≤≥<>±→]\s*"
_BARE = re.compile(rf"(?<![\w$]){_TERM}(?:(?:{_OPERATOR}|(?<=\))\s?(?=\()){_TERM}){{1,12}}(?![\w])")
_LONE = re.compile(r"(?<!\w)[a-ln-zA-Zα-ω][²³⁴-⁹ⁿ](?!\w)")  # n², but not m²
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[-+*/^()]")
_NAMES = {
    "\\cdot": "*", "\\times": "*", "\\div": "/", "\\leq": "<=", "\\le": "<=", "\\geq": ">=", "\\ge": ">=",
    "\\neq": "!=", "\\ne": "!=", "\\approx": "~", "\\pi": "π", "\\left": "", "\\right": "",
    "\\,": "", "\\;": "", "\\!": "",
    "\\ ": "",
    "\\quad": "", "\\displaystyle": "", "\\dfrac": "\\frac", "\\tfrac": "\\frac",
    "·": "*", "×": "*", "−": "-", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
}  # fmt: skip


class Formula(NamedTuple):
    """One formula; `form` is what two spellings of it share."""

    text: str
    form: str
    start: int
    stop: int


def formulas(text: str) -> tuple[list[Formula], str]:
    """All formulas, and the text with blanks where they stand."""
    found: list[Formula] = []
    for pattern in (_MARKED, _BARE, _LONE):
        spans = []
        for match in pattern.finditer(text):
            if pattern is _BARE and not _is_equation(match[0]):
                continue
            found.append(Formula(match[0], form(match[0]), match.start(), match.end()))
            spans.append((match.start(), match.end()))
        text = blank(text, spans)
    return sorted(found, key=lambda formula: formula.start), text


def _is_equation(text: str) -> bool:
    """A bare one has a relation, or a power; `and/or`, ranges and words with hyphens have neither."""
    return bool(re.search(r"[=≈≠≤≥<>]|[²³]|\^", text)) and bool(re.search(r"[A-Za-zα-ω\d]", text))


def form(text: str) -> str:
    """A formula without its marks, blanks and the choice among equal signs."""
    inner = re.sub(r"^\$\$?|\$\$?$|^\\[(\[]|\\[)\]]$", "", text.strip())
    inner = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}", r"\1", inner)
    for name, sign in _NAMES.items():
        inner = re.sub(re.escape(name) + (r"(?![A-Za-z])" if name[0] == "\\" else ""), sign.replace("\\", r"\\"), inner)
    inner = re.sub(r"[⁰¹²³⁴-⁹⁻⁺]+", lambda run: "^" + run[0].translate(_SUPERSCRIPT), inner)
    inner = re.sub(r"\^\{(\w|-?\d+)\}", r"^\1", inner)
    inner = re.sub(r"_\{(\w)\}", r"_\1", inner)
    return re.sub(r"\s+", "", inner).rstrip(".,;").replace("{", "").replace("}", "")


def value(text: str) -> Fraction | None:
    """The value of an expression of plain numbers, or None when it is none."""
    text = re.sub(r"\\frac(\d)(\d)(?!\d)", r"(\1/\2)", text)
    tokens = _TOKEN.findall(text)
    if not tokens or "".join(tokens) != text or len(tokens) > 60:
        return None
    try:
        total, rest = _sum(tokens)
    except (ValueError, IndexError, ZeroDivisionError, OverflowError):
        return None
    return total if not rest else None


def _sum(tokens: list[str]) -> tuple[Fraction, list[str]]:
    total, tokens = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = tokens[0]
        other, tokens = _product(tokens[1:])
        total = total + other if sign == "+" else total - other
    return total, tokens


def _product(tokens: list[str]) -> tuple[Fraction, list[str]]:
    total, tokens = _power(tokens)
    while tokens and tokens[0] in "*/":
        sign = tokens[0]
        other, tokens = _power(tokens[1:])
        total = total * other if sign == "*" else total / other
    return total, tokens


def _power(tokens: list[str]) -> tuple[Fraction, list[str]]:
    base, tokens = _atom(tokens)
    if tokens and tokens[0] == "^":
        power, tokens = _atom(tokens[1:])
        if power.denominator != 1 or abs(power) > 64 or abs(base) > 10**9:
            raise ValueError(power)
        base = base ** int(power)
    return base, tokens


def _atom(tokens: list[str]) -> tuple[Fraction, list[str]]:
    if tokens[0] == "-":
        inner, rest = _power(tokens[1:])
        return -inner, rest
    if tokens[0] == "(":
        inner, rest = _sum(tokens[1:])
        if rest[0] != ")":
            raise ValueError(rest)
        return inner, rest[1:]
    return Fraction(tokens[0]), tokens[1:]
