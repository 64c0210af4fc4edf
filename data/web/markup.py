"""Clean pages as a tree of elements that know their place in the code, so that code is changed and never rewritten.

Good for code that a sanitiser or the composer wrote: every element but the void ones is closed.
"""

import html
from collections.abc import Iterator
from html.parser import HTMLParser

_VOID = set("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905


class Element:
    """`code[start:inner]` is the opening tag, `code[inner:close]` what it holds, `code[close:end]` the closing tag."""

    def __init__(self, tag: str, attributes: dict[str, str], start: int, inner: int, parent: "Element | None") -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.start, self.inner = start, inner
        self.close = self.end = inner
        self.children: list[Element] = []
        self.words: list[str] = []

    @property
    def text(self) -> str:
        """All words that it holds, with single spaces."""
        return " ".join("".join(self._texts()).split())

    @property
    def plain(self) -> bool:
        """Whether it holds words and no elements."""
        return not self.children and bool(self.text)

    def walk(self) -> Iterator["Element"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def _texts(self) -> Iterator[str]:
        # Words are kept beside the number of children before them.
        for number, words in enumerate(self.words):
            yield words
            if number < len(self.children):
                yield from self.children[number]._texts()


class _Reader(HTMLParser):
    def __init__(self, code: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0]
        for at, sign in enumerate(code):
            if sign == "\n":
                self._lines.append(at + 1)
        self.root = Element("", {}, 0, 0, None)
        self.root.words.append("")
        self._at = self.root
        self.feed(code)
        self.close()
        self.root.close = self.root.end = len(code)

    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        start = self._place()
        words = self.get_starttag_text() or ""
        made = Element(tag, {name: value or "" for name, value in attrs}, start, start + len(words), self._at)
        made.words.append("")
        self._at.children.append(made)
        self._at.words.append("")
        if tag not in _VOID:
            self._at = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._at = self._at.parent or self.root

    def handle_endtag(self, tag: str) -> None:
        at: Element | None = self._at
        while at is not None and at.tag != tag:
            at = at.parent
        if at is None or at.parent is None:
            return
        at.close = self._place()
        at.end = at.close + len(f"</{tag}>")
        self._at = at.parent

    def handle_data(self, data: str) -> None:
        self._at.words[-1] += data

    def handle_entityref(self, name: str) -> None:
        self._at.words[-1] += html.unescape(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._at.words[-1] += html.unescape(f"&#{name};")


def read(code: str) -> Element:
    """The page as a tree; its root stands for the whole code."""
    return _Reader(code).root


def body(code: str) -> Element | None:
    return next((element for element in read(code).walk() if element.tag == "body"), None)


def with_style(code: str, element: Element, style: str) -> str:
    """The code with declarations added to an element's own style."""
    opening = code[element.start : element.inner]
    before = element.attributes.get("style")
    if before is None:
        at = element.start + 1 + len(element.tag)
        return f'{code[:at]} style="{style}"{code[at:]}'
    written = html.escape(before)
    changed = opening.replace(f'style="{written}"', f'style="{written.rstrip("; ")}; {style}"', 1)
    return code[: element.start] + changed + code[element.inner :]
