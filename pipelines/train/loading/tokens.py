"""Tokens of many pieces, read straight into one buffer: the fast path, on which no byte is copied twice.

Odd: read by `preadv`, not through a memory map, though that is somewhat faster: a tar that is cut under a running
trainer ends a mapped read by SIGBUS, which no code survives, and this one by an error with the record's name.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trivium.curriculum.rows import Piece
from trivium.data.shards import Address, ShardSet
from trivium.data.shards.direct import DirectTokens
from trivium.errors import ShardError
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.patience import Patience, Progress

REMOTE_READS = 16  # ranges asked for at once
NOTHING = np.uint32(0xFFFFFFFF)  # stands for "the record ends here": no id has all bits set


@dataclass(frozen=True, slots=True)
class Stored:
    """Stored tokens (ids with flag bits) of P pieces end to end, T in all.

    `next_P` is the token behind each piece, `NOTHING` where its record ends; `damage` says by piece number why its
    tokens, then undefined, can't be had.
    """

    raw_T: NDArray[np.uint32]
    lengths_P: NDArray[np.int64]
    next_P: NDArray[np.uint32]
    damage: dict[int, str]


class TokenReader:
    """Reads pieces of tokenised sets; used by one thread at a time."""

    def __init__(self, sets: Mapping[str, ShardSet], data: Data) -> None:
        self._direct = {name: DirectTokens(shards) for name, shards in sets.items()}
        self._lengths = {name: shards.entries.tokens for name, shards in sets.items()}
        self._patience = Patience(data.read_seconds, data.read_attempts)
        self._remote = {name for name, shards in sets.items() if isinstance(shards.folder, Address)}
        self._threads: ThreadPoolExecutor | None = None

    def read(self, pieces: Sequence[Piece]) -> Stored:
        """Raises StorageError when storage gives no answer; damage is in the result."""
        lengths_P = np.array([piece.stop - piece.start for piece in pieces], np.int64)
        stops = np.cumsum(lengths_P).tolist()
        # A try that hangs may yet write: each try has a buffer of its own.
        far = [i for i, piece in enumerate(pieces) if piece.corpus in self._remote]
        near = [i for i, piece in enumerate(pieces) if piece.corpus not in self._remote] if far else range(len(pieces))

        def work(progress: Progress) -> Stored:
            stored = _empty(lengths_P)
            self._fill(near, pieces, stops, stored, progress)
            return stored

        stored = self._patience.read(work, self._renew) if near else _empty(lengths_P)
        if far:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(REMOTE_READS, thread_name_prefix="ranges")
            done = [self._threads.submit(self._fill, [i], pieces, stops, stored, Progress()) for i in far]
            for future in done:
                future.result()
        return stored

    def _fill(
        self, which: Sequence[int], pieces: Sequence[Piece], stops: list[int], stored: Stored, progress: Progress
    ) -> None:
        view = memoryview(stored.raw_T).cast("B")
        nexts = memoryview(stored.next_P).cast("B")
        direct = self._direct  # this try's handles
        for i in which:
            piece = pieces[i]
            tokens, record, start, stop = direct[piece.corpus], piece.record, piece.start, piece.stop
            end = stops[i]
            progress.at = (tokens.shards, record)
            try:
                tokens.into(record, start, view[4 * (end - stop + start) : 4 * end])
                if stop < self._lengths[piece.corpus][record]:
                    tokens.into(record, stop, nexts[4 * i : 4 * i + 4])
            except ShardError as error:
                stored.damage[i] = str(error)

    def _renew(self) -> None:
        self._direct = {name: tokens.reopened() for name, tokens in self._direct.items()}

    def close(self) -> None:
        """Ends the threads that read addresses, and reads that are under way; the reader can't be used again."""
        self._patience.give_up()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _empty(lengths_P: NDArray[np.int64]) -> Stored:
    raw_T = np.empty(int(lengths_P.sum()), np.uint32)
    return Stored(raw_T, lengths_P, np.full(len(lengths_P), NOTHING, np.uint32), {})
