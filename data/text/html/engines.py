"""Other extractors behind the same answer, for comparison: resiliparse here, trafilatura in a guarded child."""

import re

import msgspec

from trivium.data.text.html.page import Page, clean

TASK = "trivium.data.text.html.foreign:by_trafilatura"
_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
# The library takes any list less than three elements below the body for navigation and drops it; real articles on
# plain pages have theirs there. Lists of links are still recognised.
_DEEPER = r"\g<0><div><div><div>"


class Request(msgspec.Struct, frozen=True):
    markup: str


class Answer(msgspec.Struct, frozen=True):
    text: str
    title: str
    declared: dict[str, str]


def by_resiliparse(markup: str, skip: tuple[str, ...]) -> Page:
    """resiliparse's main content as plain lines. The caller bounds nesting: it takes time quadratic in depth."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(_BODY.sub(_DEEPER, markup, count=1))
    text = extract_plain_text(
        tree, preserve_formatting=True, main_content=True, alt_texts=False, skip_elements=list(skip)
    )
    return Page(text=clean(text).strip(), title=" ".join((tree.title or "").split()), declared={})
