"""What a rewrite may not touch: code, tables and displayed formulas stand apart; what lies inside prose is checked.

    text → blocks (paragraphs of prose; code, tables, formulas, which pass byte for byte)
    prose → literals (code in backticks, formulas, addresses), which a rewrite must hold letter by letter

Odd: an indented paragraph is code only when it looks like code. Dictionaries and manuals indent prose.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PROSE, CODE, TABLE, FORMULA = "prose", "code", "table", "formula"

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BEGIN = re.compile(r"\s*\\begin\{((?:equation|align|gather|multline|eqnarray|displaymath|array|tabular)\*?)\}")
_RULE = re.compile(r"\s*[|+]?[\s|:+=-]*-{2,}[\s|:+=-]*$")
_CODE_SIGNS = frozenset("{}[]()<>;=*/\\|&^%$#@_~`+")
_LITERALS = re.compile(
    r"(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`)"  # `code`, ``co`de``
    r"|\$\$.+?\$\$|(?<![\\$\w])\$(?=[^\s$])[^$\n]*?(?<=[^\s\\$])\$(?![\d$])"  # $$…$$, $…$ but no prices
    r"|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|(?:https?|ftp)://[^\s<>\"'`|]+[^\s<>\"'`|.,;:!?)\]}]",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """Characters `start` to `stop` of a text, without the blank lines around them; `fixed` ones pass untouched."""

    start: int
    stop: int
    kind: str

    @property
    def fixed(self) -> bool:
        return self.kind != PROSE


def blocks(text: str) -> list[Block]:
    """The text's paragraphs, code, tables and formulas, in order; all characters between them are white space."""
    found: list[Block] = []
    lines = list(_lines(text))
    at = 0
    while at < len(lines):
        start, line = lines[at]
        if not line.strip():
            at += 1
            continue
        stop, kind = _block(lines, at)
        end = lines[stop - 1][0] + len(lines[stop - 1][1].rstrip())
        found.append(Block(start, end, kind))
        at = stop
    return found


def literals(text: str) -> tuple[str, ...]:
    """What in prose must be kept letter by letter: each once, in order of appearance."""
    return tuple(dict.fromkeys(match.group() for match in _LITERALS.finditer(text)))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at, line
        at += len(line)


def _block(lines: list[tuple[int, str]], at: int) -> tuple[int, str]:
    """(line behind the block that begins at line `at`, its kind)."""
    line = lines[at][1]
    fence = _FENCE.match(line)
    if fence:
        return _until(lines, at + 1, lambda text: text.strip().startswith(fence[1]) and not text.strip(" `~\n")), CODE
    opening = _opening(line)
    if opening:
        behind = line.strip().removeprefix(opening[0])
        if opening[1] in behind:
            return at + 1, FORMULA
        return _until(lines, at + 1, lambda text: opening[1] in text), FORMULA
    stop = at
    while stop < len(lines) and lines[stop][1].strip():
        if stop > at and (_FENCE.match(lines[stop][1]) or _opening(lines[stop][1])):
            break
        stop += 1
    return stop, _kind([text for _, text in lines[at:stop]])


def _opening(line: str) -> tuple[str, str] | None:
    """(What a displayed formula or table of LaTeX begins with, what it ends with)."""
    stripped = line.strip()
    for begin, end in (("$$", "$$"), ("\\[", "\\]")):
        if stripped.startswith(begin):
            return begin, end
    begun = _BEGIN.match(line)
    return (begun[0].strip(), f"\\end{{{begun[1]}}}") if begun else None


def _until(lines: list[tuple[int, str]], at: int, last: object) -> int:
    """The line behind the first one from `at` on that `last` holds of; the end of the text where none does."""
    for number in range(at, len(lines)):
        if last(lines[number][1]):  # type: ignore[operator]
            return number + 1
    return len(lines)


def _kind(lines: list[str]) -> str:
    if len(lines) > 1:
        piped = sum(line.count("|") >= 2 for line in lines) == len(lines)
        ruled = any(_RULE.match(line) for line in lines) and sum("|" in line for line in lines) >= len(lines) - 2
        tabbed = all(line.rstrip("\n").count("\t") >= 1 for line in lines) and len(lines) > 2
        grid = lines[0].lstrip().startswith("+-") or lines[0].lstrip().startswith("+=")
        if piped or ruled or tabbed or grid:
            return TABLE
    if all(line.startswith(("    ", "\t")) for line in lines) and _codelike("".join(lines)):
        return CODE
    return PROSE


def _codelike(text: str) -> bool:
    """Whether signs that prose hardly uses are frequent, or nothing reads like a sentence."""
    written = [character for character in text if not character.isspace()]
    signs = sum(character in _CODE_SIGNS for character in written)
    return signs >= 0.06 * len(written) or text.lstrip().startswith(("$ ", "# ", ">>> ", "#!"))
