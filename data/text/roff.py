"""Manual pages to text: the `man` macros of roff, as distributions ship them, in Markdown's manner.

Odd: this is no roff. It knows what pages use (headings, tagged paragraphs, literal blocks, tables, letters by name); a
page that defines its own macros loses those, and one in mdoc is refused, since there words mean other things.
"""

import re
from collections.abc import Iterator

from trivium.data.stage import EXCERPT

_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_ESCAPE = re.compile(
    r"\\(?:[fFmM](?:\[[^\]\n]{0,40}\]|\(..|.)"  # fonts and colours
    r"|\[([^\]\n]{1,40})\]|\((..)"  # letters by name
    r"|\*(?:\[([^\]\n]{1,40})\]|\((..)|(.))"  # strings
    r"|s(?:[-+]?\(?[0-9]{1,2}|\[[^\]\n]{0,10}\])"  # sizes
    r"|[hvwlLoDbXZ]'[^'\n]{0,200}'|N'([0-9]{1,5})'"  # movements, drawings, letters by number
    r"|[gknR](?:\[[^\]\n]{0,40}\]|\(..|.)|\"[^\n]*|(.)|$)"
)
_TABLE = """
em — en – bu • co © rg ® tm ™ rs \\ aq ' dq " lq “ rq ” oq ‘ cq ’ <= ≤ >= ≥ -> → <- ← ha ^ ti ~ ga ` mu × di ÷ +- ±
pl + mi − eq = ** * sc § de ° sq □ hy - lB [ rB ] lC { rC } la ⟨ ra ⟩ at @ sh # Do $ ss ß ae æ AE Æ o/ ø O/ Ø Po £
Eu € or | ba | Fo « Fc » bq „ Bq „ R ® Tm ™ if ∞ != ≠ mc µ *m μ
"""
_NAMED = dict(zip(_TABLE.split()[::2], _TABLE.split()[1::2], strict=True))
_MARKS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327", "o": "\u030a"}
_LETTERS = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "'": "'", "`": "`", ".": "."}
_MIXED = frozenset({"BR", "RB", "BI", "IB", "IR", "RI"})
_PLAIN = frozenset({"B", "I", "SM", "SB", "R", "CW"})
_BREAKS = frozenset({"PP", "P", "LP", "HP", "RS", "RE", "sp", "bp", "ne", "in", "ti"})
_WIDE = r"\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_BETWEEN_WIDE = re.compile(rf"(?<=[{_WIDE}])\n(?=[{_WIDE}])")
_MDOC = re.compile(r"^\.(?:Dd|Dt|Sh)\b", re.MULTILINE)
_REDIRECT = re.compile(r"^\.so\s+\S+", re.MULTILINE)


