"""Reads that may hang: done by a thread that is given up when nothing moves, and begun anew.

Odd: a thread stuck in the kernel can't be ended, so it is left behind as a daemon; its handles are its own. Only
trouble of storage is tried again (OSError, StorageError, no progress); damage (ShardError) is the answer, at once.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from trivium.data.shards import ShardSet
from trivium.errors import StorageError

T = TypeVar("T")
PAUSE = 0.5  # seconds before the second try; doubles
LOOK = 0.05  # seconds between looks at a read that is under way


class Progress:
    """The record that is being read; setting `at` counts as progress."""

    def __init__(self) -> None:
        self._at: tuple[ShardSet, int] | None = None
        self.since = time.monotonic()

    @property
    def at(self) -> tuple[ShardSet, int] | None:
        return self._at

    @at.setter
    def at(self, place: tuple[ShardSet, int]) -> None:
        self._at, self.since = place, time.monotonic()

    def __str__(self) -> str:
        return "the first record" if self._at is None else self._at[0].where(self._at[1])


class Patience:
    """Runs reads with `seconds` without progress allowed and `attempts` tries; safe for several threads."""

    def __init__(self, seconds: float, attempts: int) -> None:
        self.seconds, self.attempts = seconds, attempts
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Ends waiting, for good: reads under way and later ones raise StorageError."""
        self._given_up.set()

    def read(self, work: Callable[[Progress], T], renew: Callable[[], None]) -> T:
        """`work(progress)`; before every try but the first `renew` has to drop handles that may be stuck.

        Raises StorageError when the last try fails or hangs, and whatever else `work` raises.
        """
        began, pause, why = time.monotonic(), PAUSE, ""
        progress = Progress()
        for attempt in range(self.attempts):
            if attempt:
                self._given_up.wait(pause)
                pause *= 2
                renew()
            progress = Progress()
            job = _Job(work, progress)
            if not job.finished(self.seconds, self._given_up):
                why = f"no answer for {self.seconds:g} s"
                if self._given_up.is_set():
                    raise StorageError(f"{progress}: the read was given up, since the run ends", str(progress))
                continue
            if isinstance(job.error, OSError | StorageError):
                why = str(job.error)
                continue
            return job.result()
        raise StorageError(
            f"{progress}: could not be read in {self.attempts} tries ({why}). Nothing was skipped: when the storage "
            "answers again, the same command goes on from the last checkpoint; slow storage needs a larger "
            "data.read_seconds",
            str(progress),
            time.monotonic() - began,
        )


class _Job(Generic[T]):
    """One try in its thread."""

    def __init__(self, work: Callable[[Progress], T], progress: Progress) -> None:
        self.error: BaseException | None = None
        self._found: list[T] = []
        self._progress = progress
        self._thread = threading.Thread(target=self._run, args=(work,), name="read", daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Progress], T]) -> None:
        try:
            self._found.append(work(self._progress))
        except BaseException as error:  # handed over, raised where the result is asked for
            self.error = error

    def finished(self, seconds: float, given_up: threading.Event) -> bool:
        """Waits; False when there was no progress for `seconds`, or when nobody waits any more."""
        while self._thread.is_alive():
            left = self._progress.since + seconds - time.monotonic()
            if left <= 0 or given_up.is_set():
                return False
            self._thread.join(min(left, LOOK))
        return True

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return self._found[0]
