"""Numbers and vectors of POV-Ray's language where they can be known: literals, arithmetic, declared names.

Odd: what is no plain arithmetic (random numbers, functions of includes, arrays) raises `UnknownError`, never a guess.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from trivium.data.scene.pov.tokens import Token

Vector = NDArray[np.float64]
Value = float | Vector


class UnknownError(Exception):
    """What stands here can't be known without running the language."""


_CONSTANTS: dict[str, Value] = {
    "pi": math.pi,
    "x": np.array([1.0, 0, 0]),
    "y": np.array([0, 1.0, 0]),
    "z": np.array([0, 0, 1.0]),
    "true": 1.0,
    "false": 0.0,
    "yes": 1.0,
    "no": 0.0,
    "on": 1.0,
    "off": 0.0,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sqrt": math.sqrt,
    "abs": abs,
    "radians": math.radians,
    "degrees": math.degrees,
    "pow": math.pow,
    "floor": math.floor,
    "ceil": math.ceil,
    "int": math.trunc,
    "mod": math.fmod,
    "min": min,
    "max": max,
}
STARTS = frozenset({"<", "(", "-", "+"})


class Cursor:
    """A place in the tokens of a scene, and the values declared so far."""

    def __init__(self, tokens: list[Token], names: dict[str, object]) -> None:
        self.tokens, self.names, self.at = tokens, names, 0

    @property
    def text(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else ""

    def next(self) -> str:
        text = self.text
        self.at += 1
        return text

    def take(self, text: str) -> bool:
        """Whether the next token is `text`, which is then passed."""
        if self.text != text:
            return False
        self.at += 1
        return True

    def need(self, text: str) -> None:
        if not self.take(text):
            raise UnknownError(f"{text} expected, {self.text or 'the end'} found")

    def skip_block(self) -> None:
        """From behind an opening brace to behind the one that closes it."""
        depth = 1
        while depth and self.at < len(self.tokens):
            text = self.next()
            depth += (text == "{") - (text == "}")

    def value(self) -> Value:
        """A number or vector. Raises UnknownError."""
        found = self._term()
        while self.text in ("+", "-"):
            minus = self.next() == "-"
            found = _joined(found, self._term(), minus)
        return found

    def number(self) -> float:
        found = self.value()
        if not isinstance(found, float):
            raise UnknownError("a vector where a number belongs")
        return found

    def vector(self) -> Vector:
        """Three numbers; one number stands for three."""
        found = self.value()
        if isinstance(found, float):
            return np.full(3, found)
        if len(found) != 3:
            raise UnknownError(f"{len(found)} numbers in a vector")
        return found

    def _term(self) -> Value:
        found = self._factor()
        while self.text in ("*", "/"):
            divided = self.next() == "/"
            other = self._factor()
            if divided and not np.all(other):
                raise UnknownError("a division by zero")
            found = _plain(found / other if divided else found * other)
        return found

    def _factor(self) -> Value:
        found = self._atom()
        while self.text == "." and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text in tuple("xyz"):
            self.at += 1
            index = "xyz".index(self.next())
            if isinstance(found, float):
                raise UnknownError("a part of a number")
            found = float(found[index])
        return found

    def _atom(self) -> Value:
        kind, text = self.kind, self.next()
        if text in ("-", "+"):
            found = self._factor()
            return -found if text == "-" else found
        if kind == "number":
            return float(text)
        if text == "(":
            found = self.value()
            self.need(")")
            return found
        if text == "<":
            return self._angle()
        if text in _FUNCTIONS and self.text == "(":
            return self._call(_FUNCTIONS[text])
        named = self.names.get(text, _CONSTANTS.get(text))
        if isinstance(named, float | np.ndarray):
            return named
        raise UnknownError(f"the value of {text or 'nothing'}")

    def _angle(self) -> Value:
        parts = [self.number()]
        while not self.take(">"):
            self.take(",")
            parts.append(self.number())
            if len(parts) > 12:
                raise UnknownError("a vector of more than twelve numbers")
        return np.array(parts)

    def _call(self, function: Callable[..., float]) -> float:
        self.need("(")
        given = [self.number()]
        while self.take(","):
            given.append(self.number())
        self.need(")")
        try:
            return float(function(*given))
        except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
            raise UnknownError(str(error)) from None


def _joined(first: Value, second: Value, minus: bool) -> Value:
    if np.size(first) != np.size(second) and 1 not in (np.size(first), np.size(second)):
        raise UnknownError("vectors of unequal length")
    return _plain(first - second if minus else first + second)


def _plain(value: object) -> Value:
    return value if isinstance(value, np.ndarray) else float(value)  # type: ignore[arg-type]


def declared(names: Mapping[str, object], settings: Mapping[str, float]) -> dict[str, object]:
    """What a scene starts with: picture size and clock."""
    return {**settings, **names}
