"""Long stretches of text that stand letter for letter in several places: one copy stays, exactly the others go.

Lee et al. 2021 (arXiv 2107.06499) take out substrings of 50 tokens or more that occur twice. A stretch is repeated
where every run of `min_tokens` tokens in it is, so no suffix array is needed: each run's hash is looked up instead. To
look few runs up, documents are first compared by anchors (winnowing: of the short runs in each long one the one of the
smallest hash); equal long runs have equal anchors, so a run whose anchor occurs once is repeated nowhere.

The rule of which copy stays: of each run the first occurrence, by the rank of the documents (`paragraphs`), then by its
place in the document; an occurrence that overlaps the first one is part of it. A copy is a run, so what several
documents share in parts is judged part by part. A second pass finds nothing: every other occurrence is gone.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from trivium.data.dedup.edits import Span
from trivium.data.dedup.lines import TEXTS
from trivium.data.dedup.runs import Table
from trivium.data.dedup.units import Hashes, Rows, Tokens, finalise, sliding_min
from trivium.data.stage import ShuffleConfig

VERSION = 1
KEYS = 2  # columns of a row that say which run of tokens
COLUMNS = 6  # key, check, rank, document, place, count
_DOCUMENT = np.uint64(0x8BB84B93962EACC9)
_SECOND = np.uint64(0xA0761D6478BD642F)

Mask = npt.NDArray[np.bool_]


class Substrings(ShuffleConfig, kw_only=True, tag="substrings"):
    """Removes all copies but one of each stretch of at least `min_tokens` tokens (words, single other characters,
    single ideographs: `grid`), with the white space between them, byte for byte. 50 is Lee et al.'s.

    `quality` names the score that picks the document whose copy stays, before length. A document without pictures that
    loses text, keeps fewer than `min_left` characters and no stretch of `min_tokens` is dropped.
    """

    TAKES = TEXTS

    min_tokens: Annotated[int, Meta(ge=4)] = 50
    min_left: Annotated[int, Meta(ge=0)] = 200
    quality: str = ""
    max_source_loss: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.9  # share of a source; a greater loss stops the build

    @property
    def cuts(self) -> bool:
        return True

    @property
    def compared(self) -> tuple[str, ...]:
        return (self.quality,) if self.quality else ()


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of `size` tokens of one text: where tokens lie, and the hash of each run's anchor."""

    tokens: Tokens
    size: int
    shorts: Hashes
    anchors: Hashes

    @property
    def anchor_size(self) -> int:
        return anchor_tokens(self.size)

    def selected(self) -> Hashes:
        """The hashes of the short runs that are some run's anchor, one for each place."""
        count = len(self.anchors)
        if not count:
            return self.shorts[:0]
        width = len(self.shorts) - count + 1
        # A short run is an anchor when the largest minimum of the runs around it is its own hash.
        padded = np.concatenate((np.zeros(width - 1, np.uint64), self.anchors, np.zeros(width - 1, np.uint64)))
        picked: Hashes = self.shorts[~sliding_min(~padded, width) == self.shorts]
        return picked

    def candidates(self, repeated: Table) -> Mask:
        """Which runs have an anchor that stands in several places."""
        if not len(self.anchors):
            return np.zeros(0, dtype=np.bool_)
        begins = np.flatnonzero(np.concatenate(([True], self.anchors[1:] != self.anchors[:-1])))
        found = repeated.has(self.anchors[begins])
        return np.repeat(found, np.diff(begins, append=len(self.anchors)))

    def keys(self, which: Mask) -> tuple[Hashes, Hashes]:
        """Two independent hashes of each run of `which`."""
        return self.tokens.windows(self.size)[which], self.tokens.windows(self.size, _SECOND)[which]

    def spans(self, gone: Mask) -> list[Span]:
        """The characters that the runs marked cover, merged."""
        places = np.flatnonzero(gone)
        if not len(places):
            return []
        breaks = np.flatnonzero(np.diff(places) > self.size)
        firsts = places[np.concatenate(([0], breaks + 1))]
        lasts = places[np.append(breaks, len(places) - 1)] + self.size - 1
        return list(zip(self.tokens.starts[firsts].tolist(), self.tokens.ends[lasts].tolist(), strict=True))


def anchor_tokens(size: int) -> int:
    """Tokens of an anchor in a run of `size`: half, so that about 2 of each `size` / 2 places are anchors."""
    return max(size // 2, 1)


def read_runs(text: str, size: int) -> Runs:
    """The runs of `size` tokens of a text; none when it is shorter."""
    tokens = Tokens(text)
    if len(tokens) < size:
        return Runs(tokens, size, np.empty(0, np.uint64), np.empty(0, np.uint64))
    shorts = tokens.windows(anchor_tokens(size))
    return Runs(tokens, size, shorts, sliding_min(shorts, size - anchor_tokens(size) + 1))


def first_places(runs: list[Runs]) -> list[int]:
    """The number of each text segment's first token; segments lie so far apart that no runs of two overlap."""
    places, place = [], 0
    for part in runs:
        places.append(place)
        place += len(part.tokens) + part.size
    return places


def run_rows(keys: Hashes, checks: Hashes, which: Mask, owner: tuple[int, int], first: int) -> Rows:
    """One row for each run of `which`; `owner` is the rank and the id of its document."""
    rows = np.empty((len(keys), COLUMNS), dtype=np.uint64)
    rows[:, 0], rows[:, 1] = keys, checks | np.uint64(1)
    rows[:, 2], rows[:, 3] = owner
    rows[:, 4] = np.flatnonzero(which).astype(np.uint64) + np.uint64(first)
    rows[:, 5] = 1
    return rows


def document_key(document: int) -> Hashes:
    """Under what a document that has candidates stands in the table of runs."""
    return finalise(np.array([document], dtype=np.uint64) ^ _DOCUMENT)


def document_row(document: int) -> Rows:
    """A row that says that a document has candidates; its check is 0, as no run's is."""
    rows = np.zeros((1, COLUMNS), dtype=np.uint64)
    rows[0, 0] = document_key(document)[0]
    rows[0, 3] = document
    rows[0, 5] = 2
    return rows


def copies(table: Table, runs: Runs, which: Mask, owner: tuple[int, int], first: int) -> Mask:
    """Which runs stand elsewhere before (by rank, document, place), not overlapping their first occurrence."""
    gone = np.zeros(len(runs.anchors), dtype=np.bool_)
    keys, checks = runs.keys(which)
    found = table.find(keys, checks | np.uint64(1))
    known = np.flatnonzero(found >= 0)
    at = found[known]
    places = np.flatnonzero(which)[known]
    mine = (table.column(2)[at] == np.uint64(owner[0])) & (table.column(3)[at] == np.uint64(owner[1]))
    apart = places.astype(np.uint64) + np.uint64(first) >= table.column(4)[at] + np.uint64(runs.size)
    gone[places] = ~mine | apart
    return gone


def longest(runs: Runs, spans: list[Span]) -> int:
    """Tokens of the longest stretch that `spans` leave."""
    most = done = 0
    for start, end in (*spans, (1 << 62, 1 << 62)):
        until = int(np.searchsorted(runs.tokens.starts, start))
        most = max(most, until - done)
        done = int(np.searchsorted(runs.tokens.starts, end))
    return most
