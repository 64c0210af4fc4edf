"""Changes of code by its characters, shared by the editors of scenes."""

from collections.abc import Sequence


def swapped(code: str, start: int, end: int, new: str) -> str:
    return code[:start] + new + code[end:]


def line_of(code: str, at: int) -> int:
    """Lines counted from 1."""
    return code.count("\n", 0, at) + 1


def without(code: str, start: int, end: int) -> str:
    """The code without these characters, and without the line when nothing else stands on it."""
    first = code.rfind("\n", 0, start) + 1
    last = code.find("\n", end)
    last = len(code) if last < 0 else last
    if not code[first:start].strip() and not code[end:last].strip():
        return code[:first] + code[min(last + 1, len(code)) :]
    return code[:start] + code[end:]


def number(value: float) -> str:
    """At most three decimals, as people write them."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def listed(values: Sequence[float]) -> str:
    return ", ".join(number(value) for value in values)
