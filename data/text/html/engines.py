"""Other extractors behind the same answer, for comparison and for pages that suit them better.

trafilatura runs in a guarded child: it takes seconds on huge tables. Never with `deduplicate=True`: its memory of
earlier pages makes ten equal calls give different answers (trafilatura issue 778).
"""

import re

import msgspec

from trivium.data.text.html.page import Page, clean

TASK = "trivium.data.text.html.engines:by_trafilatura"
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


def by_trafilatura(request: Request) -> Answer:
    """trafilatura's main content as Markdown with tables, and its metadata."""
    import trafilatura

    found = trafilatura.bare_extraction(
        request.markup,
        output_format="markdown",
        include_tables=True,
        include_comments=False,
        include_formatting=True,
        deduplicate=False,
        with_metadata=True,
    )
    if found is None or isinstance(found, dict):
        return Answer(text="", title="", declared={})
    facts = found.as_dict()
    declared = {
        "author": facts.get("author"),
        "date": facts.get("date"),
        "site": facts.get("sitename"),
        "address": facts.get("url"),
        "license": facts.get("license"),
        "language": facts.get("language"),
    }
    return Answer(
        text=clean(facts.get("text") or ""),
        title=" ".join((facts.get("title") or "").split()),
        declared={key: str(value) for key, value in declared.items() if value},
    )
