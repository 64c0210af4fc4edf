"""Places in POV-Ray code whose values are plain numbers or names and can be written anew: what an editor changes."""

from collections.abc import Iterator

import msgspec

from trivium.data.scene.pov.colors import CSS, PURE
from trivium.data.scene.pov.tokens import Token, tokens
from trivium.data.scene.text import line_of

_SOLIDS = frozenset({"sphere", "cylinder", "cone", "box", "torus"})
_COLORED = ("rgb", "srgb")
COMBINED = ("union", "difference", "intersection", "merge")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """`role`: location, look_at, angle, light, center, radius, translate, rotate, color, combine, or block (a whole
    light or object). `owner`: the word of the block that it is in, `values` its numbers, `line` where the block begins.
    """

    role: str
    owner: str
    start: int
    end: int
    line: int
    values: tuple[float, ...] = ()
    block: tuple[int, int] = (0, 0)  # the characters of the outermost block


class _Open(msgspec.Struct):
    word: str
    start: int  # of the word
    at: int  # index of the token behind the brace
    outer: int  # start of the outermost block


def slots(code: str) -> list[Slot]:
    """In the order of the code."""
    found = tokens(code)
    ends = _ends(found)
    return list(_slots(code, found, ends))


def _ends(found: list[Token]) -> dict[int, int]:
    """By the index of an opening brace, the end of the one that closes it."""
    left, ends = [], {}
    for at, token in enumerate(found):
        if token.text == "{":
            left.append(at)
        elif token.text == "}" and left:
            ends[left.pop()] = token.end
    return ends


def _slots(code: str, found: list[Token], ends: dict[int, int]) -> Iterator[Slot]:
    stack: list[_Open] = []
    for at, token in enumerate(found):
        if token.text == "{" and at:
            word = found[at - 1]
            outer = stack[0].start if stack else word.start
            stack.append(_Open(word.text, word.start, at + 1, outer))
            yield from _opened(code, found, at, ends, declared=at > 1 and found[at - 2].text == "=", depth=len(stack))
        elif token.text == "}" and stack:
            stack.pop()
        elif stack and token.kind == "word":
            yield from _worded(code, found, at, stack)


def _opened(
    code: str, found: list[Token], at: int, ends: dict[int, int], *, declared: bool, depth: int
) -> Iterator[Slot]:
    word, line = found[at - 1], line_of(code, found[at - 1].start)
    owner = word.text
    block = (word.start, ends.get(at, word.end))
    if (
        at in ends
        and depth == 1
        and not declared
        and owner in (*_SOLIDS, *COMBINED, "object", "light_source", "text", "blob")
    ):
        yield Slot(role="block", owner=owner, start=word.start, end=ends[at], line=line, block=block)
    if owner in COMBINED:
        yield Slot(role="combine", owner=owner, start=word.start, end=word.end, line=line, block=block)
    if owner == "torus":
        yield from _numbers(found, at + 1, owner, line, block)
    elif owner in _SOLIDS or owner == "light_source":
        vector = _vector(found, at + 1)
        if vector is not None:
            start, end, values, after = vector
            role = "light" if owner == "light_source" else "center"
            yield Slot(role=role, owner=owner, start=start, end=end, line=line, values=values, block=block)
            if owner == "sphere" and after < len(found) and found[after].text == ",":
                yield from _numbers(found, after + 1, owner, line, block)


def _numbers(found: list[Token], at: int, owner: str, line: int, block: tuple[int, int]) -> Iterator[Slot]:
    """A plain number that nothing is added to, as a radius."""
    if at + 1 >= len(found) or found[at].kind != "number" or found[at + 1].text in tuple("*+-/."):
        return
    token = found[at]
    yield Slot(
        role="radius",
        owner=owner,
        start=token.start,
        end=token.end,
        line=line,
        values=(float(token.text),),
        block=block,
    )


def _worded(code: str, found: list[Token], at: int, stack: list[_Open]) -> Iterator[Slot]:
    token, owner = found[at], stack[-1].word
    line, block = line_of(code, stack[-1].start), (stack[0].start, token.end)
    if owner == "camera" and token.text in ("location", "look_at"):
        vector = _vector(found, at + 1)
        if vector is not None:
            start, end, values, _ = vector
            yield Slot(role=token.text, owner=owner, start=start, end=end, line=line, values=values, block=block)
    elif owner == "camera" and token.text == "angle":
        for slot in _numbers(found, at + 1, owner, line, block):
            yield msgspec.structs.replace(slot, role="angle")
    elif token.text in ("translate", "rotate") and owner in (*_SOLIDS, *COMBINED, "object"):
        vector = _vector(found, at + 1)
        if vector is not None:
            start, end, values, _ = vector
            yield Slot(role=token.text, owner=owner, start=start, end=end, line=line, values=values, block=block)
    elif owner == "pigment" and found[at - 1].text in ("color", "colour", "{"):
        holder = next((one for one in reversed(stack) if one.word not in ("pigment", "texture", "finish")), stack[0])
        yield from _color(code, found, at, holder, block)


def _color(code: str, found: list[Token], at: int, holder: _Open, block: tuple[int, int]) -> Iterator[Slot]:
    token, line = found[at], line_of(code, holder.start)
    if token.text in _COLORED:
        vector = _vector(found, at + 1)
        if vector is None or len(vector[2]) != 3:
            return
        _, end, values, after = vector
    elif token.text in PURE or token.text.lower() in CSS:
        end, values, after = token.end, (), at + 1
    else:
        return
    if after < len(found) and found[after].text == "}":
        yield Slot(role="color", owner=holder.word, start=token.start, end=end, line=line, values=values, block=block)


def _vector(found: list[Token], at: int) -> tuple[int, int, tuple[float, ...], int] | None:
    """A vector of plain numbers at a token: its characters, numbers, and the index behind it."""
    if at >= len(found) or found[at].text != "<":
        return None
    start, sign = found[at].start, 1.0
    values: list[float] = []
    for index in range(at + 1, min(at + 16, len(found))):
        token = found[index]
        if token.text == ">":
            plain = index + 1 >= len(found) or found[index + 1].text not in tuple("*+-/.")
            return (start, token.end, tuple(values), index + 1) if plain and len(values) in (2, 3) else None
        if token.text == "-" and sign > 0:
            sign = -1.0
        elif token.kind == "number":
            values.append(sign * float(token.text))
            sign = 1.0
        elif token.text != ",":
            return None
    return None
