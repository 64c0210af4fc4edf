"""The places that a build reads, listed once in the driver: all, or the first items of each source.

Odd: how many items a file holds is known when it is read, so a limited build reads its first items twice: here, to see
where they end, and in the workers. The rule is that of the listing (sorted names, then the order inside each file), so
it hangs on nothing but the inputs.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trivium.data.stage import Content, Drop
from trivium.errors import InputError
from trivium.pipelines.corpora.part import ALL, FILE, PART, RECORD, Part
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.sources import Counted, Place, Source
from trivium.pipelines.corpora.sources.packed import Packed

_MADE = (Content.RECORDS, Content.LONG_ROWS)  # of records that stand already


@dataclass(frozen=True, slots=True)
class Places:
    """What a build reads: by source, its parts in the order of the listing."""

    parts: Mapping[str, tuple[Part, ...]]
    items: int | None  # in all; None where files are split into items when they are read
    thing: str = PART  # what one item is

    def lines(self, seed: int | None = None) -> bytes:
        """One JSON line a part; in another order with a seed."""
        found = [msgspec.json.encode(part) for parts in self.parts.values() for part in parts]
        if seed is not None:
            random.Random(seed).shuffle(found)
        return b"\n".join(found) + b"\n"


def list_places(recipe: Recipe, base: Path, limit: int | None = None) -> Places:
    """Lists every source; with a limit, as far as its first `limit` items. Raises InputError naming the source."""
    parts: dict[str, tuple[Part, ...]] = {}
    for source in recipe.sources:
        try:
            if limit is None:
                parts[source.name] = tuple(Part(source.name, place) for place in source.places(base))
            else:
                parts[source.name] = tuple(_first(source, base, recipe, limit))
        except InputError as error:
            raise InputError(f"source {source.name!r}: {error}") from None
    whole = all(type(source).split is Source.split for source in recipe.sources)
    if limit is not None:
        return Places(parts, sum(part.items for each in parts.values() for part in each), _thing(recipe))
    return Places(parts, sum(map(len, parts.values())) if whole else None, _thing(recipe))


def _thing(recipe: Recipe) -> str:
    """What the items of all sources are, for whoever counts them."""
    if all(isinstance(source, Counted) or source.GIVES in _MADE for source in recipe.sources):
        return RECORD
    files = all(type(source).split in (Source.split, Packed.split) for source in recipe.sources)
    return FILE if files else PART


def _first(source: Source, base: Path, recipe: Recipe, limit: int) -> Iterator[Part]:
    """The parts of a source that hold its first `limit` items; what can't be read counts as one."""
    left = limit
    for place in source.places(base):
        if left <= 0:
            return
        items, records = 0, ALL
        for item in source.split(place):
            items += 1
            records = 1 if isinstance(item, Drop) else _records(source, item, recipe, left)
            left -= records
            if left <= 0:
                break
        yield Part(source.name, place, items, records if left <= 0 else ALL)


def _records(source: Source, item: Place, recipe: Recipe, most: int) -> int:
    count = 0
    for _ in source.read(item, recipe.corpus, recipe.domain):
        count += 1
        if count == most:
            break
    return count
