"""A rewritten text as the page shows it: its source beside it, the prompt and model, and what the gate measured."""

from typing import Any

from trivium.data.records import Document

SHOWN = 4000  # characters of a rewrite that stand beside its source
LABEL = 200


def rewritten(document: Document) -> dict[str, Any] | None:
    """What a rewrite's card and view need beside its text; None for other records.

    `text` is the beginning of its source, `more` how many characters of that are not there.
    """
    cut = document.meta.rewrite
    if cut is None or not cut.style:
        return None
    return {
        "style": cut.style[:LABEL],
        "model": cut.model[:LABEL],
        "backend": cut.backend[:LABEL],
        "seed": cut.seed,
        "source": cut.source,
        "place": [cut.start, cut.stop],
        "text": cut.text,
        "more": max(0, cut.stop - cut.start - len(cut.text)),
        "written": document.text[:SHOWN],
        "left": max(0, len(document.text) - SHOWN),
    }