class RoffRefusedError(ValueError):
    """A page that is not read; `reason` is a drop's."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def man_text(source: str) -> tuple[str, str]:
    """(text, title such as `ls(1)`) of a manual page. Raises RoffRefusedError: `redirect`, `mdoc`."""
    lines = [line for line in source.split("\n") if not line.startswith(("'\\\"", '.\\"', '."'))]
    kept = "\n".join(lines)
    if _MDOC.search(kept):
        raise RoffRefusedError("mdoc", "written in mdoc, which is not read")
    if _REDIRECT.search(kept) and len(kept) < EXCERPT:
        raise RoffRefusedError("redirect", f"stands for another page: {kept.strip()[:100]}")
    page = _Page()
    for line in _relevant(lines):
        page.line(line)
    return page.whole(), page.title


def _relevant(lines: list[str]) -> Iterator[str]:
    """Lines without macro definitions and without what stands under a condition."""
    skipping, depth = False, 0
    for line in lines:
        if skipping:
            skipping = line.strip() not in ("..", ".END")
        elif depth:
            depth += line.count("\\{") - line.count("\\}")
        elif re.match(r"[.']\s*(?:de|am|ig)1?\b", line):
            skipping = True
        elif re.match(r"[.']\s*(?:if|ie|el|while)\b", line):
            depth = max(0, line.count("\\{") - line.count("\\}"))
        else:
            yield line


class _Page:
    def __init__(self) -> None:
        self.title = ""
        self._parts: list[str] = []  # finished paragraphs and headings
        self._open: list[str] = []  # lines of the present one
        self._strings: dict[str, str] = {}
        self._literal = False
        self._tag = ""  # what the next line is: "tag", "heading" with its mark, or nothing
        self._table = 0  # 0 outside, 1 in a table's format, 2 in its rows
        self._cell = "\t"

    def whole(self) -> str:
        self._end()
        return "\n\n".join(self._parts)

    def _shown(self, text: str) -> str:
        """Text with its escapes replaced."""
        return _ESCAPE.sub(lambda match: _letter(match, self._strings), text) if "\\" in text else text

    def line(self, line: str) -> None:
        if self._table:
            self._row(line)
        elif line.startswith((".", "'")) and not self._literal_line(line):
            name, _, rest = line[1:].lstrip().partition(" ")
            self._macro(name, [self._shown(word) for word in _words(rest)])
        else:
            self._text(self._shown(line))

    def _literal_line(self, line: str) -> bool:
        return self._literal and line.startswith("'") and not line.startswith("'\\")

    def _text(self, text: str) -> None:
        if self._tag:
            kind, self._tag = self._tag, ""
            if kind == "tag":
                self._open.append(f"- {text.strip()}:")
            else:
                self._parts.append(f"{kind} {text.strip()}")
        elif text.strip() or self._literal:
            self._open.append(text)
        else:
            self._end()

    def _macro(self, name: str, words: list[str]) -> None:
        if name in _MIXED or name in _PLAIN:
            if words:
                self._text(("" if name in _MIXED else " ").join(words))
        elif name in ("SH", "SS"):
            self._end()
            self._tag = "##" if name == "SH" else "###"
            if words:
                self._text(" ".join(words))
        elif name in ("TP", "TQ"):
            self._end()
            self._tag = "tag"
        elif name == "IP":
            self._end()
            if words and words[0] not in ("", "•", "-", "*", "·"):
                self._open.append(f"- {words[0]}:")
            elif words and words[0]:
                self._open.append("-")
        elif name in ("nf", "EX", "fi", "EE"):
            self._end()
            self._literal = name in ("nf", "EX")
        elif name == "TH":
            self.title = f"{words[0].lower()}({words[1]})" if len(words) > 1 else " ".join(words)
        elif name in ("UR", "MT") and words:
            self._text(words[0])
        elif name == "TS":
            self._end()
            self._table, self._cell = 1, "\t"
        elif name == "ds" and words:
            self._strings[words[0]] = " ".join(words[1:]).removeprefix('"')
        elif name == "br":
            self._open.append("\x00")
        elif name in _BREAKS:
            self._end()

    def _row(self, line: str) -> None:
        if line.startswith(".TE"):
            self._table = 0
            self._parts.append("\n".join(self._open))
            self._open = []
        elif self._table == 1:
            told = re.search(r"tab\s*\((.)\)", line)
            self._cell = told[1] if told else self._cell
            self._table = 2 if line.rstrip().endswith(".") else 1
        elif not line.startswith((".", "_", "=")) and line.strip("T{} \t"):
            cells = [self._shown(cell).strip() for cell in line.replace("T{", "").replace("T}", "").split(self._cell)]
            self._open.append(" | ".join(cell for cell in cells if cell))

    def _end(self) -> None:
        """Closes the paragraph."""
        lines, self._open = self._open, []
        if self._literal:
            body = "\n".join(line for line in lines if line != "\x00").strip("\n")
            if body:
                self._parts.append(f"```\n{body}\n```")
            return
        joined = _BETWEEN_WIDE.sub("", "\n".join(line.strip() for line in lines if line.strip()))
        text = re.sub(r" *\x00 *", "\n", " ".join(joined.split("\n"))).strip()
        if text:
            self._parts.append(text)


def _words(text: str) -> list[str]:
    return [quoted.replace('""', '"') if quoted or not word else word for quoted, word in _ARGUMENT.findall(text)]


def _letter(match: re.Match[str], strings: dict[str, str]) -> str:
    name = next((group for group in match.groups()[:5] if group), "")
    if name:
        if name in strings and not (match[1] or match[2]):
            return strings[name]
        if name in _NAMED:
            return _NAMED[name]
        if re.fullmatch(r"u[0-9A-Fa-f]{4,6}", name) and int(name[1:], 16) < 0x110000:
            return chr(int(name[1:], 16))
        return f"{name[1]}{_MARKS[name[0]]}" if len(name) == 2 and name[0] in _MARKS else ""
    if match[6]:
        return chr(int(match[6])) if int(match[6]) < 0xD800 else ""
    return _LETTERS.get(match[7] or "", "")
