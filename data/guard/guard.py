"""The parent's side: a guarded function call that always comes back."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from trivium.data.closing import Closing
from trivium.data.guard import answer as protocol
from trivium.data.guard import frames
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits, signal_name
from trivium.data.guard.process import Child
from trivium.data.guard.sandbox import Sandbox, sandbox
from trivium.errors import BuildError, GuardError, MissingDependencyError
from trivium.needs import cure

T = TypeVar("T")
_SIGXCPU, _SIGABRT, _SIGKILL = 24, 6, 9
_GRACE = 2.0  # seconds
_OUT_OF_MEMORY = ("MemoryError", "memory allocation of", "bad_alloc", "Cannot allocate memory", "out of memory")


class Guard(Closing):
    """One persistent child that runs `task` ("package.module:function") under `limits`.

    `isolation=None` takes the strongest walls that the machine has. `extra` are more folders that the child may import
    from, read-only; `profile` names what else it sees. `apart` runs each request in a process of its own, forked from
    the child that has imported everything: for code of strangers, which would otherwise leave something behind for the
    next request. One guard a worker; calls from several threads wait for each other.
    """

    def __init__(
        self,
        task: str,
        limits: Limits | None = None,
        *,
        isolation: Sandbox | None = None,
        extra: Sequence[Path] = (),
        profile: Profile | None = None,
        apart: bool = False,
    ) -> None:
        self.task = task
        self.profile = profile or Profile()
        self.apart = apart
        self.limits = limits or Limits()
        self._isolation = isolation
        self._extra = tuple(extra)
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._owner = 0
        self._served = 0
        self.starts = 0  # children started so far
        self.filtered = False  # whether the system-call filter holds in the present child
        self.confined = False  # whether it can open nothing but the interpreter's files

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Starts the child now instead of at the first call.

        Raises MissingDependencyError when the task can't be imported or the sandbox that `limits` require is absent,
        BuildError when no child comes up.
        """
        with self._lock:
            self._ready()

    def close(self) -> None:
        """Ends and reaps the child; the guard can be used again."""
        with self._lock:
            self._drop()

    def call(self, request: Any, kind: type[T]) -> T:
        """`task(request)`, decoded as `kind`.

        Raises GuardError with reason `timeout`, `memory`, `crashed`, `output_too_large` or `refused` (the task raised),
        or the reason of a GuardError that the task itself raised. The next call has a fresh child where one is needed.
        """
        payload = msgspec.msgpack.encode(request)
        limits = self.limits
        with self._lock:
            child = self._ready()
            self._served += 1
            try:
                seconds = limits.wall_seconds + (_GRACE if self.apart else 0)  # the child itself keeps the deadline
                reply = child.exchange(payload, seconds=seconds, limit=limits.output_bytes)
            except frames.OverdueError:
                self._drop()
                raise self._late() from None
            except frames.OversizedError as error:
                self._drop()
                raise _too_large(error.size, limits) from None
            except frames.ClosedError:
                raise self._post_mortem() from None
            except BaseException:
                self._drop()  # interrupted between request and reply: the pipe is out of step
                raise
            return self._unwrap(reply, kind)

    def _unwrap(self, reply: bytearray, kind: type[T]) -> T:
        status, body = reply[0] if reply else -1, memoryview(reply)[1:]
        try:
            if status == protocol.DONE:
                return msgspec.msgpack.decode(body, type=kind)
            if status == protocol.REFUSED:
                reason, message = msgspec.msgpack.decode(body, type=tuple[str, str])
                raise GuardError(reason, message)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._drop()
            raise GuardError("crashed", f"the child's reply makes no sense ({error}); killed") from None
        if status == protocol.LATE:
            raise self._late()
        if status == protocol.DIED:
            raise self._death(int(bytes(body)), self._child.last_words() if self._child else "")
        if status == protocol.TOO_LARGE:
            raise _too_large(int(bytes(body)), self.limits)
        if status != protocol.MEMORY or not self.apart:
            self._drop()
        if status == protocol.MEMORY:
            raise GuardError("memory", f"needed more than {self.limits.memory_bytes >> 20} MiB")
        raise GuardError("crashed", f"the child's reply has the unknown status {status}; killed")

    def _ready(self) -> Child:
        if self._child is not None and self._owner != os.getpid():
            self._child = None  # after a fork the child belongs to the other process
        if self._child is not None and (self._served >= self.limits.requests or not self._child.alive):
            self._drop()
        if self._child is None:
            self._child = self._begin()
            self._owner, self._served = os.getpid(), 0
            self.starts += 1
        return self._child

    def _begin(self) -> Child:
        found = self._isolation or sandbox()
        if self.limits.require_sandbox and not found.strong:
            raise MissingDependencyError(
                f"this recipe requires the sandbox, which can't be had here ({found.reason}); run "
                "`apt-get install bubblewrap` or set require_sandbox: false"
            )
        child = Child(self.task, self.limits, found, self.profile, self._extra, self.apart)
        try:
            word = child.exchange(None, seconds=self.limits.start_seconds, limit=1 << 16)
        except (frames.ClosedError, frames.OverdueError, frames.OversizedError) as error:
            code = child.kill()
            words = child.last_words()
            child.forget()
            raise BuildError(
                f"the guarded child for {self.task} did not start ({type(error).__name__.lower()}, exit {code}): "
                f"{words or 'it said nothing'}; see `trivium doctor`"
            ) from None
        if word[:1] != bytes([protocol.READY]):
            child.kill()
            child.forget()
            raise MissingDependencyError(
                f"the guarded task {self.task} can't be imported: {word[1:].decode(errors='replace')}; "
                f"run: {cure('build')} (and for SVG: apt-get install libcairo2)"
            )
        self.filtered, self.confined = word[1:2] == b"\x01", word[2:3] == b"\x01"
        return child

    def _drop(self) -> None:
        if self._child is not None:
            if self._owner == os.getpid():
                self._child.kill()
                self._child.forget()
            self._child = None

    def _post_mortem(self) -> GuardError:
        assert self._child is not None
        code = self._child.kill()
        words = self._child.last_words()
        self._drop()
        return self._death(code, words)

    def _late(self) -> GuardError:
        return GuardError("timeout", f"no answer within {self.limits.wall_seconds:g} s; killed", True)

    def _death(self, code: int, words: str) -> GuardError:
        number = code - 128
        if number == _SIGXCPU:
            return GuardError("timeout", f"used more than {self.limits.cpu_seconds} s of processor time")
        if any(sign in words for sign in _OUT_OF_MEMORY) and number in (_SIGABRT, -127):
            return GuardError("memory", f"needed more than {self.limits.memory_bytes >> 20} MiB")
        how = f"by {signal_name(number)}" if number > 0 else f"with exit {code}"
        # Only others send SIGKILL: the kernel short of memory, an operator.
        return GuardError(
            "crashed", f"the child ended {how}" + (f": {words[-200:]}" if words else ""), number == _SIGKILL
        )


def _too_large(size: int, limits: Limits) -> GuardError:
    return GuardError("output_too_large", f"{size} bytes of output, {limits.output_bytes} allowed")
