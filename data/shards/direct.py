"""Stored tokens read straight into the caller's buffer: what a trainer does millions of times.

Odd: a whole member is checked against its CRC at every read, a part of one at the first read of its record. What fails
is read again the careful way (`ShardSet.read_tokens`), which says what was changed.
"""

import zlib
from pathlib import Path

import numpy as np

from trivium.data.shards import names
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.storage import open_blob
from trivium.errors import ShardError, StorageError


class DirectTokens:
    """The tokens of one opened set, through file handles of its own."""

    def __init__(self, shards: ShardSet) -> None:
        self.shards = shards.reopened()
        self._shard = shards.entries.shard
        self._offset, self._size, self._crc32 = shards.token_members()
        self._sound = np.zeros(len(shards), dtype=bool)
        self._blobs = [open_blob(shards.folder / names.SHARDS / info.name) for info in shards.manifest.shards]

    def into(self, record: int, start: int, view: memoryview) -> None:
        """Stored tokens of a record from token `start` on, little-endian uint32 with flag bits, until `view` is full.

        Raises ShardError for damage, StorageError or OSError for trouble that may pass.
        """
        offset, size = int(self._offset[record]), int(self._size[record])
        blob = self._blobs[self._shard[record]]
        try:
            if len(view) == size:
                blob.into(offset, view)
                if zlib.crc32(view) != self._crc32[record]:
                    view[:] = self._carefully(record)
            elif self._sound[record]:
                blob.into(offset + 4 * start, view)
            else:
                payload = blob.pread(offset, size)
                if zlib.crc32(payload) != self._crc32[record]:
                    payload = self._carefully(record)
                self._sound[record] = True
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
    info = shards.manifest.shards[int(shards.entries.shard[record])]
    path = shards.folder / names.SHARDS / info.name
    if isinstance(path, Path) and not path.exists() and info.name not in shards.faults:
        raise StorageError(f"{path}: is gone since this set was opened; bring it back", str(path))
