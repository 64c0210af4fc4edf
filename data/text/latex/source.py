"""LaTeX files before anything is parsed: literal text set aside, comments dropped, `\\input` joined.

Odd: what stands in a verbatim environment is no comment, no macro and no `\\input`, so it is taken out first and its
place marked by characters of Unicode's private use; who ends the work puts it back (`Literals`).
"""

import re
from collections.abc import Callable
from pathlib import PurePosixPath

OPEN, CLOSE = "\ue000", "\ue001"  # around the number of a literal
_ENVIRONMENTS = "verbatim|Verbatim|lstlisting|minted|alltt|BVerbatim|LVerbatim|SaveVerbatim|filecontents"
_BLOCK = re.compile(rf"\\begin\{{((?:{_ENVIRONMENTS})\*?)\}}")
_INLINE = re.compile(r"\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,200}\])?)([^\sA-Za-z*{])([^\n]{0,2000}?)\1")
_SHORT = re.compile(r"\\MakeShortVerb\*?\s*\{?\s*\\([|\"!+/<>])")  # one letter that stands for \verb and itself
_DOCUMENTED = re.compile(r"\\documentclass(?:\[[^\]]{0,200}\])?\{(?:ltxdoc|ltxguide|ltnews|l3doc|amsldoc|amsdtx)\}")
_LINK = re.compile(r"\\(?:url|path|nolinkurl)\{([^{}\n]{0,2000})\}|\\href\{([^{}\n]{0,2000})\}")
_PERCENT = re.compile(r"(?<!\\)(?:\\\\)*%")
_MARK = re.compile(f"{OPEN}([0-9]{{1,9}}){CLOSE}")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*(\n[ \t]*)?")
_INPUT = re.compile(
    r"\\(?:input|include|subfile|subfileinclude)\s*\{\s*([^{}\n]{1,500}?)\s*\}|\\input\s+([^\s{}\\]{1,500})"
)
_ARGUMENTS = re.compile(r"(?:\[[^\[\]\n]{0,1000}\]|\{[^{}\n]{0,200}\}){0,3}")
_ENCODING = re.compile(rb"\\usepackage\s*\[\s*([a-z0-9]+)[^\]]{0,100}\]\s*\{inputenc\}")
_CODECS = {
    "latin1": "windows-1252",
    "latin2": "iso-8859-2",
    "latin5": "iso-8859-9",
    "latin9": "iso-8859-15",
    "ansinew": "windows-1252",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1252": "windows-1252",
    "applemac": "mac-roman",
    "koi8-r": "koi8-r",
}
_DEPTH, _JOINS = 8, 500
_MAIN = re.compile(rb"^[ \t]*\\(?:documentclass|documentstyle)\b", re.MULTILINE)


def is_main(body: bytes) -> bool:
    """Whether a file is a document of its own, not a part that others read in."""
    return _MAIN.search(body) is not None


def declared(body: bytes) -> tuple[str, ...]:
    """The encoding that a file's `inputenc` names, as Python knows it."""
    found = _ENCODING.search(body)
    name = _CODECS.get(found[1].decode(), "") if found else ""
    return (name,) if name else ()


class Literals:
    """What was set aside: as it was written, and as text shows it (blocks as fenced code, the rest in backquotes)."""

    def __init__(self) -> None:
        self._held: list[tuple[str, str]] = []

    def set_aside(self, text: str) -> str:
        """`text` with marks in place of verbatim blocks, `\\verb` and addresses."""
        text = text.replace(OPEN, "").replace(CLOSE, "")
        text = _LINK.sub(self._link, _INLINE.sub(self._inline, self._blocks(text)))
        for mark in sorted(set(_SHORT.findall(text))) or ("|" if _DOCUMENTED.search(text) else ""):
            text = re.sub(f"({re.escape(mark)})([^{re.escape(mark)}\\n]{{1,300}}){re.escape(mark)}", self._inline, text)
        return text

    def as_written(self, text: str) -> str:
        """The marks of `text` undone."""
        return _MARK.sub(lambda mark: self._of(mark)[0], text)

    def shown(self, text: str) -> str:
        """What text shows in place of the marks."""
        return _MARK.sub(lambda mark: self._of(mark)[1], text)

    def _of(self, mark: re.Match[str]) -> tuple[str, str]:
        number = int(mark[1])
        return self._held[number] if number < len(self._held) else ("", "")

    def hold(self, written: str, shown: str) -> str:
        """The mark for a literal."""
        self._held.append((written, shown))
        return f"{OPEN}{len(self._held) - 1}{CLOSE}"

    def _blocks(self, text: str) -> str:
        kept, at = [], 0
        while begin := _BLOCK.search(text, at):
            line = text[text.rfind("\n", 0, begin.start()) + 1 : begin.start()]
            if _PERCENT.search(line):
                kept.append(text[at : begin.end()])
                at = begin.end()
                continue
            end = text.find(f"\\end{{{begin[1]}}}", begin.end())
            if end < 0:
                break
            close = end + len(begin[1]) + len("\\end{}")
            mark = self.hold(text[begin.start() : close], _fenced(text, begin, end))
            kept += [text[at : begin.start()], f"\n\n{mark}\n\n"]
            at = close
        return "".join([*kept, text[at:]])

    def _inline(self, match: re.Match[str]) -> str:
        return self.hold(match[0], f"`{match[2]}`")

    def _link(self, match: re.Match[str]) -> str:
        """An address holds % and #, which mean other things elsewhere; of a link only its words are shown."""
        return self.hold(match[0], "" if match[1] is None else match[1].replace("\\", ""))


def _fenced(text: str, begin: re.Match[str], end: int) -> str:
    if begin[1].startswith("filecontents"):
        return ""
    start = begin.end()
    if begin[1].rstrip("*") not in ("verbatim", "alltt") and (arguments := _ARGUMENTS.match(text, start)):
        start = arguments.end()
    body = text[start:end].strip("\n")
    return f"```\n{body}\n```"


def without_comments(text: str) -> str:
    """`text`, its literals set aside, without comments; a comment takes its line's end along, as TeX reads it."""
    return _COMMENT.sub(r"\1", text)


def join(main: str, read: Callable[[str], str | None], limit: int, name: str = "") -> tuple[str, list[str]]:
    """(`main` with the files that it reads in, names that `read` gave nothing for), without comments.

    `name` is `main`'s own. `read(name)` gives a file of the same folder, or None. Joins at most 8 deep and 500 in all,
    while the text has fewer than `limit` characters; a file never reads itself in.
    """
    joined = _Join(read, limit)
    return joined.text(main, (name,)), joined.missing


class _Join:
    def __init__(self, read: Callable[[str], str | None], limit: int) -> None:
        self._read, self._left, self._joins = read, limit, _JOINS
        self.missing: list[str] = []

    def text(self, text: str, inside: tuple[str, ...]) -> str:
        literals = Literals()
        text = without_comments(literals.set_aside(text))
        self._left -= len(text)
        return literals.as_written(_INPUT.sub(lambda match: self._file(match, inside), text))

    def _file(self, match: re.Match[str], inside: tuple[str, ...]) -> str:
        name = (match[1] or match[2]).strip('"')
        path = PurePosixPath(name)
        if not path.is_absolute() and ".." not in path.parts and "|" not in name and len(inside) < _DEPTH:
            for tried in (str(path), f"{path}.tex"):
                if tried in inside or self._joins <= 0 or self._left <= 0:
                    continue
                body = self._read(tried)
                if body is not None:
                    self._joins -= 1
                    return self.text(body.partition("\\endinput")[0], (*inside, tried))
        self.missing.append(name)
        return ""
