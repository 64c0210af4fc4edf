"""Steps of the plan as batches, made ahead by one thread.

Odd: the thread only runs ahead; what it hands over is a pure function of the plan's state, and that state travels with
the batch. So a checkpoint stores the state of the step that was trained, whatever lies ready in the queue.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from trivium.curriculum.plan import Plan
from trivium.curriculum.rows import Row, State, StepRows
from trivium.errors import TriviumError
from trivium.model.batch import Batch
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.loading.faults import Skip

LOOK = 0.5  # seconds between looks at `interrupted`
CLOSING = 5.0  # seconds that a stopping thread is waited for

Share = Callable[[StepRows], tuple[Row, ...]]


@dataclass(frozen=True, slots=True)
class Fed:
    """One step: all its rows, the batch of this process's share of them, what that leaves out, the plan's state behind
    it, and the seconds that the loop waited for it."""

    rows: StepRows
    batch: Batch
    skips: tuple[Skip, ...]
    behind: State
    waited: float


_Ready = tuple[StepRows, Batch, tuple[Skip, ...], State]


class Feed:
    """Iterates over the steps from `state` to the end; `close` (or `with`) stops the thread.

    `share` picks the rows that this process computes (all of them when left out); nothing of the others is read. Once
    `interrupted` says so, waiting for a step ends the iteration.
    """

    def __init__(
        self,
        plan: Plan,
        assembler: Assembler,
        state: State | None = None,
        *,
        ahead: int | None = None,
        share: Share | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._assembler = assembler
        self._interrupted = interrupted
        self._share = share or (lambda step: step.rows)
        self._ahead = ahead or Data().ahead
        self._ready: queue.Queue[_Ready | BaseException | None] = queue.Queue(maxsize=self._ahead)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(plan, state), name="feed", daemon=True)
        self._thread.start()

    def _work(self, plan: Plan, state: State | None) -> None:
        """Pictures are asked for `ahead` steps before their batch is made, so that decoding never waits for a step."""
        asked: deque[tuple[StepRows, tuple[Row, ...], State]] = deque()
        end: BaseException | None = None
        try:
            try:
                for step, behind in plan.rows(state):
                    mine = self._share(step)
                    self._assembler.prefetch(mine)
                    asked.append((step, mine, behind))
                    if len(asked) > self._ahead and not self._make(*asked.popleft()):
                        return
            except TriviumError as error:
                end = error  # of a later step: those before it come first
            while asked:
                if not self._make(*asked.popleft()):
                    return
            self._put(end)
        except BaseException as error:  # handed over, raised where the loop stands
            self._put(error)

    def _make(self, step: StepRows, mine: tuple[Row, ...], behind: State) -> bool:
        if self._closed.is_set():
            return False
        made = self._assembler.assemble(mine)
        return self._put((step, made.batch, made.skips, behind))

    def _put(self, item: _Ready | BaseException | None) -> bool:
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
        while True:
            try:
                item = self._ready.get(timeout=LOOK)
                break
            except queue.Empty:
                if self._interrupted():
                    raise StopIteration from None
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
        """Stops the thread; the assembler stays open. A thread that hangs in a read is left to the closing of that."""
        self._closed.set()
        self._thread.join(CLOSING)
