"""Canonical numbers: coordinates, lengths with units, lists, transforms, view boxes.

Coordinates are rounded to a number of decimals that follows the size they are drawn at: half a unit of the last decimal
stays below a tenth of a pixel in a picture 256 px wide. Rounding is to even, a number is written without exponent.
"""

import math
import re

from trivium.data.svg.policy import SvgRefusedError

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
SEPARATOR = re.compile(r"[\s,]*")
_LENGTH = re.compile(rf"\s*({NUMBER.pattern})\s*(px|pt|pc|mm|cm|in|q|%)?\s*\Z", re.IGNORECASE)
_FUNCTION = re.compile(r"[\s,]*(matrix|translate|scale|rotate|skewX|skewY)\s*\(([^()]*)\)")
_UNITS = {"px": 1.0, "pt": 96 / 72, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "q": 96 / 101.6}
_LARGEST = 1e6
_DIGITS = 6  # significant digits of matrix entries
_ARGUMENTS = {"matrix": (6,), "translate": (1, 2), "scale": (1, 2), "rotate": (1, 3), "skewX": (1,), "skewY": (1,)}


def decimals_for(base: int, drawn: float) -> int:
    """Decimals of a coordinate whose unit is `drawn` pixels long in a picture 256 px wide."""
    if drawn <= 0:
        return base
    return min(8, max(0, base - 1 + math.ceil(math.log10(drawn) - 0.2)))


def number(text: str) -> float:
    """Raises SvgRefusedError for a number beyond ±1e6."""
    value = float(text)
    if not -_LARGEST <= value <= _LARGEST:
        raise SvgRefusedError("huge_number", text)
    return value


def show(value: float, decimals: int) -> str:
    """The shortest fixed-point text of `value` rounded to `decimals`; never `-0`."""
    text = f"{value:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def significant(value: float) -> str:
    """`value` with six significant digits; what is smaller than 1e-9 is 0."""
    if abs(value) < 1e-9:
        return "0"
    return show(value, min(12, max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))))


def numbers(text: str) -> list[float]:
    """A list of numbers separated by white space or commas. Raises SvgRefusedError."""
    found = []
    at = SEPARATOR.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        match = NUMBER.match(text, at)
        if match is None:
            raise SvgRefusedError("bad_value", f"not a number at {text[at : at + 20]!r}")
        found.append(number(match[0]))
        at = SEPARATOR.match(text, match.end()).end()  # type: ignore[union-attr]
    return found


def length(text: str, decimals: int) -> str:
    """A number of user units, or a percentage; px, pt, pc, mm, cm and in are converted at 96 dpi."""
    value, percent = measure(text)
    return show(value, min(3, decimals + 1)) + "%" if percent else show(value, decimals)


def measure(text: str) -> tuple[float, bool]:
    """The value of a length in user units, or in per cent when the flag is true. Raises SvgRefusedError."""
    match = _LENGTH.match(text)
    if match is None:
        raise SvgRefusedError("bad_value", f"not a length: {text[:40]!r}")
    value, unit = number(match[1]), (match[2] or "px").lower()
    if unit == "%":
        return value, True
    return number(repr(value * _UNITS[unit])), False


def fraction(text: str) -> str:
    """An opacity or offset: a number or percentage, held to 0..1, three decimals."""
    value, percent = measure(text)
    return show(min(1.0, max(0.0, value / 100 if percent else value)), 3)


def transform(text: str, decimals: int) -> tuple[str, float]:
    """Canonical transform list without identities, and by what factor it stretches lengths.

    Raises SvgRefusedError.
    """
    parts, factor, at = [], 1.0, 0
    while at < len(text.rstrip(" \t\r\n,")):
        match = _FUNCTION.match(text, at)
        if match is None:
            raise SvgRefusedError("bad_value", f"not a transform at {text[at : at + 30]!r}")
        name, values = match[1], numbers(match[2])
        if len(values) not in _ARGUMENTS[name]:
            raise SvgRefusedError("bad_value", f"{name} with {len(values)} numbers")
        written, stretch = _function(name, values, decimals_after(decimals, factor))
        factor *= stretch
        if written:
            parts.append(written)
        at = match.end()
    return " ".join(parts), factor


def decimals_after(decimals: int, factor: float) -> int:
    """Decimals inside a transform that stretches by `factor`."""
    if factor <= 0:
        return decimals
    return min(8, max(0, decimals + math.ceil(math.log10(factor) - 0.2)))


def _function(name: str, values: list[float], decimals: int) -> tuple[str, float]:
    """One function's canonical text (empty for the identity) and its stretch, taken from the rounded numbers."""
    if name == "translate":
        right, down = (show(v, decimals) for v in (*values, 0.0)[:2])
        if right == down == "0":
            return "", 1.0
        return (f"translate({right})" if down == "0" else f"translate({right} {down})"), 1.0
    if name == "rotate":
        angle, *centre = values
        turn = show(math.fmod(angle, 360.0), 3)
        if turn == "0":
            return "", 1.0
        return f"rotate({' '.join([turn, *(show(v, decimals) for v in centre)])})", 1.0
    texts = [significant(v) for v in values[:4]]
    exact = [float(t) for t in texts]
    if name == "scale":
        x, y = exact[0], exact[-1]
        body = texts[0] if texts[0] == texts[-1] else " ".join(texts)
        return ("", 1.0) if x == y == 1.0 else (f"scale({body})", math.sqrt(abs(x * y)))
    if name == "matrix":
        moves = [show(v, decimals) for v in values[4:]]
        if [*texts, *moves] == ["1", "0", "0", "1", "0", "0"]:
            return "", 1.0
        a, b, c, d = exact
        return f"matrix({' '.join([*texts, *moves])})", math.sqrt(abs(a * d - b * c))
    return ("", 1.0) if texts[0] == "0" else (f"{name}({texts[0]})", 1.0)


def view_box(text: str, largest: float) -> tuple[float, float, float, float]:
    """Four numbers x, y, width, height with six significant digits. Raises SvgRefusedError."""
    values = numbers(text)
    if len(values) != 4:
        raise SvgRefusedError("bad_value", f"viewBox with {len(values)} numbers")
    x, y, width, height = (float(significant(v)) for v in values)
    if width <= 0 or height <= 0 or max(abs(x), abs(y), width, height) > largest:
        raise SvgRefusedError("canvas", f"viewBox {text[:60]!r}; sides above 0 and at most {largest:g}")
    if max(width, height) > 100 * min(width, height):
        raise SvgRefusedError("canvas", f"viewBox {text[:60]!r} is a hundred times longer than wide")
    return x, y, width, height
