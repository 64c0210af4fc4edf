"""Rows of the curriculum → batches, read ahead by one thread.

Odd: the thread only runs ahead; what it hands over is a pure function of the plan's state, and that state travels with
the batch. So a checkpoint stores the state of the step that was trained, whatever lies ready in the queue.
"""

import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from trivium.curriculum.plan import Plan
from trivium.curriculum.rows import Piece, Row, State, StepRows
from trivium.data.patches import PictureRules
from trivium.data.records import Image
from trivium.data.shards import ShardSet
from trivium.data.tokenizers.layout import split_tokens
from trivium.errors import InputError
from trivium.model.batch import Batch, Sample, collate
from trivium.vision.preprocess import Patches, load_patches

AHEAD = 2  # steps ready in the queue
CACHE_BYTES = 256 << 20  # patches kept ready, fp32

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Pictures:
    """All pictures of one record in order: grids (frames, rows, columns in patches) and patches [t·h·w, 588] each."""

    grids: tuple[Grid, ...] = ()
    patches: tuple[Tensor, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.patches)


class Assembler:
    """Reads pieces out of shard sets; patches of recently used records stay in memory, up to `cache_bytes`."""

    def __init__(
        self, sets: Mapping[str, ShardSet], rules: PictureRules, media_pad: int, *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self.sets, self.rules, self.media_pad = sets, rules, media_pad
        self._cache: OrderedDict[tuple[str, int], Pictures] = OrderedDict()
        self._room = cache_bytes
        self._lock = threading.Lock()  # the reading thread and an evaluation share the cache

    def sample(self, piece: Piece, pictures: Pictures | None = None) -> Sample:
        """One document's tokens and pictures; `pictures` stand in for its own ones of equal grids."""
        shards = self.sets[piece.corpus]
        ids, loss = split_tokens(shards.read_tokens(piece.record)[piece.start : piece.stop])
        shown = self.pictures(piece.corpus, piece.record) if pictures is None else pictures
        return Sample(ids, loss, shown.grids, shown.patches)

    def batch(self, rows: Sequence[Row]) -> Batch:
        """All pieces of the rows, in order. Raises ShardError or InputError for a damaged record."""
        return collate([self.sample(piece) for row in rows for piece in row.pieces], self.media_pad)

    def pictures(self, corpus: str, record: int) -> Pictures:
        """The prepared pictures of a record; none for a text record, whose document is then not even read."""
        shards = self.sets[corpus]
        if not shards.entries.images[record]:
            return Pictures()
        key = (corpus, record)
        with self._lock:
            found = self._cache.get(key)
            if found is not None:
                self._cache.move_to_end(key)
                return found
        segments = shards.read_document(record).segments
        prepared = [self._prepare(corpus, record, image.media) for image in segments if isinstance(image, Image)]
        made = Pictures(tuple(one.grid for one in prepared), tuple(one.patches_NC for one in prepared))
        self._keep(key, made)
        return made

    def _prepare(self, corpus: str, record: int, media: str) -> Patches:
        shards = self.sets[corpus]
        try:
            return load_patches(shards.read_media(record, media), self.rules)
        except InputError as error:
            raise InputError(f"corpus {corpus}: record {shards.entries.id[record]}: {media}: {error}") from None

    def _keep(self, key: tuple[str, int], made: Pictures) -> None:
        with self._lock:
            if key in self._cache:
                return
            self._cache[key] = made
            self._room -= made.bytes
            while self._room < 0 and self._cache:
                _, dropped = self._cache.popitem(last=False)
                self._room += dropped.bytes


@dataclass(frozen=True, slots=True)
class Fed:
    """One step's rows and batch, the plan's state behind it, and the seconds that the loop waited for it."""

    rows: StepRows
    batch: Batch
    behind: State
    waited: float


class Feed:
    """Iterates over the steps from `state` to the end; `close` (or `with`) stops the thread."""

    def __init__(self, plan: Plan, assembler: Assembler, state: State | None = None, *, ahead: int = AHEAD) -> None:
        self._ready: queue.Queue[tuple[StepRows, Batch, State] | BaseException | None] = queue.Queue(maxsize=ahead)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(plan, assembler, state), name="feed", daemon=True)
        self._thread.start()

    def _work(self, plan: Plan, assembler: Assembler, state: State | None) -> None:
        try:
            for rows, behind in plan.rows(state):
                if not self._put((rows, assembler.batch(rows.rows), behind)):
                    return
            self._put(None)
        except BaseException as error:  # handed over, raised where the loop stands
            self._put(error)

    def _put(self, item: tuple[StepRows, Batch, State] | BaseException | None) -> bool:
        while not self._closed.is_set():
            try:
                self._ready.put(item, timeout=0.2)
            except queue.Full:
                continue
            return True
        return False

    def __iter__(self) -> "Feed":
        return self

    def __next__(self) -> Fed:
        start = time.perf_counter()
        item = self._ready.get()
        if item is None:
            raise StopIteration
        if isinstance(item, BaseException):
            raise item
        return Fed(*item, waited=time.perf_counter() - start)

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
