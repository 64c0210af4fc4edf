"""The macros that a document defines, expanded where it uses them, within bounds.

Odd: only plain definitions are known (`\\newcommand`, `\\def` with undelimited parameters, `\\DeclareMathOperator`);
any other macro stays for the parser. Ten lines of definitions can ask for gigabytes, so expansions and their text are
counted, and the count's end is an error, not a cut.
"""

import re
from typing import NamedTuple

from trivium.data.text.latex.words import NAMES

EXPANSIONS = 100_000
_DEPTH = 20
_GROWTH = 4  # times its length that a text may grow to, beside 1 MiB
_NEW = re.compile(
    r"\\(?:new|renew|provide|DeclareRobust)(?:command|Command)\*?\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))"
    r"\s*(?:\[\s*([0-9])\s*\])?\s*(?:\[([^\[\]]{0,1000})\])?\s*(?=\{)"
)
_DEF = re.compile(r"\\(?:long\s*|global\s*)?[gex]?def\s*\\([A-Za-z@]+)\s*((?:#[1-9])*)\s*(?=\{)")
_OPERATOR = re.compile(r"\\DeclareMathOperator(\*?)\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))\s*(?=\{)")
_USE = re.compile(r"\\([A-Za-z@]+)")
_BRACE = re.compile(r"(?<!\\)(?:\\\\)*([{}])")
_PARAMETER = re.compile(r"#([1-9])")
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")
# A macro that computes or draws has no text of its own; the parser passes it over.
_PROGRAM = re.compile(
    r"\\(?:if[a-z]*|else|fi|setbox|kern|csname|expandafter|hbox|vbox|vcenter|dimen|futurelet|catcode|lower|raise|let"
    r"|global|advance|begingroup|edef|gdef|relax|ProcessOptions|hskip|vskip)(?![A-Za-z])|@"
)
# Redefining these would change what the parser itself reads.
_KEPT = frozenset({"begin", "end", "section", "subsection", "paragraph", "chapter", "part", "item", "ref", "cite"})


class MacroBombError(ValueError):
    """The definitions of a document ask for more text than any document needs."""


class Macro(NamedTuple):
    """`parameters` in all, of which the first is optional when `default` is not None."""

    parameters: int
    default: str | None
    body: str


def definitions(text: str) -> tuple[dict[str, Macro], str]:
    """(macros by name, the last definition wins; the text without their definitions)."""
    found: dict[str, Macro] = {}
    kept, at = [], 0
    marks = sorted(
        (*_NEW.finditer(text), *_DEF.finditer(text), *_OPERATOR.finditer(text)), key=lambda match: match.start()
    )
    for match in marks:
        if match.start() < at:
            continue
        end = closing(text, match.end())
        if end < 0:
            continue
        body = text[match.end() + 1 : end]
        name, macro = _macro(match, body)
        if name in _KEPT or name.endswith("@"):
            continue
        if name not in NAMES and not _PROGRAM.search(macro.body):
            found[name] = macro
        kept.append(text[at : match.start()])
        at = end + 1
    return found, "".join([*kept, text[at:]])


def _macro(match: re.Match[str], body: str) -> tuple[str, Macro]:
    if match.re is _NEW:
        return match[1] or match[2], Macro(int(match[3] or 0), match[4] if match[3] else None, body)
    if match.re is _DEF:
        return match[1], Macro(len(match[2]) // 2, None, body)
    return match[2] or match[3], Macro(0, None, f"\\operatorname{match[1]}{{{body}}}")


def expand(text: str, macros: dict[str, Macro]) -> str:
    """`text` with every use of `macros` replaced, as deep as they go. Raises MacroBombError."""
    return _Expansion(macros, _GROWTH * len(text) + (1 << 20)).run(text, 0) if macros else text


class _Expansion:
    def __init__(self, macros: dict[str, Macro], room: int) -> None:
        self._macros, self._room, self._left = macros, room, EXPANSIONS

    def run(self, text: str, depth: int) -> str:
        kept, at = [], 0
        while use := _USE.search(text, at):
            macro = self._macros.get(use[1])
            if macro is None or depth >= _DEPTH:
                kept.append(text[at : use.end()])
                at = use.end()
                continue
            arguments, end = _arguments(text, use.end(), macro)
            body = _PARAMETER.sub(lambda match, given=arguments: given.get(match[1], ""), macro.body)  # type: ignore[misc]
            self._left, self._room = self._left - 1, self._room - len(body)
            if self._left < 0 or self._room < 0:
                raise MacroBombError(f"\\{use[1]} and others expand without an end")
            body = self.run(body, depth + 1)
            # TeX ends a macro's name with a space; two letters must not grow together where it was replaced.
            glued = body[-1:].isalpha() and text[end : end + 1].isalpha() and bool(_USE.search(body[-40:]))
            kept += [text[at : use.start()], body, " " if glued else ""]
            at = end
        return "".join([*kept, text[at:]])


def _arguments(text: str, at: int, macro: Macro) -> tuple[dict[str, str], int]:
    """(arguments by number, where they end); a missing one is empty."""
    given: dict[str, str] = {}
    for number in range(1, macro.parameters + 1):
        space = _SPACE.match(text, at)
        start = space.end() if space else at
        if number == 1 and macro.default is not None:
            end = text.find("]", start) if text.startswith("[", start) else -1
            given["1"] = text[start + 1 : end] if end >= 0 else macro.default
            at = end + 1 if end >= 0 else at
            continue
        if text.startswith("{", start):
            end = closing(text, start)
            if end < 0:
                return given, at
            given[str(number)], at = text[start + 1 : end], end + 1
        else:
            token = _USE.match(text, start)
            end = token.end() if token else start + 1
            given[str(number)], at = text[start:end], end
    return given, at


def closing(text: str, start: int) -> int:
    """Where the group that opens at `start` closes; -1 when it does not."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[1] == "{" else -1
        if depth == 0:
            return brace.start(1)
    return -1
