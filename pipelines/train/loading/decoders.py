"""Guarded worker processes that turn the bytes of pictures and clips into uint8 patches.

Odd: one thread a worker process, and one process more for clips where a thread meets one, since a clip may take longer
and hand over more. What is broken is an answer and costs the process nothing; a process that is killed is replaced, and
the picture tried again, so that only what the bytes themselves do to a decoder counts against them.
"""

import importlib.util
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import trivium.vision
from trivium.data.guard import Guard, Limits
from trivium.data.patches import PictureRules
from trivium.data.records import Video
from trivium.data.shards import ShardSet
from trivium.data.video import plan
from trivium.errors import BuildError, GuardError, InputError, MissingDependencyError, TrainError
from trivium.needs import cure
from trivium.pipelines.train.loading.faults import BadRecordError, Reason
from trivium.vision.clips import ClipReply, ClipRequest, decode_clip
from trivium.vision.pixels import Bytes, Reply, Request, decode

Grid = tuple[int, int, int]
R = TypeVar("R", Reply, ClipReply)

TASK = "trivium.vision.pixels:decode"
CLIP_TASK = "trivium.vision.clips:decode_clip"
TRIES = 3  # of one picture, when its worker process is killed from outside
MIB = 1 << 20
# Address space of a worker: a picture of `MAX_PIXELS` at four bytes a pixel, as many again for its conversion.
MEMORY = 3 << 30
ANSWERS: dict[str, Reason] = {"picture": "picture", "clip": "clip", "record": "record"}


def need_clip_decoder(sets: Mapping[str, ShardSet]) -> None:
    """Raises MissingDependencyError where PyAV is absent and a manifest alone says that clips will come.

    A shard with patches and without pictures says so; clips beside pictures are met later, with the same words.
    """
    if importlib.util.find_spec("av") is not None:
        return
    for name, shards in sets.items():
        if any(info.patches and not info.images for info in shards.manifest.shards):
            raise MissingDependencyError(f"corpus {name} holds clips, and PyAV is not installed; run: {cure('video')}")


class Decoders:
    """Up to `workers` decoding processes, started on the first use of each thread; 0 decodes in the calling thread.

    A picture may take `seconds` of processor time, a clip `clip_seconds`. `task` and `clip_task` name the functions
    that the processes run, `extra` folders that they may import from beside Trivium's.
    """

    def __init__(
        self,
        workers: int,
        rules: PictureRules,
        seconds: int,
        clip_seconds: int = 120,
        *,
        task: str = TASK,
        clip_task: str = CLIP_TASK,
        extra: Sequence[Path] = (),
    ) -> None:
        self.workers, self.rules = workers, rules
        self._extra = [Path(trivium.vision.__file__).parent, *extra]
        self._limits = {
            task: _limits(seconds, rules.patch_limit * 588, MEMORY),
            # A clip's patches lie there twice when they are handed over.
            clip_task: _limits(clip_seconds, rules.clips.patches * 588, MEMORY + 2 * rules.clips.patches * 588),
        }
        self._task, self._clip_task = task, clip_task
        self._guards: list[Guard] = []
        self._mine = threading.local()
        self._lock = threading.Lock()

    def picture(self, payload: bytes) -> Reply:
        """Raises BadRecordError for what the bytes do, TrainError when this machine lets no decoder live."""
        return self._decoded(self._task, decode, Request(payload, self.rules), Reply)

    def patches(self, payload: bytes) -> tuple[Bytes, Grid]:
        """Raises BadRecordError and TrainError as `picture` does."""
        reply = self.picture(payload)
        return _rows(reply.patches, reply.rows * reply.columns), (1, reply.rows, reply.columns)

    def clip(self, payload: bytes, stated: Video) -> tuple[list[Bytes], list[Grid]]:
        """The patches of each chunk of frames, [t·h·w, 588], and its grid (t, h, w).

        Raises BadRecordError and TrainError as `patches` does, MissingDependencyError without PyAV.
        """
        try:
            planned = plan(stated, self.rules)
        except InputError as error:
            raise BadRecordError("record", str(error)) from None
        request = ClipRequest(payload, stated, self.rules)
        reply = self._decoded(self._clip_task, decode_clip, request, ClipReply)
        whole, grids = _rows(reply.patches, planned.patches), list(planned.grids)
        stops = np.cumsum([t * h * w for t, h, w in grids])
        return np.split(whole, stops[:-1]), grids

    def _decoded(self, task: str, here: Callable[[Any], R], request: Any, kind: type[R]) -> R:
        if not self.workers:
            try:
                return here(request)
            except GuardError as error:
                raise _answer(error) from None
        said = ""
        for attempt in range(TRIES):
            try:
                return self._guard(task).call(request, kind)
            except GuardError as error:
                said = str(error)
                if error.reason in ANSWERS or error.reason == "missing":
                    raise _answer(error) from None
                if not error.transient and attempt:  # twice, by the bytes alone
                    raise BadRecordError("decoder", said) from None
            except BuildError as error:  # no process came up
                said = str(error)
        raise TrainError(
            f"a picture could not be decoded in {TRIES} tries ({said}). Nothing was skipped, since that is not the "
            "picture's doing: free some memory or give data.workers a smaller number, and give the same command again"
        )

    def _guard(self, task: str) -> Guard:
        mine: dict[str, Guard] = self._mine.__dict__
        if task not in mine:
            mine[task] = Guard(task, self._limits[task], extra=self._extra)
            with self._lock:
                self._guards.append(mine[task])
        return mine[task]

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


def _limits(seconds: int, output: int, memory: int) -> Limits:
    return Limits(
        cpu_seconds=seconds,
        wall_seconds=min(3600.0, 20.0 * seconds),  # a busy machine is no fault of a picture
        memory_bytes=memory,
        output_bytes=output + MIB,
        requests=100_000,
    )


def _answer(error: GuardError) -> Exception:
    if error.reason == "missing":
        return MissingDependencyError(f"the data hold clips, and {error}")
    return BadRecordError(ANSWERS.get(error.reason, "decoder"), str(error))


def _rows(patches: memoryview, count: int) -> Bytes:
    return np.frombuffer(patches, np.uint8).reshape(count, -1)
