"""A program that lasts and is spoken to over pipes, such as a browser, with the memory of its whole tree watched.

    with Service([CHROMIUM, "--remote-debugging-pipe", …], limits=…, profile=…) as browser:
        os.write(browser.write_fd, …)       # what the program reads at 3
        os.read(browser.read_fd, …)         # what it writes to 4

Odd: the time and processor limits are those of one piece of work, not of the program; `with service.work():` holds
them.
"""

import contextlib
import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

from trivium.data.closing import Closing
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits
from trivium.data.guard.program import locate
from trivium.data.guard.running import OverrunError, Running
from trivium.data.guard.sandbox import Sandbox, sandbox
from trivium.errors import GuardError

_TICK = 0.1  # seconds between looks at the tree
_LAST = 0.3  # seconds from a broken pipe to the word of why
_STDERR_KEPT = 1 << 16


class Service(Closing):
    """Starts `argv` with `files` in its folder; it reads our words at descriptor 3 and answers at 4.

    Broken limits end it: reads then see the end of the pipe, and `work` and `check` raise the reason.
    Raises as `run` does.
    """

    def __init__(
        self,
        argv: Sequence[str],
        files: Mapping[str, bytes] | None = None,
        *,
        limits: Limits | None = None,
        profile: Profile | None = None,
        isolation: Sandbox | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._stderr = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._overrun: OverrunError | None = None
        self._deadline = self._cpu = float("inf")
        self._closing = threading.Event()
        theirs_in, self.write_fd = os.pipe()
        self.read_fd, theirs_out = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        try:
            self._running = Running(
                (str(locate(argv[0])), *argv[1:]),
                files or {},
                self._limits,
                profile or Profile(),
                isolation or sandbox(),
                stdin=null,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pipes=(theirs_in, theirs_out),
                lasting=True,
            )
        except BaseException:
            self._close_ours()
            raise
        finally:
            for fd in (null, theirs_in, theirs_out):
                os.close(fd)
        self._watcher = threading.Thread(target=self._watch, name="guard-watch", daemon=True)
        self._watcher.start()

    @property
    def folder(self) -> int:
        """The open folder that the program sees as /scratch."""
        return self._running.folder

    @property
    def peak_bytes(self) -> int:
        """The most that the tree was seen to hold, shared pages once where that mattered."""
        return self._running.peak_bytes

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """One piece of work within `wall_seconds` and `cpu_seconds`; an error in it gives way to a broken limit's."""
        self._deadline = time.monotonic() + self._limits.wall_seconds
        self._cpu = self._running.seen.cpu_seconds + self._limits.cpu_seconds
        try:
            yield
        except Exception:
            self._ended(_LAST)
            self.check()
            raise
        finally:
            self._deadline = self._cpu = float("inf")
        self.check()

    def check(self) -> None:
        """Raises GuardError with the reason for which the program was ended, if it was or has ended by itself."""
        if self._overrun is not None:
            raise GuardError(self._overrun.reason, str(self._overrun), self._overrun.reason == "timeout")
        if self._ended(0):
            raise GuardError("crashed", f"the program ended by itself: {self._last_words() or 'it said nothing'}")

    def close(self) -> None:
        """Ends the program and everything that it started."""
        self._closing.set()
        self._watcher.join()
        self._running.close()
        self._close_ours()

    def _watch(self) -> None:
        while not self._closing.wait(_TICK):
            if self._ended(0):
                return
            try:
                self._running.look()
                self._look_at_work()
                if os.fstat(self._stderr.fileno()).st_size > _STDERR_KEPT:
                    self._stderr.truncate(0)
                    self._stderr.seek(0)
            except OverrunError as error:
                self._overrun = error
                self._running.end(0)
                return

    def _ended(self, seconds: float) -> bool:
        """Whether the launcher has spoken its last word or is gone, within `seconds`."""
        poller = select.poll()
        poller.register(self._running.control.fileno(), select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def _look_at_work(self) -> None:
        if time.monotonic() > self._deadline:
            raise OverrunError("timeout", f"not done within {self._limits.wall_seconds:g} s")
        if self._running.seen.cpu_seconds > self._cpu:
            raise OverrunError("timeout", f"used more than {self._limits.cpu_seconds} s of processor time")

    def _last_words(self) -> str:
        size = os.fstat(self._stderr.fileno()).st_size
        return " ".join(os.pread(self._stderr.fileno(), 400, max(0, size - 400)).decode(errors="replace").split())

    def _close_ours(self) -> None:
        self._stderr.close()
        for fd in (self.write_fd, self.read_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        self.write_fd = self.read_fd = -1
