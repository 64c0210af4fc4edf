"""Excerpts of a document, and an excerpt's chunks: stretches of its own text, cut at paragraphs, then at sentences.

K2's recipe (arXiv 2507.20534, section 2.2): excerpts of at most 4096 tokens, rewritten in chunks of at most 256.

Odd: nothing is copied or joined here. Everything is a pair of places in the document's text, so a record can say which
characters it was made from, and what lies between two chunks is put back as it was.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trivium.data.rephrase.protect import PROSE, Block, blocks

EXCERPT, CHUNK = 4096, 256  # tokens
Measure = Callable[[str], int]  # tokens of a text

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")
_SPACE = re.compile(r"\s+")
_BORDERS = (_SENTENCE, _SPACE)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters `start` to `stop` of a document; `tokens` of them, and how many of these are prose."""

    start: int
    stop: int
    tokens: int
    prose: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Characters `start` to `stop` of an excerpt; a `fixed` one (code, table, formula) passes untouched."""

    start: int
    stop: int
    fixed: bool


def excerpts(text: str, tokens: int, measure: Measure) -> list[Stretch]:
    """The text cut into stretches of at most `tokens` each, of about equal length; paragraphs that fit stay whole.

    A fixed block longer than that is a stretch of its own, too long as it is.
    """
    pieces = [piece for block in blocks(text) for piece in _fitting(text, block, tokens, measure)]
    sizes = [measure(text[piece.start : piece.stop]) for piece in pieces]
    return [
        Stretch(
            start=pieces[low].start,
            stop=pieces[high - 1].stop,
            tokens=sum(sizes[low:high]),
            prose=sum(size for size, piece in zip(sizes[low:high], pieces[low:high], strict=True) if not piece.fixed),
        )
        for low, high in _packed(sizes, tokens)
    ]


def chunks(text: str, tokens: int, measure: Measure) -> list[Chunk]:
    """An excerpt's chunks in order: paragraphs packed up to `tokens`, fixed blocks alone between them."""
    found: list[Chunk] = []
    for fixed, run in _runs(blocks(text)):
        if fixed:
            found += [Chunk(block.start, block.stop, True) for block in run]
            continue
        pieces = [piece for block in run for piece in _fitting(text, block, tokens, measure)]
        sizes = [measure(text[piece.start : piece.stop]) for piece in pieces]
        found += [Chunk(pieces[low].start, pieces[high - 1].stop, False) for low, high in _packed(sizes, tokens)]
    return found


def stitched(text: str, parts: Sequence[Chunk], written: Sequence[str]) -> str:
    """The excerpt with its chunks written anew; what lies between them stays."""
    made, at = [], 0
    for chunk, new in zip(parts, written, strict=False):
        made += [text[at : chunk.start] if at else "", new]
        at = chunk.stop
    return "".join(made)


def _runs(found: Iterable[Block]) -> Iterator[tuple[bool, list[Block]]]:
    """Neighbouring blocks that are all fixed, or all prose."""
    run: list[Block] = []
    for block in found:
        if run and run[-1].fixed != block.fixed:
            yield run[-1].fixed, run
            run = []
        run.append(block)
    if run:
        yield run[-1].fixed, run


def _packed(sizes: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbours (first, behind the last) of at most `limit` together, of about equal size.

    Equal, since a run of what the limit leaves over would be too short to be worth a request.
    """
    left = sum(sizes)
    low, held = 0, 0
    aim = -(-left // max(1, -(-left // limit)))
    for at, size in enumerate(sizes):
        if at > low and (held + size > limit or held >= aim):
            yield low, at
            left -= held
            low, held = at, 0
            aim = -(-left // max(1, -(-left // limit)))
        held += size
    if low < len(sizes):
        yield low, len(sizes)


def _fitting(text: str, block: Block, tokens: int, measure: Measure, finer: int = 0) -> Iterator[Block]:
    """A block as it is, or a paragraph that is too long cut at sentences, and a sentence at blanks, in the last resort
    anywhere. `finer`: how many of these were tried."""
    if block.fixed or measure(text[block.start : block.stop]) <= tokens:
        yield block
        return
    if finer == len(_BORDERS):
        middle = (block.start + block.stop) // 2
        halves = ((block.start, middle), (middle, block.stop)) if middle > block.start else ()
        for start, stop in halves:
            yield from _fitting(text, Block(start, stop, PROSE), tokens, measure, finer)
        if not halves:
            yield block
        return
    parts = list(_cut(text, block, _BORDERS[finer]))
    starts = [*(part.start for part in parts[1:]), block.stop]  # blanks behind a part count as its own
    sizes = [measure(text[part.start : stop]) for part, stop in zip(parts, starts, strict=True)]
    for low, high in _packed(sizes, tokens):
        if high - low > 1:
            yield Block(parts[low].start, parts[high - 1].stop, PROSE)
        else:
            yield from _fitting(text, parts[low], tokens, measure, finer + 1)


def _cut(text: str, block: Block, border: re.Pattern[str]) -> Iterator[Block]:
    start = block.start
    for match in border.finditer(text, block.start, block.stop):
        # A closing quotation mark belongs to the sentence before it; blanks to none.
        stop = match.start() + len(match.group().rstrip())
        if stop > start and match.end() < block.stop:
            yield Block(start, stop, PROSE)
            start = match.end()
    yield Block(start, block.stop, PROSE)
