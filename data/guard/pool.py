"""Some guarded children that share the work of one task; whichever of them dies, the pool goes on."""

import queue
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from trivium.data.closing import Closing
from trivium.data.guard.engine import Profile
from trivium.data.guard.guard import Guard
from trivium.data.guard.limits import Limits
from trivium.data.guard.sandbox import Sandbox
from trivium.errors import GuardError

T = TypeVar("T")


class Pool(Closing):
    """`size` guards of `task`, each with its own child; other arguments as for `Guard`.

    A request that kills its child costs that request alone: the next one has a fresh child.
    """

    def __init__(
        self,
        task: str,
        size: int,
        limits: Limits | None = None,
        *,
        isolation: Sandbox | None = None,
        extra: Sequence[Path] = (),
        profile: Profile | None = None,
        apart: bool = False,
    ) -> None:
        self.guards = tuple(
            Guard(task, limits, isolation=isolation, extra=extra, profile=profile, apart=apart) for _ in range(size)
        )
        self._free: queue.SimpleQueue[Guard] = queue.SimpleQueue()
        for guard in self.guards:
            self._free.put(guard)
        self._threads = ThreadPoolExecutor(max_workers=size, thread_name_prefix="guard-pool")

    def close(self) -> None:
        """Ends the children, after the requests that run."""
        self._threads.shutdown(cancel_futures=True)
        for guard in self.guards:
            guard.close()

    def call(self, request: Any, kind: type[T]) -> T:
        """As `Guard.call`, by the next free child; from any thread."""
        guard = self._free.get()
        try:
            return guard.call(request, kind)
        finally:
            self._free.put(guard)

    def map(self, requests: Iterable[Any], kind: type[T]) -> Iterator[T | GuardError]:
        """An answer or its GuardError for each request, in their order; a few requests a child are under way at once.

        Raises what is no request's fault: a task that can't be imported, a sandbox that does not start.
        """
        ahead = 2 * len(self.guards)
        running: deque[Future[T | GuardError]] = deque()
        for request in requests:
            running.append(self._threads.submit(self._try, request, kind))
            if len(running) >= ahead:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def _try(self, request: Any, kind: type[T]) -> T | GuardError:
        try:
            return self.call(request, kind)
        except GuardError as error:
            return error
