"""The n-grams of held-out sets as tables on disk, which workers map into memory, so sets may be of any size.

`grams` has a row for each n-gram of each item (key, item, 1), sorted; `items` a row for each item (number, how many of
its n-grams count, where its line lies in `about`, and how long that is).
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from trivium.data.config import digest
from trivium.data.dedup.decontaminate import Decontaminate, sized
from trivium.data.dedup.grid import Places
from trivium.data.dedup.heldout import items_of
from trivium.data.dedup.runs import RunWriter, Slice, Table, join_tables, merge, write_rows
from trivium.data.dedup.shingles import ngrams
from trivium.data.dedup.units import Hashes, Rows, distinct
from trivium.data.dedup.words import hash_words
from trivium.errors import InputError

EXCERPT = 300  # characters of an item that reports show
_STRETCH = 1 << 20  # rows looked at a time
_NONE: Hashes = np.empty(0, dtype=np.uint64)


class Tables(msgspec.Struct, frozen=True):
    """Where workers find what they compare with; `common` n-grams don't count, `records` share any n-gram."""

    grams: str
    items: str
    about: str  # JSON lines, one an item
    digest: str  # of the sets' content
    common: str = ""
    records: str = ""


class SetFacts(msgspec.Struct, kw_only=True):
    """What is known of one held-out set: `short` items have fewer words than an n-gram and can't be found; `template`
    n-grams stand in too many items to count.
    """

    name: str
    ngram: int
    items: int = 0
    short: int = 0
    ngrams: int = 0
    template: int = 0


class About(msgspec.Struct, frozen=True, array_like=True):
    """One item for reports."""

    set: str
    address: str
    text: str


def held_out(config: Decontaminate, base: Path, folder: Path) -> tuple[Tables, list[SetFacts]]:
    """Reads the sets and writes their tables below `folder`; memory is one run of rows, and 16 bytes an item.

    Raises InputError for a set that can't be read or is empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    writer, slices, found, sizes = RunWriter(folder, "runs", 2), list[Slice](), list[SetFacts](), list[int]()
    content = hashlib.sha256()
    with (folder / "items.jsonl").open("wb") as about:
        for held in config.sets:
            facts = SetFacts(name=held.name, ngram=held.ngram or config.ngram)
            found.append(facts)
            for item in items_of(held, base / held.path):
                line = msgspec.json.encode(About(held.name, item.address, " | ".join(item.texts)[:EXCERPT])) + b"\n"
                about.write(line)
                content.update(msgspec.json.encode((held.name, facts.ngram, item.texts)))
                keys = _item_grams(item.texts, facts.ngram)
                rows = np.ones((len(keys), 3), dtype=np.uint64)
                rows[:, 0], rows[:, 1] = keys, len(sizes)
                slices += writer.add(rows)
                sizes.append(len(line))
                facts.items += 1
                facts.short += not len(keys)
            if not facts.items:
                raise InputError(f"{base / held.path}: held-out set {held.name!r} has no items; mend its path")
    slices += writer.flush()
    grams = _merged(folder, slices, found, config.max_items)
    items = np.zeros((len(sizes), 4), dtype=np.uint64)
    items[:, 0] = np.arange(len(sizes))
    items[:, 3] = sizes
    items[1:, 2] = np.cumsum(items[:-1, 3])
    write_rows(folder / "items.rows", items)
    plain = config.with_paths(dict.fromkeys(config.paths(), ""))
    made = Tables(
        grams=str(grams.path),
        items=str(folder / "items.rows"),
        about=str(folder / "items.jsonl"),
        digest=digest([plain, content.hexdigest()]),
    )
    return weighed(made), found


def _item_grams(texts: Iterable[str], size: int) -> Hashes:
    return distinct(np.concatenate([_NONE, *(sized(ngrams(hash_words([text]).hashes, size), size) for text in texts)]))


def _merged(folder: Path, slices: list[Slice], found: list[SetFacts], most: int) -> Table:
    """The table of n-grams without those of too many items; what it is made from is removed."""
    behind = np.cumsum([facts.items for facts in found])
    parts: list[Path] = []
    for part in sorted({piece.part for piece in slices}):
        for rows in merge(folder, [piece for piece in slices if piece.part == part], 2):
            parts.append(folder / f"{len(parts)}.part")
            write_rows(parts[-1], _without_templates(rows, behind, found, most))
    grams = join_tables(parts, folder / "grams.rows", 3)
    for path in (*parts, *folder.glob("runs/*.run")):
        path.unlink()
    return grams


def _without_templates(rows: Rows, behind: Places, found: list[SetFacts], most: int) -> Rows:
    """Rows of whole keys without those of more than `most` items of one set, which are counted in `found`."""
    if not len(rows):
        return rows
    number = np.searchsorted(behind, rows[:, 1], "right")
    begins = np.flatnonzero(np.concatenate(([True], (rows[1:, 0] != rows[:-1, 0]) | (number[1:] != number[:-1]))))
    sizes = np.diff(begins, append=len(rows))
    for which, facts in enumerate(found):
        mine = number[begins] == which
        facts.ngrams += int(mine.sum())
        facts.template += int((mine & (sizes > most)).sum())
    return rows[np.repeat(sizes <= most, sizes)]


def weighed(tables: Tables) -> Tables:
    """The same with a table of items that says how many n-grams of each count, given what is common."""
    grams, items = Table(Path(tables.grams)), Table(Path(tables.items))
    common = Table(Path(tables.common)) if tables.common else None
    rows = items.rows(0, len(items))
    rows[:, 1] = 0
    for start in range(0, len(grams), _STRETCH):
        stretch = grams.rows(start, start + _STRETCH)
        if common is not None:
            stretch = stretch[~common.has(stretch[:, 0])]
        rows[:, 1] += np.bincount(stretch[:, 1].astype(np.int64), minlength=len(rows)).astype(np.uint64)
    path = Path(tables.items).with_name(f"items-{Path(tables.common).stem or 'all'}.rows")
    write_rows(path, rows)
    return msgspec.structs.replace(tables, items=str(path))
