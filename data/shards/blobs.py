"""The tars of a set, opened when they are read and given back when too many are open."""

from typing import Any

from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.manifest import ShardInfo
from trivium.data.shards.shelf import Shelf
from trivium.data.shards.storage import Blob, RemoteBlob, open_blob

OPEN = 128  # files of one set; a process may have 1024 open, as most systems come


class Blobs:
    """`blobs[shard]` is a file for random reads. One that is given up closes when its last reader is done with it."""

    def __init__(self, folder: Place, shards: tuple[ShardInfo, ...]) -> None:
        self.folder, self.shards = folder, shards
        self._open: Shelf[int, Blob | RemoteBlob] = Shelf(OPEN, _one)

    def __getitem__(self, shard: int) -> Blob | RemoteBlob:
        return self._open.get(shard, self._blob)

    def close(self) -> None:
        """Gives all handles back; a later read opens them again."""
        self._open.clear()

    def _blob(self, shard: int) -> Blob | RemoteBlob:
        return open_blob(self.folder / names.SHARDS / self.shards[shard].name)


def _one(_: Any) -> int:
    return 1
