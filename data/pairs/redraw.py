"""Drawing again what records hold, and comparing pixels: the proof that code and picture still belong together.

Odd: an engine works in guarded children, so threads are enough to keep several cores busy; each thread has engines of
its own, opened at the first record that needs them. Records of one item share pictures: equal code, files and settings
are drawn once, and what came of it is compared with each stored picture.
"""

import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

import msgspec

from trivium.data.pairs.engine import Engine, engine
from trivium.data.pairs.look import Look, Looker
from trivium.data.records import Document, Drawn, Text, Video
from trivium.errors import GuardError, MissingDependencyError, ShardError

Outcome = Literal["same", "different", "not_drawn"]

MOST_PIXELS = 64_000_000  # of a picture
_AHEAD = 4  # records a thread that wait for it
_REMEMBERED = 100_000  # drawings, some 300 bytes each


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """One picture drawn again; `reason` says why it could not be, `here` is this machine's environment where known."""

    record: str
    media: str
    engine: str
    outcome: Outcome
    reason: str = ""
    detail: str = ""
    environment: str = ""  # it was drawn with
    here: str = ""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one drawing: digests of its bytes, of its canonical picture and of its pixels; or why none did."""

    bytes: tuple[str, ...] = ()
    pixels: str = ""
    ink: float = 0.0
    size: tuple[int, int, int] = (0, 0, 0)  # width, height, frames
    reason: str = ""
    detail: str = ""


class Memory:
    """The latest drawings by digest of all that they were made of; threads share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Seen] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Seen | None:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def put(self, key: str, drawing: Seen) -> None:
        with self._lock:
            self._known[key] = drawing
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


class Artist:
    """Engines by name and one looker. `close` ends their children."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = Memory() if memory is None else memory
        self._looker = Looker(max_pixels=MOST_PIXELS)
        self._engines: dict[str, tuple[Engine, str]] = {}
        self._absent: dict[str, MissingDependencyError | ShardError] = {}

    def close(self) -> None:
        self._looker.close()
        for drawer, _ in self._engines.values():
            drawer.close()

    def again(self, document: Document, media: Mapping[str, bytes]) -> Iterator[Again]:
        """Each of the record's pictures whose code it holds, drawn again in order and compared exactly."""
        clips = {segment.media for segment in document.segments if isinstance(segment, Video)}
        for drawn in document.meta.drawn:
            if drawn.code >= 0:
                yield self._compare(document, media, drawn, clip=drawn.media in clips)

    def _compare(self, document: Document, media: Mapping[str, bytes], drawn: Drawn, *, clip: bool) -> Again:
        here = ""

        def said(outcome: Outcome, reason: str = "", detail: str = "") -> Again:
            return Again(
                record=document.id,
                media=drawn.media,
                engine=drawn.engine,
                outcome=outcome,
                reason=reason,
                detail=detail[:300],
                environment=drawn.environment,
                here=here,
            )

        stored, code = media.get(drawn.media), code_of(document, drawn)
        lost = [name for name in drawn.files.values() if name not in media]
        if stored is None or code is None or lost:
            what = ", ".join(lost) or (drawn.media if stored is None else f"segment {drawn.code}")
            return said("not_drawn", "incomplete", f"the record does not hold {what}")
        try:
            here = self._engine(drawn.engine)[1]
        except (MissingDependencyError, ShardError) as error:
            return said("not_drawn", "no_engine", str(error))
        now = self._draw(drawn, code, {path: media[name] for path, name in drawn.files.items()}, clip=clip)
        if now.reason:
            return said("not_drawn", now.reason, now.detail)
        if _digest(stored) in now.bytes:
            return said("same")
        try:
            before = self._looker.look(stored, clip=clip)
        except GuardError as error:
            return said("different", error.reason, f"what is stored: {error}")
        return said("same") if before.pixels == now.pixels else said("different", "pixels", _unlike(before, now))

    def _draw(self, drawn: Drawn, code: str, files: dict[str, bytes], *, clip: bool) -> Seen:
        """Draws, or remembers what came of it. The canonical picture of a clip is its first frame, so not its bytes."""
        named = sorted((path, _digest(payload)) for path, payload in files.items())
        key = _digest(msgspec.json.encode([drawn.engine, code, named, drawn.settings, clip]))
        known = self._memory.get(key)
        if known is None:
            try:
                payload = self._engine(drawn.engine)[0].draw(code, files, drawn.settings).payload
                look = self._looker.look(payload, clip=clip)
                known = Seen(
                    bytes=(_digest(payload),) if clip else (_digest(payload), _digest(look.png)),
                    pixels=look.pixels,
                    ink=look.ink,
                    size=(look.width, look.height, look.frames),
                )
            except (MissingDependencyError, ShardError) as error:
                known = Seen(reason="no_engine", detail=str(error))
            except GuardError as error:
                known = Seen(reason=error.reason, detail=str(error))
            self._memory.put(key, known)
        return known

    def _engine(self, name: str) -> tuple[Engine, str]:
        """An open engine and its environment. Raises MissingDependencyError or ShardError, again at each call."""
        if name in self._absent:
            raise self._absent[name]
        if name not in self._engines:
            try:
                made = engine(name)
                made.open()
                self._engines[name] = made, made.environment()
            except (MissingDependencyError, ShardError) as error:
                self._absent[name] = error
                raise
        return self._engines[name]


def code_of(document: Document, drawn: Drawn) -> str | None:
    """The code that drew a picture; None where the record does not hold it."""
    segment = document.segments[drawn.code] if 0 <= drawn.code < len(document.segments) else None
    return segment.text if isinstance(segment, Text) else None


def redraw(records: Iterable[tuple[Document, Mapping[str, bytes]]], jobs: int) -> Iterator[list[Again]]:
    """For each record, in order, what became of its pictures; `jobs` threads draw."""
    own = threading.local()
    memory = Memory()
    artists: list[Artist] = []

    def work(document: Document, media: Mapping[str, bytes]) -> list[Again]:
        if not hasattr(own, "artist"):
            own.artist = Artist(memory)
            artists.append(own.artist)
        return list(own.artist.again(document, media))

    waiting: deque[Future[list[Again]]] = deque()
    try:
        with ThreadPoolExecutor(jobs) as pool:
            try:
                for document, media in records:
                    waiting.append(pool.submit(work, document, media))
                    if len(waiting) > _AHEAD * jobs:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
    finally:
        for artist in artists:
            artist.close()


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _unlike(before: Look, now: Seen) -> str:
    width, height, count = now.size
    if (before.width, before.height, before.frames) != now.size:
        frames = (f", {before.frames} frames", f", {count} frames") if count else ("", "")
        return f"{before.width} × {before.height}{frames[0]} stored, {width} × {height}{frames[1]} now"
    return f"ink {before.ink:.4%} stored, {now.ink:.4%} now"
