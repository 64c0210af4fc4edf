"""One page: its main text with structure, its title, and what it declares about itself."""

import re

import msgspec

from trivium.data.text.html.content import main_content
from trivium.data.text.html.declared import declared, headline
from trivium.data.text.html.render import render
from trivium.data.text.html.tree import read_tree

_BLANKS = re.compile(r"\n{3,}")
_LAST_HEADING = re.compile(r"(?:(?:^|\n+)#{1,6} [^\n]*)+\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")
_CONTROLS = tuple(filter(_CONTROL.match, map(chr, (*range(0x80), 0x200B, 0xFEFF))))
_LINK = re.compile(r"a\.[\w-]+\Z")  # selectors that the plain text answers faster than the parser
_WORDS = re.compile(r"[A-Za-z][\w-]*")


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """`text` without a final line break; `declared` by the keys of `trivium.data.text.html.declared`."""

    text: str
    title: str
    declared: dict[str, str]


def read_page(
    page: str,
    *,
    skip: tuple[str, ...],
    max_elements: int,
    images: bool = False,
    address: str = "",
) -> Page:
    """Reads one decoded page. Pure: the same page gives the same result.

    `skip` are CSS selectors left out, `address` what pictures' addresses are resolved against. Raises TangledError
    above `max_elements`.
    """
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(page)
    document = tree.document
    if document is None:
        return Page(text="", title="", declared={})
    title = " ".join((tree.title or "").split())
    links = [selector[2:] for selector in skip if _LINK.match(selector)]
    for selector in skip:
        if selector[2:] not in links and all(
            word in page for word in _WORDS.findall(selector)
        ):  # selecting costs more than looking
            for node in document.query_selector_all(selector):
                node.decompose()
    if tree.body is None or tree.head is None:  # a frameset
        return Page(text="", title=title, declared={})
    head, body = tree.head.html, tree.body.html
    html = document.query_selector("html")
    about = declared(head, body, html.getattr("lang") or "" if html is not None else "")
    if links:
        names = "|".join(map(re.escape, links))
        classed = rf'(?=[^>]* class="(?:[^" ]* )*?(?:{names})[ "])'
        body = re.sub(rf"<a{classed}[^>]*>[^<]*+(?:<(?!/a>)[^<]*+)*+</a>", "", body)
    root, order = read_tree(body, max_elements=max_elements)
    base = address if "://" in address else about.get("address", "")
    text = clean(render(main_content(root, order), images=images, base=base))
    return Page(text=text, title=headline(head) or title, declared=about)


def clean(text: str) -> str:
    """No control characters, no more than one empty line at once, none at the ends, no heading without a text below."""
    text = text.replace("\xa0", " ")
    if any(character in text for character in _CONTROLS):
        text = _CONTROL.sub("", text)
    if "\n\n\n" in text:
        text = _BLANKS.sub("\n\n", text)
    text = text.strip("\n").rstrip()
    return _LAST_HEADING.sub("", text) if text.startswith("#", text.rfind("\n") + 1) else text
