"""trafilatura, in the guarded child that imports this: it takes seconds on huge tables.

Odd: never with `deduplicate=True`: its memory of earlier pages makes ten equal calls give different answers
(trafilatura issue 778).
"""

import trafilatura

from trivium.data.text.html.engines import Answer, Request
from trivium.data.text.html.page import clean


def by_trafilatura(request: Request) -> Answer:
    """trafilatura's main content as Markdown with tables, and its metadata."""
    text = trafilatura.extract(
        request.markup,
        output_format="markdown",
        include_tables=True,
        include_comments=False,
        include_formatting=True,
        deduplicate=False,
    )
    facts = trafilatura.extract_metadata(request.markup)
    declared = {
        "author": facts.author,
        "date": facts.date,
        "site": facts.sitename,
        "address": facts.url,
        "license": facts.license,
    }
    return Answer(
        text=clean(text or ""),
        title=" ".join((facts.title or "").split()),
        declared={key: str(value) for key, value in declared.items() if value},
    )
