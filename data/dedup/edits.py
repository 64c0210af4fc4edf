"""Cutting stretches out of a document's text; pictures and clips stay where they are.

Odd: what a cut leaves is never joined again: the text before it and the text after it become segments of their own, so
that no line, paragraph or n-gram arises that no source ever had, and a second pass finds nothing new.
"""

from collections.abc import Mapping, Sequence

import msgspec

from trivium.data.records import Document, Segment, Step, Text
from trivium.data.stage import Draft, touched

Span = tuple[int, int]  # characters of one text segment, end exclusive


def texts(document: Document) -> list[tuple[int, str]]:
    """(number of the segment, its text) of each text segment."""
    return [(number, part.text) for number, part in enumerate(document.segments) if isinstance(part, Text)]


def merged(spans: Sequence[Span]) -> list[Span]:
    """The union of spans, sorted; spans that touch are one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def pieces(text: str, spans: Sequence[Span]) -> list[str]:
    """What the merged `spans` leave of `text`; a piece of white space between two cuts, or at an end, goes too."""
    left, done = [], 0
    for start, end in (*spans, (len(text), len(text))):
        piece = text[done:start]
        if piece.strip():
            left.append(piece)
        done = end
    return left


def cut(draft: Draft, spans: Mapping[int, Sequence[Span]], step: Step) -> Draft:
    """The draft without `spans` (by number of text segment; merged); media stay, and `step` with the number of
    characters that went enters its lineage.
    """
    segments: list[Segment] = []
    for number, segment in enumerate(draft.document.segments):
        if number in spans and isinstance(segment, Text):
            segments += [msgspec.structs.replace(segment, text=piece) for piece in pieces(segment.text, spans[number])]
        else:
            segments.append(segment)
    return _with(draft, segments, step)


def rewritten(draft: Draft, texts: Mapping[int, str], step: Step) -> Draft:
    """The draft with some text segments' texts replaced (an empty one goes); else like `cut`."""
    segments: list[Segment] = []
    for number, segment in enumerate(draft.document.segments):
        if number in texts and isinstance(segment, Text):
            if texts[number].strip():
                segments.append(msgspec.structs.replace(segment, text=texts[number]))
        else:
            segments.append(segment)
    return _with(draft, segments, step)


def _with(draft: Draft, segments: list[Segment], step: Step) -> Draft:
    document = msgspec.structs.replace(draft.document, segments=tuple(segments))
    gone = len(draft.document.text) - len(document.text)
    counted = msgspec.structs.replace(step, counts={**step.counts, "characters": gone})
    return touched(msgspec.structs.replace(draft, document=document), counted)
