"""What all families share: a drawn part, and how it is written down as a script.

Odd: a script carries its own marks for those who change it later: whole-number parameters at the top, and a comment
before each feature that names it as a person would (`# the bolt holes`).
"""

import textwrap
from collections.abc import Callable, Mapping

import msgspec

from trivium.data.longcontext.dice import Dice

ALGEBRA, BUILDER = "algebra", "builder"
MODES = (ALGEBRA, BUILDER)
# How scripts put a solid on its plane or below it; a script that uses one says what it is.
BOTTOM, TOP = "BOTTOM", "TOP"
_ALIGNED = {
    BOTTOM: "(Align.CENTER, Align.CENTER, Align.MIN)",
    TOP: "(Align.CENTER, Align.CENTER, Align.MAX)",
}


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One drawn part: what it is, its parameters, and the code that ends with `result = …`."""

    title: str
    parameters: dict[str, int]
    body: str
    imports: tuple[str, ...] = ()


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`draw` makes a part of the family from dice and a mode, the style of code: `algebra` or `builder`.

    `grid`: the axes along which bounding boxes have whole-millimetre sizes.
    """

    name: str
    draw: Callable[[Dice, str], Part]
    grid: str = "xyz"


def script(part: Part) -> str:
    """The part as a script, ready to run."""
    imports = [f"import {name}" for name in part.imports]
    head = "\n".join([*imports, *([""] if imports else []), "from build123d import *"])
    body = _body(part.body)
    aligned = "".join(f"{name} = {value}\n" for name, value in _ALIGNED.items() if f"align={name}" in body)
    constants = f"{aligned}\n" if aligned else ""
    return f'"""{part.title}."""\n\n{head}\n\n{constants}{_assigned(part.parameters)}\n\n{body}\n'


def _assigned(parameters: Mapping[str, int]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in parameters.items())


def _body(text: str) -> str:
    lines = textwrap.dedent(text).strip("\n").splitlines()
    # A feature that was not drawn leaves a marked line behind, which goes with it.
    return "\n".join(line.rstrip() for line in lines if line.strip() != "·")


def feature(wanted: bool, text: str, indent: int = 0) -> str:
    """Lines of a feature that only some parts have, indented below the first one; "·" when this one has it not."""
    if not wanted:
        return "·"
    return textwrap.indent(textwrap.dedent(text).strip("\n"), " " * indent).strip(" ")
