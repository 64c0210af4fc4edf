"""The tars of a set, opened when they are read and given back when too many are open."""

from typing import TYPE_CHECKING, Any

from trivium.data.shards import names
from trivium.data.shards.address import Address, Place
from trivium.data.shards.manifest import ShardInfo
from trivium.data.shards.shelf import Shelf
from trivium.data.shards.storage import Blob, RemoteBlob, open_blob

if TYPE_CHECKING:
    from trivium.data.shards.remote import Copies

OPEN = 128  # files of one set; a process may have 1024 open, as most systems come


class Blobs:
    """`blobs[shard]` is a file for random reads. One that is given up closes when its last reader is done with it."""

    def __init__(self, folder: Place, shards: tuple[ShardInfo, ...]) -> None:
        self.folder, self.shards = folder, shards
        self._open: Shelf[int, Blob | RemoteBlob] = Shelf(OPEN, _one)
        self._held: Copies | None = None

    def __getitem__(self, shard: int) -> Blob | RemoteBlob:
        return self._open.get(shard, self._blob)

    def close(self) -> None:
        """Gives all handles back; a later read opens them again."""
        self._open.clear()
        if self._held is not None:
            self._held.clear()

    def _blob(self, shard: int) -> Blob | RemoteBlob:
        if self._held is None and isinstance(self.folder, Address):
            from trivium.data.shards import remote

            self._held = remote.copies()
        return open_blob(self.folder / names.SHARDS / self.shards[shard].name, self._held)


def _one(_: Any) -> int:
    return 1
