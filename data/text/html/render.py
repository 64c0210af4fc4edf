"""The chosen part of a page as text that keeps structure, in Markdown's marks: what base models know best.

Odd: nesting below `_DEEPEST` levels of lists and quotes is written without further indent, so that the text never grows
with the depth of hostile pages.
"""

import re
from collections.abc import Iterator

from trivium.data.text.html import tables
from trivium.data.text.html.formulas import formula
from trivium.data.text.html.images import of_element, shield
from trivium.data.text.html.tree import Node

_SPACES = re.compile(r"[ \t\n\r\f\xa0]+")
_BREAK = "\x0b"  # of a `br`, apart from the line breaks of the source, which mean nothing
_AROUND_BREAK = re.compile(r" *\x0b *")
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight(?:-source)?|brush:|sourceCode|src|code)[- ]\s*([A-Za-z][\w+#.-]*)"
)
_NO_LANGUAGE = frozenset(["default", "text", "none", "plain", "plaintext", "notranslate", "source", "block"])
_SMALL = re.compile(r"[+\-−–]?[\w∞αβγδθλμπσω]{1,4}\Z")
_ORDINAL = frozenset(["st", "nd", "rd", "th", "e", "er", "re", "ère", "ème", "tm", "sm", "r", "c"])
FORMULAS = frozenset({"math", "script", "img"})
_ANY_WORD = re.compile(r"[^\W_]")
_DEEPEST = 12
_RECURSION = 150


def render(nodes: list[Node], *, images: bool = False, base: str = "") -> str:
    """The text of `nodes`, blocks apart by an empty line; noise is left out.

    `images` leaves a mark where a picture stands, its address resolved against `base`.
    """
    writer = _Writer(images, base)
    blocks: list[str] = []
    for node in nodes:
        blocks += writer.blocks(node, 0)
    return "\n\n".join(blocks)


class _Writer:
    def __init__(self, images: bool, base: str) -> None:
        self.images, self.base = images, base
        self.nested = 0
        self.last: Node | None = None  # the MathML written last

    def blocks(self, node: Node, depth: int) -> list[str]:
        """The blocks that one element gives."""
        tag = node.tag
        if depth > _RECURSION:
            return [text] if (text := tidy(node.text())) else []
        if tag in _HEADINGS:
            text = " ".join(self.inline(node, plain=True).split())
            return [f"{_HEADINGS[tag]} {text}"] if text else []
        if tag == "pre":
            return self.code(node)
        if tag in ("ul", "ol", "menu", "dir"):
            return self.listing(node, depth)
        if tag == "dl":
            return self.definitions(node, depth)
        if tag == "blockquote":
            inner = self.deeper(node, depth)
            return ["\n".join(f"> {line}".rstrip() for line in "\n\n".join(inner).split("\n"))] if inner else []
        if tag == "table":
            return self.table(node, depth)
        if tag == "hr":
            return []
        if tag == "img":
            return [found] if (found := of_element(node, self.base)) else []
        if tag == "figure" and self.images:
            return self.figure(node, depth)
        return self.flow(node, depth)

    def flow(self, node: Node, depth: int) -> list[str]:
        """An element's children: runs of inline content are paragraphs, the rest blocks."""
        found: list[str] = []
        run: list[str] = []
        for child in node.children:
            if isinstance(child, str):
                run.append(child)
            elif child.noise:
                continue
            elif child.tag in FORMULAS and (found_formula := self.formula(child, node)) is not None:
                source, display = found_formula
                if not display:
                    run.append(f"${source}$" if source else "")
                    continue
                if run and (text := self.paragraph(run)):
                    found.append(text)
                run = []
                found.append(f"$$\n{source}\n$$")
            elif (inline := self.one(child, False)) is not None:
                run.append(inline)
            else:
                if run:
                    if text := self.paragraph(run):
                        found.append(text)
                    run = []
                found += self.blocks(child, depth + 1)
        if run and (text := self.paragraph(run)):
            found.append(text)
        return found

    def paragraph(self, run: list[str]) -> str:
        text = tidy("".join(run))
        return shield(text) if self.images else text

    def formula(self, node: Node, parent: Node) -> tuple[str, bool] | None:
        """(LaTeX, displayed) of an element that holds a formula; empty when its neighbour before said the same."""
        found = formula(node)
        if found is None:
            return ("", False) if node.tag != "img" else None
        if node.tag == "math":
            self.last = node
        elif "fallback" in node.names and self.last is not None:  # MediaWiki's picture of the MathML before it
            last, self.last = self.last, None
            if last.parent is parent or (last.parent is not None and last.parent.parent is parent):
                return "", False
        return found

    def figure(self, node: Node, depth: int) -> list[str]:
        """A figure's pictures, its caption with the first; whatever else it holds follows."""
        pictures, captions = [], []
        for part in node.walk():
            if part.tag == "img":
                pictures.append(part)
            elif part.tag == "figcaption":
                captions.append(self.inline(part, plain=True))
        if not pictures:
            return self.flow(node, depth)
        caption = " ".join(" ".join(captions).split())
        marks = [of_element(picture, self.base, "" if at else caption) for at, picture in enumerate(pictures)]
        return [found for found in marks if found]

    def one(self, node: Node, plain: bool) -> str | None:
        """An inline element's text; None for a block."""
        tag = node.tag
        if tag == "br":
            return _BREAK
        if tag in ("code", "tt", "samp"):
            text = self.inline(node, plain=True)
            return text if plain or _BREAK in text or "`" in text or not text.strip() else f"`{text}`"
        if tag in ("sup", "sub"):
            return self.script(node)
        if tag == "q":
            return f"“{self.inline(node, plain)}”"
        if tag in ("kbd", "span", "label"):
            return self.inline(node, plain)
        if tag == "img":
            return None if self.images else ""
        return "" if tag == "script" else None

    def inline(self, node: Node, plain: bool = False) -> str:
        """All text of an element as one run."""
        parts: list[str] = []
        for child in node.children:
            if isinstance(child, str):
                parts.append(child)
            elif child.noise or (child.tag == "img" and formula(child) is None):
                continue
            elif child.tag in FORMULAS:
                source, _ = self.formula(child, node) or ("", False)
                parts.append(f"${source}$" if source else "")
            else:
                text = self.one(child, plain)
                parts.append(f" {self.inline(child, plain)} " if text is None else text)
        return "".join(parts)

    def script(self, node: Node) -> str:
        text = self.inline(node, plain=True).strip()
        if node.own_links or not _SMALL.match(text) or text.lower() in _ORDINAL:
            return text
        return ("^" if node.tag == "sup" else "_") + (text if len(text) == 1 else f"{{{text}}}")

    def code(self, node: Node) -> list[str]:
        text = self.exact(node).strip("\n").rstrip()
        if not text.strip():
            return []
        fence = "```"
        while fence in text:
            fence += "`"
        return [f"{fence}{_language(node)}\n{text}\n{fence}"]

    def exact(self, node: Node) -> str:
        parts = []
        for child in node.children:
            if isinstance(child, str):
                parts.append(child)
            elif child.tag == "br":
                parts.append("\n")
            else:
                parts.append(self.exact(child))
                if child.tag in ("div", "p", "li", "tr") and not parts[-1].endswith("\n"):
                    parts.append("\n")
        return "".join(parts)

    def deeper(self, node: Node, depth: int) -> list[str]:
        self.nested += 1
        found = self.flow(node, depth)
        self.nested -= 1
        return found

    def members(self, node: Node) -> Iterator[Node | str]:
        """A list's elements, and the text that stands between them, or for them: old pages indent by empty lists."""
        run: list[str] = []
        for child in node.children:
            if isinstance(child, str):
                run.append(child)
            elif child.noise:
                continue
            elif any(map(_ANY_WORD.search, run)) and (inline := self.one(child, False)) is not None:
                run.append(inline)
            else:
                if any(map(_ANY_WORD.search, run)):
                    yield self.paragraph(run)
                run = []
                yield child
        if any(map(_ANY_WORD.search, run)):
            yield self.paragraph(run)

    def listing(self, node: Node, depth: int) -> list[str]:
        number = int(start) if (start := node.get("start")).isdecimal() and len(start) < 7 else 1
        ordered = node.tag == "ol"
        items: list[str] = []
        loose = False
        for child in self.members(node):
            if isinstance(child, str):
                items.append(child)
                loose = True
                continue
            inner = self.deeper(child, depth + 1)
            if not inner:
                continue
            if child.tag in ("ul", "ol"):  # a list straight in a list
                mark = "  "
            else:
                mark = f"{number}. " if ordered else "- "
                number += 1
            tight = all(block.lstrip().startswith(("- ", "1. ")) for block in inner[1:])
            loose = loose or not tight
            items.append(self.hang(mark, ("\n" if tight else "\n\n").join(inner)))
        return [("\n\n" if loose else "\n").join(items)] if items else []

    def hang(self, mark: str, text: str) -> str:
        """`text` behind its mark, further lines indented as far."""
        if self.nested >= _DEEPEST:
            return mark.lstrip() + text
        pad = "\n" + " " * len(mark)
        return (mark + text.replace("\n", pad)).replace(pad + "\n", "\n\n").replace(pad + "\n", "\n\n")

    def definitions(self, node: Node, depth: int) -> list[str]:
        found: list[str] = []
        terms = False  # the last block holds terms that still want their meaning
        for child in self.members(node):
            if isinstance(child, str):
                found.append(child)
                terms = False
            elif child.tag == "dt":
                if text := " ".join(self.inline(child, plain=True).split()):
                    if terms:  # several terms for one meaning
                        found[-1] += "\n" + text
                    else:
                        found.append(text)
                    terms = True
            elif child.tag == "dd":
                inner = self.deeper(child, depth + 1)
                if inner:
                    text = self.hang(":   ", "\n\n".join(inner))
                    if terms:
                        found[-1] += "\n" + text
                    else:
                        found.append(text)
                terms = False
            else:
                found += self.blocks(child, depth + 1)
                terms = False
        return found

    def table(self, node: Node, depth: int) -> list[str]:
        rows = tables.rows_of(node)
        if tables.is_data(node, rows):
            return tables.write(node, rows, self.inline)
        return self.flow(node, depth)


def tidy(text: str) -> str:
    """One paragraph: runs of blanks are one, none beside a line break."""
    return _AROUND_BREAK.sub("\n", _SPACES.sub(" ", text)).strip()


def _language(node: Node) -> str:
    """The language that a code block's classes name, as GitHub, Sphinx, Prism and others write them."""
    near: Node | None = node
    names = [child.names for child in node.nodes() if child.tag == "code"]
    for _ in range(3):
        if near is None:
            break
        names.append(near.names)
        near = near.parent
    for name in names:
        for match in _LANGUAGE.finditer(name):
            if match[1].lower() not in _NO_LANGUAGE:
                return match[1].lower()
    return ""
