"""Stored tokens read straight into the caller's buffer: what a trainer does millions of times.

Odd: a whole member is checked against its CRC at every read, a part of one at the first read of its record. What fails
is read again the careful way (`ShardSet.read_tokens`), which says what was changed.
"""

import zlib
from pathlib import Path

from trivium.data.shards import names
from trivium.data.shards.blobs import Blobs
from trivium.data.shards.reader import ShardSet
from trivium.errors import ShardError, StorageError

REMEMBERED = 1 << 17  # records that were found sound; beyond, all are checked anew


class DirectTokens:
    """The tokens of one opened set, through file handles of its own."""

    def __init__(self, shards: ShardSet) -> None:
        self.shards = shards.reopened()
        self._sound: set[int] = set()
        self._blobs = Blobs(shards.folder, shards.manifest.shards)

    def into(self, record: int, start: int, view: memoryview) -> None:
        """Stored tokens of a record from token `start` on, little-endian uint32 with flag bits, until `view` is full.

        Raises ShardError for damage, StorageError or OSError for trouble that may pass.
        """
        shard, row = self.shards.locate(record)
        offset, size, crc32 = self.shards.ledger.sheet(shard).last(row)
        blob = self._blobs[shard]
        try:
            if len(view) == size:
                blob.into(offset, view)
                if zlib.crc32(view) != crc32:
                    view[:] = self._carefully(record)
            elif record in self._sound:
                blob.into(offset + 4 * start, view)
            else:
                payload = blob.pread(offset, size)
                if zlib.crc32(payload) != crc32:
                    payload = self._carefully(record)
                if len(self._sound) >= REMEMBERED:
                    self._sound.clear()
                self._sound.add(record)
                view[:] = memoryview(payload)[4 * start : 4 * start + len(view)]
        except ShardError:
            refuse_vanished(self.shards, record)
            raise

    def _carefully(self, record: int) -> bytes:
        return self.shards.read_tokens(record).astype("<u4", copy=False).tobytes()

    def reopened(self) -> "DirectTokens":
        """The same with handles of its own, for when these are stuck; what was found sound stays so."""
        other = DirectTokens(self.shards)
        other._sound = self._sound
        return other


def refuse_vanished(shards: ShardSet, record: int) -> None:
    """Raises StorageError when the record's tar was there as the set was opened and is gone now: a mount may be lost,
    which says nothing of the bytes."""
    info = shards.manifest.shards[shards.locate(record)[0]]
    path = shards.folder / names.SHARDS / info.name
    if isinstance(path, Path) and not path.exists() and info.name not in shards.faults:
        raise StorageError(f"{path}: is gone since this set was opened; bring it back", str(path))
