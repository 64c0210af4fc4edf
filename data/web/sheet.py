"""The style sheet of a clean page, line by line: one declaration a line, as the cleaner and the composer write it."""

import re
from collections.abc import Iterator

import msgspec

_LINE = re.compile(r"\s*(--)?[a-z-]+: .+;\Z")
COLOR = re.compile(r"#[0-9a-f]{6}\b|#[0-9a-f]{3}\b|rgb\(\d+, \d+, \d+\)")


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """`code[start:end]` is the value; `selector` that of the rule, `inside` the at-rule around it ("": none)."""

    selector: str
    inside: str
    name: str
    value: str
    start: int
    end: int


def declared(code: str) -> Iterator[Declared]:
    """All declarations of the page's style element, in order."""
    begin = code.find("<style>\n")
    stop = code.find("\n</style>")
    if begin < 0 or stop < 0:
        return
    at = begin + len("<style>\n")
    heads: list[str] = []
    for line in code[at:stop].split("\n"):
        if line.endswith("{"):
            heads.append(line.strip(" {"))
        elif line.strip() == "}":
            heads = heads[:-1]
        elif heads and _LINE.match(line):
            name, _, value = line.strip().rstrip(";").partition(": ")
            start = at + line.index(name) + len(name) + 2
            yield Declared(
                selector=heads[-1],
                inside=heads[-2] if len(heads) > 1 else "",
                name=name,
                value=value,
                start=start,
                end=start + len(value),
            )
        at += len(line) + 1
