"""Replies by the address of their request, on disk, so that nothing is generated or paid for twice.

Odd: one SQLite file in write-ahead mode, which a process killed at any instant leaves whole and which any number of
processes on one machine read and write. A reply counts once it is committed; of two processes that got two replies for
one request, both hand out the first that was committed. What a model itself answered and is of no use (`empty`,
`filtered`) is kept too, since it was paid for; faults of servers are not: another run may fare better.
"""

import asyncio
import contextlib
import fcntl
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trivium.data.rephrase.backend import Backend, Failure, Reply, Request
from trivium.errors import StorageError

FILE = "replies.sqlite"
PAID = ("empty", "filtered")  # failures that are the model's own answer
_LOCK_SECONDS = 60.0  # that a process waits for another's write, which takes less than a thousandth of that
_VERSION = 1


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    """One row: a reply or a failure."""

    reply: Reply | None
    failure: Failure | None


class Replies:
    """The file itself. Raises StorageError when it can't be opened, or is damaged."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        with self._told_apart():
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{FILE}.lock").open("a") as lock:
                # SQLite doesn't wait when two processes turn a new file to write-ahead mode at once.
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._file = sqlite3.connect(self.path, timeout=_LOCK_SECONDS, isolation_level=None)
                self._file.execute("PRAGMA journal_mode=WAL")
                self._file.execute("PRAGMA synchronous=NORMAL")
                version = self._file.execute("PRAGMA user_version").fetchone()[0]
                if version not in (0, _VERSION):
                    raise StorageError(f"{self.path}: cache version {version}, this Trivium knows {_VERSION}")
                self._file.execute("CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply BLOB NOT NULL)")
                self._file.execute(f"PRAGMA user_version={_VERSION}")

    def get(self, key: str) -> Reply | Failure | None:
        """What was answered before."""
        with self._told_apart():
            row = self._file.execute("SELECT reply FROM replies WHERE key = ?", (bytes.fromhex(key),)).fetchone()
            if row is None:
                return None
            kept = msgspec.json.decode(row[0], type=_Kept)
        return kept.reply or kept.failure

    def put(self, key: str, answer: Reply | Failure) -> Reply | Failure:
        """Keeps an answer, and gives the one that stands: another process may have been first."""
        kept = _Kept(answer, None) if isinstance(answer, Reply) else _Kept(None, answer)
        with self._told_apart():
            row = (bytes.fromhex(key), msgspec.json.encode(kept))
            new = self._file.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", row).rowcount
        return answer if new else self.get(key) or answer

    def __len__(self) -> int:
        with self._told_apart():
            return int(self._file.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    @contextlib.contextmanager
    def _told_apart(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, msgspec.DecodeError) as error:
            raise StorageError(
                f"{self.path}: the cache of replies can't be used ({error}); free its disk, or move the file away, "
                "which makes its replies be asked for again"
            ) from None


class Cached:
    """A backend with its replies kept; equal requests in flight in this process are one call."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        self.name, self.usage = backend.name, backend.usage
        self._backend, self._folder = backend, folder
        self._replies: Replies | None = None
        self._asked: dict[str, asyncio.Task[Reply | Failure]] = {}

    @property
    def model(self) -> str:
        """The backend's, which may know it only once it is open."""
        return self._backend.model

    async def open(self) -> None:
        """Opens the backend, then the file. Raises StorageError, and what the backend raises."""
        await self._backend.open()
        try:
            self._replies = Replies(self._folder)
        except BaseException:
            await self._backend.close()
            raise

    async def close(self) -> None:
        """Waits for the calls that are out, which are paid for, and closes both."""
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
        await self._backend.close()
        if self._replies is not None:
            self._replies.close()
            self._replies = None

    async def generate(self, request: Request) -> Reply | Failure:
        """From the file, from an equal call that is out, or from the backend."""
        assert self._replies is not None, "open comes first"
        key = request.key()
        kept = self._replies.get(key)
        if kept is not None:
            self.usage.requests += 1
            self.usage.cached += 1
            return _kept(kept)
        asked = self._asked.get(key)
        if asked is None:
            # A task of its own: who asked may be cancelled, and the reply is paid for all the same.
            asked = self._asked[key] = asyncio.create_task(self._ask(key, request, self._replies))
            return await asyncio.shield(asked)
        self.usage.requests += 1
        answer = await asyncio.shield(asked)
        if isinstance(answer, Failure):
            self.usage.failures += 1
        else:
            self.usage.cached += 1
        return _kept(answer)

    async def _ask(self, key: str, request: Request, replies: Replies) -> Reply | Failure:
        try:
            answer = await self._backend.generate(request)
            if isinstance(answer, Reply) or answer.reason in PAID:
                answer = replies.put(key, answer)
            return answer
        finally:
            del self._asked[key]


def _kept(answer: Reply | Failure) -> Reply | Failure:
    return msgspec.structs.replace(answer, cached=True) if isinstance(answer, Reply) else answer


def cached(backend: Backend, folder: Path | None) -> Backend:
    """The backend with a cache; as it is where no folder is given."""
    return backend if folder is None else Cached(backend, folder)
