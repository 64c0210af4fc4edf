"""Places in OpenSCAD code whose values are plain and can be written anew: what an editor changes."""

from collections.abc import Iterator

import msgspec

from trivium.data.scene.scad.tokens import Token, tokens
from trivium.data.scene.text import line_of

SOLIDS = ("cube", "sphere", "cylinder", "square", "circle")
COMBINED = ("union", "difference", "intersection", "hull")
_VECTORS = ("translate", "rotate", "scale", "cube", "square")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """`role`: vector (the list of a translate, rotate, scale, cube or square), number (a named argument), single (the
    only argument of a solid), parameter (a top-level assignment), combine, or block (a whole top-level statement).

    `owner`: the module that is called; `name`: the argument's or parameter's.
    """

    role: str
    owner: str
    start: int
    end: int
    line: int
    name: str = ""
    values: tuple[float, ...] = ()


def slots(code: str) -> list[Slot]:
    """In the order of the code."""
    return list(_slots(code, tokens(code)))


def _slots(code: str, found: list[Token]) -> Iterator[Slot]:
    depth, defines, begin = 0, False, 0
    for at, token in enumerate(found):
        if depth == 0 and token.text in ("module", "function"):
            defines = True
        if token.text in "([{":
            depth += 1
        elif token.text in ")]}":
            depth -= 1
        line = line_of(code, token.start)
        before = found[at - 1].text if at else ""
        if token.kind == "word" and at + 1 < len(found):
            if found[at + 1].text == "(" and before not in ("module", "function"):
                yield from _called(found, at, line)
            elif found[at + 1].text == "=" and depth == 0 and not defines:
                yield from _parameter(found, at, line)
        if depth == 0 and token.text in (";", "}"):
            if not defines and found[begin].text in (
                *SOLIDS,
                *COMBINED,
                "translate",
                "rotate",
                "color",
                "linear_extrude",
            ):
                first = found[begin]
                yield Slot(
                    role="block", owner=first.text, start=first.start, end=token.end, line=line_of(code, first.start)
                )
            defines, begin = False, at + 1


def _called(found: list[Token], at: int, line: int) -> Iterator[Slot]:
    token = found[at]
    owner = token.text
    if owner in COMBINED:
        yield Slot(role="combine", owner=owner, start=token.start, end=token.end, line=line)
    if owner in _VECTORS:
        vector = _vector(found, at + 2)
        if vector is not None:
            start, end, values = vector
            yield Slot(role="vector", owner=owner, start=start, end=end, line=line, values=values)
    if owner in SOLIDS:
        yield from _arguments(found, at + 2, owner, line)


def _arguments(found: list[Token], at: int, owner: str, line: int) -> Iterator[Slot]:
    if at + 1 < len(found) and found[at].kind == "number" and found[at + 1].text in (")", ","):
        token = found[at]
        yield Slot(role="single", owner=owner, start=token.start, end=token.end, line=line, values=(float(token.text),))
    for index in range(at, min(at + 24, len(found) - 2)):
        name, sign, value = found[index : index + 3]
        if name.text == ")":
            return
        plain = value.kind == "number" and index + 3 < len(found) and found[index + 3].text in (",", ")")
        if sign.text == "=" and plain and name.text in ("h", "r", "r1", "r2", "d", "d1", "d2", "size", "$fn"):
            yield Slot(
                role="number", owner=owner, start=value.start, end=value.end, line=line, name=name.text,
                values=(float(value.text),),
            )  # fmt: skip


def _parameter(found: list[Token], at: int, line: int) -> Iterator[Slot]:
    if at + 3 < len(found) and found[at + 2].kind == "number" and found[at + 3].text == ";":
        value = found[at + 2]
        yield Slot(
            role="parameter", owner="", start=value.start, end=value.end, line=line, name=found[at].text,
            values=(float(value.text),),
        )  # fmt: skip


def _vector(found: list[Token], at: int) -> tuple[int, int, tuple[float, ...]] | None:
    if at < len(found) and found[at].text in ("v", "a", "size") and found[at + 1].text == "=":
        at += 2
    if at >= len(found) or found[at].text != "[":
        return None
    values: list[float] = []
    sign = 1.0
    for token in found[at + 1 : at + 12]:
        if token.text == "]":
            return (found[at].start, token.end, tuple(values)) if len(values) in (2, 3) else None
        if token.text == "-" and sign > 0:
            sign = -1.0
        elif token.kind == "number":
            values.append(sign * float(token.text))
            sign = 1.0
        elif token.text != ",":
            return None
    return None
