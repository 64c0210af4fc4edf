"""All indexes of a set, each read when something in it is asked for and held while there is room.

Odd: only numbers and ids are held for long; licences, languages, clusters and source ids are parsed again when they are
wanted. With a folder to keep sheets in, an index is parsed once in its life and mapped from then on.
"""

import itertools
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from trivium.data.shards.address import Address, Place
from trivium.data.shards.manifest import ShardInfo
from trivium.data.shards.shelf import Shelf

if TYPE_CHECKING:
    from trivium.data.shards.columns import Strings
    from trivium.data.shards.sheet import Sheet

SHEETS = 512 << 20  # bytes of memory: 5 million records of two members; beyond, give a folder to keep them in
STRINGS = 128 << 20


class Ledger:
    """`starts` are the numbers of each shard's first record, and of all records at the end."""

    def __init__(self, folder: Place, shards: tuple[ShardInfo, ...], keep: Path | None = None) -> None:
        self.folder, self.shards, self.keep = folder, shards, keep
        self.starts: list[int] = [0, *itertools.accumulate(info.records for info in shards)]
        self.sheets: Shelf[int, Sheet] = Shelf(SHEETS, attrgetter("cost"))
        self._strings: Shelf[int, Strings] = Shelf(STRINGS, attrgetter("cost"))

    def sheet(self, shard: int) -> "Sheet":
        """The numbers of one shard. Raises ShardError (missing, damaged, not the manifest's) or StorageError."""
        return self.sheets.get(shard, self._sheet)

    def strings(self, shard: int) -> "Strings":
        """The other columns of one shard. Raises as `sheet` does."""
        from trivium.data.shards.columns import read_strings

        return self._strings.get(shard, lambda at: read_strings(self.folder, self.shards[at]))

    def ahead(self, shards: range) -> None:
        """Reads the sheets of several shards at once where that is faster: behind an address."""
        missing = [shard for shard in shards if shard not in self.sheets]
        if isinstance(self.folder, Address) and len(missing) > 1:
            from trivium.data.shards import remote

            remote.at_once(self.sheet, missing)

    def _sheet(self, shard: int) -> "Sheet":
        from trivium.data.shards.columns import read_numbers
        from trivium.data.shards.sheet import keep, kept, sheet_of

        path = None if self.keep is None else self.keep / f"{self.shards[shard].index_sha256}.sheet"
        found = None if path is None else kept(path)
        if found is not None:
            return found
        made = sheet_of(read_numbers(self.folder, self.shards[shard]))
        if path is not None:
            keep(made, path)
            return kept(path) or made
        return made
