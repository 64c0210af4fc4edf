"""Pictures and clips of records as uint8 patches: read by threads, decoded apart (`decoders`), kept for a while."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from trivium.data.records import Document, Text, Video
from trivium.data.shards import Address, ShardSet
from trivium.data.shards.direct import refuse_vanished
from trivium.errors import ShardError
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.decoders import MIB, Decoders, Grid
from trivium.pipelines.train.loading.faults import BadRecordError
from trivium.pipelines.train.loading.patience import Patience, Progress
from trivium.vision.pixels import Bytes

Key = tuple[str, int]  # corpus, record


@dataclass(frozen=True, slots=True)
class Pictures:
    """All pictures of one record in order: grids (frames, rows, columns) and uint8 patches [t·h·w, 588] each.

    A clip is as many of them as it has chunks of four frames.
    """

    grids: tuple[Grid, ...] = ()
    patches: tuple[Bytes, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(patches.nbytes for patches in self.patches)

    @property
    def tokens(self) -> int:
        """Media tokens that they fill: one for every 2×2 patches of a grid, whatever its frames."""
        return sum(h * w // 4 for _, h, w in self.grids)


def _read_whole(shards: ShardSet, record: int) -> tuple[Document, dict[str, bytes]]:
    try:
        return shards.read(record)
    except ShardError:
        refuse_vanished(shards, record)
        raise


class PictureStore:
    """The pictures of any record of the sets, asked for ahead and kept up to `data.cache_mib`; safe for threads."""

    def __init__(self, sets: Mapping[str, ShardSet], decoders: Decoders, data: Data) -> None:
        self.sets, self.decoders = sets, decoders
        self._patience = Patience(data.read_seconds, data.read_attempts)
        self._kept: dict[Key, Future[Pictures]] = {}
        self._sizes: OrderedDict[Key, int] = OrderedDict()  # of what was handed out, the longest unused first
        self._room = data.cache_mib * MIB
        self._lock = threading.Lock()  # the feed's thread and an evaluation share the store
        self._threads: ThreadPoolExecutor | None = None

    def ask(self, corpus: str, record: int) -> "Future[Pictures]":
        """The pictures of a record, being made or ready; the future raises BadRecordError, StorageError, TrainError."""
        key = (corpus, record)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                if key in self._sizes:
                    self._sizes.move_to_end(key)
                return found
            if self.decoders.workers:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(self.decoders.workers, thread_name_prefix="pictures")
                made = self._threads.submit(self._make, key)
            else:
                made = Future()
            self._kept[key] = made
        if not self.decoders.workers:
            try:
                made.set_result(self._make(key))
            except Exception as error:
                made.set_exception(error)
        return made

    def get(self, corpus: str, record: int) -> Pictures:
        """Waits for `ask`. Trouble that may pass is not kept: a later call tries again."""
        key = (corpus, record)
        future = self.ask(corpus, record)
        try:
            pictures = future.result()
        except BadRecordError:
            self._keep(key, 0)
            raise
        except BaseException:
            with self._lock:
                self._kept.pop(key, None)
                self._room += self._sizes.pop(key, 0)
            raise
        self._keep(key, pictures.bytes)
        return pictures

    def _keep(self, key: Key, size: int) -> None:
        """Counts what was handed out and forgets the longest unused; what is still being made is not counted yet."""
        with self._lock:
            if key not in self._sizes and key in self._kept:
                self._sizes[key] = size
                self._room -= size
            while self._room < 0 and self._sizes:
                old, freed = self._sizes.popitem(last=False)
                del self._kept[old]
                self._room += freed

    def _make(self, key: Key) -> Pictures:
        corpus, record = key
        shards = self.sets[corpus]
        document, media = self._read(shards, corpus, record)
        grids: list[Grid] = []
        patches: list[Bytes] = []
        for segment in document.segments:
            if isinstance(segment, Text):
                continue
            where = f"corpus {corpus}: record {shards.entries.id[record]}: {segment.media}"
            try:
                if isinstance(segment, Video):
                    chunks, shapes = self.decoders.clip(media[segment.media], segment)
                else:
                    one, shape = self.decoders.patches(media[segment.media])
                    chunks, shapes = [one], [shape]
            except BadRecordError as error:
                raise BadRecordError(error.reason, f"{where}: {error}") from None
            grids += shapes
            patches += chunks
        return Pictures(tuple(grids), tuple(patches))

    def _read(self, shards: ShardSet, corpus: str, record: int) -> tuple[Document, dict[str, bytes]]:
        held = [shards]

        def work(progress: Progress) -> tuple[Document, dict[str, bytes]]:
            progress.at = (held[0], record)
            return _read_whole(held[0], record)

        def renew() -> None:
            held[0] = shards.reopened()

        try:
            if isinstance(shards.folder, Address):  # addresses have their own tries and time-outs
                return _read_whole(shards, record)
            return self._patience.read(work, renew)
        except ShardError as error:
            raise BadRecordError("bytes", f"corpus {corpus}: {error}") from None

    def close(self) -> None:
        """Ends threads and processes, and reads that are under way; the store can't be used again."""
        self._patience.give_up()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        self.decoders.close()
