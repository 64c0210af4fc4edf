"""Records that hold text of held-out sets: found by n-grams of words, judged item by item, dropped or cut.

One shared n-gram says little: of 114 sources that a single-n-gram rule flagged in a public corpus 88 held common
phrases (marin issue 6852). So a record is contaminated by an item when it holds a share of the item's n-grams, and
n-grams count neither for nor against an item when they stand in many records (licences, famous quotations) or in many
items (a benchmark's own wording of its tasks).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from trivium.data.dedup.edits import Span, merged
from trivium.data.dedup.heldout import HeldOut, items_of
from trivium.data.dedup.runs import Table
from trivium.data.dedup.shingles import ngrams
from trivium.data.dedup.units import Hashes, Tokens, distinct
from trivium.data.dedup.words import hash_words
from trivium.data.stage import ShuffleConfig

VERSION = 1

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


class Decontaminate(ShuffleConfig, kw_only=True, tag="decontaminate"):
    """Drops records, or cuts out of them, what stands in held-out `sets`.

    A record is contaminated by an item when it holds at least `min_share` of the item's distinct n-grams of `ngram`
    words (`words.NORMALISER`), and at least `min_hits` of them (all, of an item with fewer). N-grams on more than
    `max_documents` records of the corpus, or in more than `max_items` items of a set, don't count. `cut` takes out the
    stretches and drops what keeps fewer than `min_left` characters; `drop` drops the record.
    """

    sets: tuple[HeldOut, ...]
    ngram: Annotated[int, Meta(ge=2)] = 13
    min_hits: Annotated[int, Meta(ge=1)] = 3
    min_share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.5
    max_documents: Annotated[int, Meta(ge=1)] = 100
    max_items: Annotated[int, Meta(ge=1)] = 50
    action: Literal["drop", "cut"] = "drop"  # what becomes of a record that holds an item
    min_left: Annotated[int, Meta(ge=0)] = 200
    max_source_loss: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.9  # share of a source; a greater loss stops the build

    def __post_init__(self) -> None:
        if not self.sets:
            raise ValueError("sets is empty; name at least one held-out set")
        names = [held_out.name for held_out in self.sets]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(f"sets[{index}].name: two sets are named {name!r}; reports need a name for each")
        for index, held_out in enumerate(self.sets):
            if held_out.ngram == 1:
                raise ValueError(f"sets[{index}].ngram is 1; single words are in every text: give 8 to 13")

    @property
    def cuts(self) -> bool:
        return self.action == "cut"

    def paths(self) -> dict[tuple[str | int, ...], str]:
        return {("sets", index, "path"): held_out.path for index, held_out in enumerate(self.sets)}

    def check(self, name: str, base: Path) -> None:
        """The first item of each set must have the fields that the recipe names."""
        for held_out in self.sets:
            next(items_of(held_out, base / held_out.path), None)

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        sets = tuple(
            msgspec.structs.replace(held_out, path=paths.get(("sets", index, "path"), held_out.path))
            for index, held_out in enumerate(self.sets)
        )
        return msgspec.structs.replace(self, sets=sets)

    def sizes(self) -> tuple[int, ...]:
        """The lengths of n-grams that the sets ask for."""
        return tuple(sorted({held_out.ngram or self.ngram for held_out in self.sets}))


class Known:
    """The held-out n-grams on disk, as workers read them: `heldgrams` says what the tables hold."""

    def __init__(self, grams: Path, items: Path) -> None:
        self.grams, self.items = Table(grams), Table(items)

    def total(self, items: Hashes) -> Hashes:
        """How many n-grams of each item count."""
        return self.items.column(1)[items.astype(np.int64)]


@dataclass(frozen=True, slots=True)
class Hits:
    """Where n-grams of held-out items begin in one text segment: `places` in words, `keys`, and their length."""

    size: int
    places: Places
    keys: Hashes


def text_hits(text: str, sizes: Sequence[int], grams: Table) -> list[Hits]:
    """The held-out n-grams of a text, for each length that has any."""
    words = hash_words([text]).hashes
    found = []
    for size in sizes:
        keys = sized(ngrams(words, size), size)
        places = np.flatnonzero(grams.has(keys))
        if len(places):
            found.append(Hits(size, places, keys[places]))
    return found


def sized(keys: Hashes, size: int) -> Hashes:
    """Hashes of n-grams, told apart by their length."""
    return (keys ^ np.uint64(size)) * np.uint64(0xD1342543DE82EF95)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One item that contaminates a record: its number, the n-grams found and those it has."""

    item: int
    hits: int
    of: int


