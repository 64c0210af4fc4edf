"""Pictures of records as uint8 patches: read by threads, decoded in guarded worker processes, kept for a while.

Odd: one thread a worker process. A broken picture is an answer and costs the process nothing; a process that is killed
is replaced, and the picture tried again, so that only what the bytes themselves do to a decoder counts against them.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import trivium.vision
from trivium.data.guard import Guard, Limits
from trivium.data.patches import PictureRules
from trivium.data.records import Document, Text, Video
from trivium.data.shards import Address, ShardSet
from trivium.data.shards.direct import refuse_vanished
from trivium.errors import BuildError, GuardError, ShardError, TrainError
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.faults import BadRecordError
from trivium.pipelines.train.loading.patience import Patience, Progress
from trivium.vision.pixels import Bytes, Reply, Request, decode

Grid = tuple[int, int, int]
Key = tuple[str, int]  # corpus, record

TASK = "trivium.vision.pixels:decode"
TRIES = 3  # of one picture, when its worker process is killed from outside
MIB = 1 << 20
# Address space of a worker: a picture of `MAX_PIXELS` at four bytes a pixel, as many again for its conversion.
MEMORY = 3 << 30


@dataclass(frozen=True, slots=True)
class Pictures:
    """All pictures of one record in order: grids (frames, rows, columns) and uint8 patches [t·h·w, 588] each."""

    grids: tuple[Grid, ...] = ()
    patches: tuple[Bytes, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(patches.nbytes for patches in self.patches)

    @property
    def tokens(self) -> int:
        """Media tokens that they fill: one for every 2×2 patches of a grid, whatever its frames."""
        return sum(h * w // 4 for _, h, w in self.grids)


class Decoders:
    """Up to `workers` decoding processes, started on the first use of each thread; 0 decodes in the calling thread.

    `task` names the function that a process runs, `extra` folders that it may import from beside Trivium's.
    """

    def __init__(
        self, workers: int, rules: PictureRules, seconds: int, *, task: str = TASK, extra: Sequence[Path] = ()
    ) -> None:
        self.workers, self.rules = workers, rules
        self._task, self._extra = task, [Path(trivium.vision.__file__).parent, *extra]
        self._limits = Limits(
            cpu_seconds=seconds,
            wall_seconds=min(3600.0, 20.0 * seconds),  # a busy machine is no fault of a picture
            memory_bytes=MEMORY,
            output_bytes=rules.patch_limit * 588 + MIB,
            requests=100_000,
        )
        self._guards: list[Guard] = []
        self._mine = threading.local()
        self._lock = threading.Lock()

    def patches(self, payload: bytes) -> tuple[Bytes, Grid]:
        """Raises BadRecordError for what the bytes do, TrainError when this machine lets no decoder live."""
        request = Request(payload, self.rules)
        if not self.workers:
            try:
                return _unpacked(decode(request))
            except GuardError as error:
                raise BadRecordError("picture", str(error)) from None
        said = ""
        for attempt in range(TRIES):
            try:
                return _unpacked(self._guard().call(request, Reply))
            except GuardError as error:
                said = str(error)
                if error.reason == "picture":
                    raise BadRecordError("picture", said) from None
                if not error.transient and attempt:  # twice, by the bytes alone
                    raise BadRecordError("decoder", said) from None
            except BuildError as error:  # no process came up
                said = str(error)
        raise TrainError(
            f"a picture could not be decoded in {TRIES} tries ({said}). Nothing was skipped, since that is not the "
            "picture's doing: free some memory or give data.workers a smaller number, and give the same command again"
        )

    def _guard(self) -> Guard:
        guard: Guard | None = getattr(self._mine, "guard", None)
        if guard is None:
            guard = Guard(self._task, self._limits, extra=self._extra)
            self._mine.guard = guard
            with self._lock:
                self._guards.append(guard)
        return guard

    @property
    def starts(self) -> int:
        """Processes started so far."""
        with self._lock:
            return sum(guard.starts for guard in self._guards)

    def close(self) -> None:
        """Ends all processes; a later call starts new ones."""
        with self._lock:
            for guard in self._guards:
                guard.close()


def _read_whole(shards: ShardSet, record: int) -> tuple[Document, dict[str, bytes]]:
    try:
        return shards.read(record)
    except ShardError:
        refuse_vanished(shards, record)
        raise


def _unpacked(reply: Reply) -> tuple[Bytes, Grid]:
    grid = (1, reply.rows, reply.columns)
    return np.frombuffer(reply.patches, np.uint8).reshape(reply.rows * reply.columns, -1), grid


class PictureStore:
    """The pictures of any record of the sets, asked for ahead and kept up to `data.cache_mib`; safe for threads."""

    def __init__(self, sets: Mapping[str, ShardSet], decoders: Decoders, data: Data) -> None:
        self.sets, self.decoders = sets, decoders
        self._patience = Patience(data.read_seconds, data.read_attempts)
        self._kept: OrderedDict[Key, Future[Pictures]] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._room = data.cache_mib * MIB
        self._lock = threading.Lock()  # the feed's thread and an evaluation share the store
        self._threads: ThreadPoolExecutor | None = None

    def ask(self, corpus: str, record: int) -> "Future[Pictures]":
        """The pictures of a record, being made or ready; the future raises BadRecordError, StorageError, TrainError."""
        key = (corpus, record)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
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
            raise
        self._keep(key, pictures.bytes)
        return pictures

    def _keep(self, key: Key, size: int) -> None:
        """Counts what was handed out and forgets the longest unused; what is still being made is not counted yet."""
        with self._lock:
            if key not in self._sizes and key in self._kept:
                self._sizes[key] = size
                self._room -= size
            for old in list(self._kept):
                if self._room >= 0:
                    break
                if old in self._sizes:
                    del self._kept[old]
                    self._room += self._sizes.pop(old)

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
            if isinstance(segment, Video):
                raise BadRecordError("layout", f"{where}: a video, and videos have no token layout yet")
            try:
                one, grid = self.decoders.patches(media[segment.media])
            except BadRecordError as error:
                raise BadRecordError(error.reason, f"{where}: {error}") from None
            grids.append(grid)
            patches.append(one)
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
