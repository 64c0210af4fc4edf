"""Lines that stand on many pages of one site: navigation, notices, footers that main-text extraction left.

A line is compared by the hash of its words (`words.NORMALISER`), so capitals, punctuation and indentation don't hide
that it is the same line; a line without words (braces, rules) is never one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import xxhash
from msgspec import Meta

from trivium.data.dedup.units import Hashes, hash_stretches
from trivium.data.dedup.words import Counts, hash_words
from trivium.data.stage import Content, ShuffleConfig

VERSION = 1  # of what is removed for given parameters
TEXTS = frozenset({Content.TEXT, Content.RECORDS})
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Scope = Literal["site", "source", "corpus"]

_FIGURES = re.compile(r"\d+")
_SPREAD = np.uint64(0xD6E8FEB86659FD93)  # odd
_ONE = np.uint64(1)


class RepeatedLines(ShuffleConfig, kw_only=True, tag="repeated_lines"):
    """Removes a line from all pages of a scope when it stands on at least `min_documents` of them and on at least
    `min_share` of all of them; lines of fewer than `min_words` words stay (headings, code).

    `scope`: `site` is the host of an address, or the source and the first folder of a path; `source` the recipe's
    source; `corpus` all. `ignore_digits` takes lines for equal that differ in their figures only (page numbers, dates).
    A page without pictures that loses lines and keeps fewer than `min_left` characters is dropped.
    """

    TAKES = TEXTS

    scope: Scope = "site"
    min_documents: Annotated[int, Meta(ge=2)] = 10
    min_share: Share = 0.5
    min_words: Annotated[int, Meta(ge=1)] = 2
    min_left: Annotated[int, Meta(ge=0)] = 200
    ignore_digits: bool = False
    max_source_loss: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.9  # share of a source; a greater loss stops the build

    @property
    def cuts(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text, a hash of each line's words (0 without any), and how many words it has."""

    lines: list[str]
    hashes: Hashes
    words: Counts

    def left(self, gone: npt.NDArray[np.bool_]) -> int:
        """Characters of the lines not marked, without white space at their ends."""
        return sum(len(line.strip()) for line, out in zip(self.lines, gone.tolist(), strict=True) if not out)


def read_lines(texts: Sequence[str], *, ignore_digits: bool = False) -> list[Lines]:
    """The lines of each text; they end at newlines and nothing else."""
    split = [text.split("\n") for text in texts]
    flat = [line for lines in split for line in lines]
    words = hash_words([_FIGURES.sub(" ", line) for line in flat] if ignore_digits else flat)
    hashes = stretches(words.hashes, words.counts)
    found, start = [], 0
    for lines in split:
        end = start + len(lines)
        found.append(Lines(lines, hashes[start:end], words.counts[start:end]))
        start = end
    return found


def stretches(words: Hashes, counts: Counts) -> Hashes:
    """A hash of each stretch of `counts[i]` words; 0 for none, and never 0 otherwise."""
    hashes = np.zeros(len(counts), dtype=np.uint64)
    full = counts > 0
    if full.any():
        starts = np.cumsum(counts) - counts
        hashes[full] = hash_stretches(words, starts[full]) | _ONE
    return hashes


def scope_of(scope: Scope, source: str, address: str) -> str:
    """The name of what a page's lines are counted in."""
    if scope == "corpus":
        return ""
    if scope == "site":
        if "://" in address:
            host = (urlsplit(address).hostname or "").removeprefix("www.")
            return host or source
        folder, slash, _ = address.partition("/")
        return f"{source}/{folder}" if slash else source
    return source


def scope_key(name: str) -> int:
    return xxhash.xxh3_64_intdigest(name.encode()) | 1


def line_keys(lines: Lines, scope: int, min_words: int) -> Hashes:
    """One key for each line, of its scope and its hash; 0 for a line too short to count."""
    keys = (lines.hashes ^ np.uint64(scope)) * _SPREAD
    keys ^= keys >> np.uint64(32)
    keys |= _ONE
    keys[lines.words < min_words] = 0
    return keys


def without(lines: Sequence[str], gone: npt.NDArray[np.bool_]) -> str:
    """The text without the lines marked; blank lines that a cut would add to blank lines or to an end go too."""
    kept: list[str] = []
    closing = False  # a line was taken out since the last one that stays
    for line, out in zip(lines, gone.tolist(), strict=True):
        if out:
            closing = True
        elif line.strip():
            kept.append(line)
            closing = False
        elif not closing or (kept and kept[-1].strip()):
            kept.append(line)
    while closing and kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept)
