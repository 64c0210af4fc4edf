"""Places of pictures in a text, as Markdown writes them: `![alternative](address "caption")` on a line of its own.

A mark in the text and not a list beside it: filters that take lines away, deduplication of paragraphs and shards treat
it as they treat any line, and the position stays right. `references` finds the marks again, to fetch and resolve them.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote, urljoin

import msgspec

from trivium.data.text.html.tree import Node

_ADDRESS = r"[^\s()<>\"]+"
_MARK = re.compile(rf'^[ \t>]*!\[((?:[^\]\\\n]|\\.)*)\]\(({_ADDRESS})(?: "((?:[^"\\\n]|\\.)*)")?\)$', re.MULTILINE)
_FENCE = re.compile(r"^[ \t>:\-]*(`{3,})[^`\n]*$", re.MULTILINE)
_LOOKALIKE = re.compile(r"^([ \t]*)!(?=\[)", re.MULTILINE)
_LAZY = ("data-src", "data-original", "data-lazy-src", "src")
_TINY = 2  # pixels; beacons


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """One mark: characters `start` to `stop` of the text stand for the picture at `source`."""

    start: int
    stop: int
    source: str
    alternative: str = ""
    caption: str = ""


def mark(source: str, alternative: str = "", caption: str = "") -> str:
    """The line that stands for a picture."""
    title = f' "{_escaped(caption, chr(34))}"' if caption else ""
    address = quote(source, safe="/:?#[]@!$&'*+,;=%~.-_")
    return f"![{_escaped(alternative, ']')}]({address}{title})"


def references(text: str) -> Iterator[Reference]:
    """All marks of a text that `extract_html` wrote with `images: true`, in order; lines inside code are none."""
    fences, open_at = [], -1
    opening = ""
    for fence in _FENCE.finditer(text):
        if not opening:
            opening, open_at = fence[1], fence.start()
        elif len(fence[1]) >= len(opening) and fence[0].strip(" \t>:-").rstrip() == fence[1]:
            fences.append((open_at, fence.end()))
            opening = ""
    if opening:
        fences.append((open_at, len(text)))
    for match in _MARK.finditer(text):
        if not any(start <= match.start() < stop for start, stop in fences):
            yield Reference(
                start=match.start(),
                stop=match.end(),
                source=match[2],
                alternative=_plain(match[1]),
                caption=_plain(match[3] or ""),
            )


def shield(text: str) -> str:
    """A page's own text with nothing in it that reads as a mark."""
    return _LOOKALIKE.sub(r"\1\\!", text) if "![" in text else text


def of_element(node: Node, base: str, caption: str = "") -> str:
    """The mark of an `img`; empty for beacons and pictures without an address."""
    if any(size.isdecimal() and int(size[:6]) <= _TINY for size in (node.get("width"), node.get("height"))):
        return ""
    source = next((value for key in _LAZY if (value := node.get(key).strip()) and not value.startswith("data:")), "")
    if not source:
        return ""
    try:
        source = urljoin(base, source)
    except ValueError:
        return ""
    return mark(source, " ".join(node.get("alt").split()), " ".join(caption.split()))


def _escaped(text: str, end: str) -> str:
    return text.replace("\\", "\\\\").replace(end, "\\" + end).replace("\n", " ")


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
