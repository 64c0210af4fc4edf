"""Long paragraphs that stand in several places: one copy stays, by a rule that no order of arrival changes.

A paragraph is a run of lines that are not blank; two are the same when their words are (`words.NORMALISER`). The copy
of the best document stays: best `quality` score, then longest text, then smallest source id; in it, the first one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from trivium.data.dedup.lines import TEXTS
from trivium.data.dedup.units import Hashes, Rows, hash_stretches
from trivium.data.dedup.words import hash_words
from trivium.data.stage import ShuffleConfig

VERSION = 1
KEYS = 2  # columns of a row that say which paragraph
COLUMNS = 6  # key, check, rank, document, place, count
_SECOND = np.uint64(0xA0761D6478BD642F)


class RepeatedParagraphs(ShuffleConfig, kw_only=True, tag="repeated_paragraphs"):
    """Removes all copies but one of each paragraph of at least `min_chars` characters.

    `quality` names the score that picks the document whose copy stays, before length. A document without pictures that
    loses paragraphs and keeps fewer than `min_left` characters is dropped; `min_left` is at most `min_chars`, so that
    no dropped document ever held the copy that stays.
    """

    TAKES = TEXTS

    min_chars: Annotated[int, Meta(ge=1)] = 200
    min_left: Annotated[int, Meta(ge=0)] = 200
    quality: str = ""
    max_source_loss: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.9  # share of a source; a greater loss stops the build

    @property
    def cuts(self) -> bool:
        return True

    def __post_init__(self) -> None:
        if self.min_left > self.min_chars:
            raise ValueError(
                f"min_left is {self.min_left} and min_chars {self.min_chars}; a document that is dropped could hold "
                "the only copy of a paragraph: give min_left of at most min_chars"
            )

    @property
    def compared(self) -> tuple[str, ...]:
        return (self.quality,) if self.quality else ()


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """The lines of a text, and of each long paragraph: its lines [start, end), a key and a check of its words."""

    lines: list[str]
    starts: list[int]
    ends: list[int]
    keys: Hashes
    checks: Hashes


def read_paragraphs(text: str, min_chars: int) -> Paragraphs:
    """The paragraphs of at least `min_chars` characters that hold words."""
    lines = text.split("\n")
    starts, ends, bodies = [], [], []
    begin: int | None = None
    for number, line in enumerate([*lines, ""]):
        if line.strip():
            begin = number if begin is None else begin
        elif begin is not None:
            body = "\n".join(lines[begin:number])
            if len(body) >= min_chars:
                starts.append(begin)
                ends.append(number)
                bodies.append(body)
            begin = None
    words = hash_words(bodies)
    worded = np.flatnonzero(words.counts)
    places = (np.cumsum(words.counts) - words.counts)[worded]
    return Paragraphs(
        lines,
        [starts[i] for i in worded],
        [ends[i] for i in worded],
        hash_stretches(words.hashes, places),
        hash_stretches(words.hashes ^ _SECOND, places),
    )


def rank_of(scores: Mapping[str, float], quality: str, length: int) -> int:
    """A document's rank as one number, smaller is better: its score (as the nearest float32), then its length."""
    score = np.float32(scores.get(quality, float("-inf")) if quality else 0.0)
    bits = int(score.view(np.uint32))
    ordered = bits ^ 0xFFFFFFFF if bits >> 31 else bits | 0x80000000  # rises with the score
    return (0xFFFFFFFF - ordered) << 32 | (0xFFFFFFFF - min(length, 0xFFFFFFFF))


def id_of(source_id: str) -> int:
    """The first 60 bits of a source id as a number, in the order of the ids."""
    value = 0
    for character in source_id[:12]:
        value = value << 5 | (ord(character) - 0x32 if character < "A" else ord(character) - 0x61 + 6)
    return value


def prefix_of(number: int) -> str:
    """The first characters of the source id that `id_of` made `number` of."""
    return "".join("234567abcdefghijklmnopqrstuvwxyz"[number >> shift & 31] for shift in range(55, -1, -5))


def paragraph_rows(keys: Hashes, checks: Hashes, rank: int, document: int, first: int) -> Rows:
    """One row for each paragraph of a document, in order; the places of a text segment's begin at `first`."""
    rows = np.empty((len(keys), COLUMNS), dtype=np.uint64)
    rows[:, 0], rows[:, 1] = keys, checks
    rows[:, 2], rows[:, 3] = rank, document
    rows[:, 4] = np.arange(first, first + len(keys), dtype=np.uint64)
    rows[:, 5] = 1
    return rows


def marked(paragraphs: Paragraphs, gone: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which lines go with the paragraphs marked."""
    lines = np.zeros(len(paragraphs.lines), dtype=np.bool_)
    for number in np.flatnonzero(gone).tolist():
        lines[paragraphs.starts[number] : paragraphs.ends[number]] = True
    return lines