def judge(config: Decontaminate, known: Known, common: Table, segments: Sequence[list[Hits]]) -> list[Verdict]:
    """The items that a record of these hits is contaminated by, worst first; `common` n-grams don't count."""
    keys = distinct(np.concatenate([hits.keys for found in segments for hits in found] or [np.empty(0, np.uint64)]))
    keys = keys[~common.has(keys)]
    rows = rows_of(known.grams, keys)
    if not len(rows):
        return []
    items, counts = _counted(known.grams.column(1)[rows])
    of = known.total(items)
    enough = (counts >= np.minimum(np.uint64(config.min_hits), of)) & (counts >= config.min_share * of)
    found = [Verdict(*row) for row in np.column_stack((items, counts, of))[enough].tolist()]
    return sorted(found, key=lambda verdict: (-verdict.hits / verdict.of, -verdict.hits, verdict.item))


def rows_of(table: Table, keys: Hashes) -> Places:
    """All rows whose first column is one of the keys, which are distinct."""
    first = table.column(0)
    start, end = np.searchsorted(first, keys, "left"), np.searchsorted(first, keys, "right")
    counts = end - start
    offsets = np.cumsum(counts) - counts
    rows: Places = np.repeat(start - offsets, counts) + np.arange(counts.sum())
    return rows


def _counted(values: Hashes) -> tuple[Hashes, Hashes]:
    ordered = np.sort(values)
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[begins], np.diff(begins, append=len(ordered)).astype(np.uint64)


def held_spans(
    text: str, found: Sequence[Hits], items: Sequence[int], known: Known, common: Table
) -> dict[int, list[Span]]:
    """By item the characters that its n-grams cover; less than an n-gram between two of them goes too."""
    spans: dict[int, list[Span]] = {}
    starts, ends = word_places(text)
    for hits in found:
        counts = ~common.has(hits.keys)
        holders = [known.grams.column(1)[rows_of(known.grams, hits.keys[i : i + 1])] for i in range(len(hits.keys))]
        for item in items:
            mine = np.array([bool((held == np.uint64(item)).any()) for held in holders], dtype=np.bool_)
            places = hits.places[mine & counts]
            if len(places):
                breaks = np.flatnonzero(np.diff(places) > 2 * hits.size)
                firsts = places[np.concatenate(([0], breaks + 1))]
                lasts = places[np.append(breaks, len(places) - 1)] + hits.size - 1
                covered = list(zip(starts[firsts].tolist(), ends[lasts].tolist(), strict=True))
                spans[item] = merged([*spans.get(item, ()), *covered])
    return spans


def word_places(text: str) -> tuple[Places, Places]:
    """Where each word begins and ends, at borders of tokens; of a run without white space where that can't be told.

    Words are those of a normalised text, which has no places of its own; so parts of the text are read by themselves,
    small ones first, until they have the words of the whole.
    """
    whole = hash_words([text]).hashes
    tokens = Tokens(text)
    joined = np.flatnonzero(tokens.starts[1:] == tokens.ends[:-1]) + 1
    for starts, ends in (
        (tokens.starts, tokens.ends),
        (np.delete(tokens.starts, joined), np.delete(tokens.ends, joined - 1)),
        (np.zeros(1, np.int64), np.full(1, len(text), np.int64)),
    ):
        words = hash_words([text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        if np.array_equal(words.hashes, whole):
            return np.repeat(starts, words.counts), np.repeat(ends, words.counts)
    raise AssertionError("a text has the words of itself")
