"""One guarded process as its parent sees it: started, spoken to, killed, always reaped.

Odd: children are started by one thread of their own, since the kernel ties "die with the parent" to the *thread* that
forked, and a worker's threads come and go.
"""

import contextlib
import fcntl
import functools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from trivium.data.guard import frames
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits
from trivium.data.guard.sandbox import Sandbox, environment, task_command

_PIPE = 1 << 20  # bytes that a pipe may hold: the most that the kernel gives to anybody
_EXIT_SECONDS = 0.5  # from a closed pipe to the exit status, on a busy machine
_FORGETTING = (0.0, 0.05, 0.2, 0.5)  # seconds before each try to remove a folder
_STDERR_KEPT = 1 << 16  # bytes; a chatty library's file is emptied beyond it


@functools.cache
def _spawner(pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"guard-spawner-{pid}")


class Started:
    """A process behind the walls of `found`; `line` makes its command from the descriptor for bubblewrap's word.

    `pid` is the first process inside, as seen from here. Raises OSError.
    """

    def __init__(
        self,
        line: Callable[[int], list[str]],
        found: Sandbox,
        profile: Profile,
        *,
        seconds: float,
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        keep: Sequence[int] = (),
    ) -> None:
        # In the sandbox the folder is in memory; without one it is a real folder that goes with the process.
        self.scratch = "" if found.strong else tempfile.mkdtemp(prefix="trivium-guard-")
        self._killed = threading.Lock()
        self._pidfd: int | None = None
        read_info, write_info = os.pipe()
        try:
            start = _spawner(os.getpid()).submit
            self.process = start(
                subprocess.Popen,
                line(write_info),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(*keep, write_info) if found.strong else keep,
                env=environment(profile, self.scratch or "/"),
                cwd=self.scratch or "/",
                bufsize=0,
                start_new_session=True,  # an interrupt from the terminal is the parent's business
            ).result()
            os.close(write_info)
            write_info = -1
            self.pid = self.process.pid
            if found.strong:
                inner = _inner(read_info, time.monotonic() + seconds)
                if inner is not None:
                    self.pid, self._pidfd = inner
        finally:
            os.close(read_info)
            if write_info >= 0:
                os.close(write_info)

    def kill(self, patience: float = 0.0) -> int:
        """Ends all of it now and reaps it; its exit status as a shell gives it (128 + signal). Safe to repeat.

        `patience`: seconds that it has to end by itself.
        """
        with self._killed:
            if self.process.returncode is None:
                self._end(patience)
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
            if self._pidfd is not None:
                os.close(self._pidfd)
                self._pidfd = None
            code = self.process.returncode or 0
            return 128 - code if code < 0 else code

    def end(self, patience: float) -> None:
        """Like `kill`, but what it wrote can still be read."""
        with self._killed:
            if self.process.returncode is None:
                self._end(patience)

    def forget(self) -> None:
        """Removes the folder of a process without a sandbox; what a dying one still writes is removed with it."""
        for wait in _FORGETTING if self.scratch else ():
            time.sleep(wait)
            shutil.rmtree(self.scratch, ignore_errors=True)
            if not os.path.lexists(self.scratch):
                return

    def _end(self, patience: float) -> None:
        # The inner process first: it dies with everything in its pid namespace, then bubblewrap reaps it and exits.
        # Killing bubblewrap itself would leave the inner one to init, which in a container may reap nobody.
        try:
            self.process.wait(timeout=patience)
            if not self.scratch:
                return
        except subprocess.TimeoutExpired:
            pass
        if self._pidfd is not None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
                self.process.wait(timeout=5)
                return
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        if self.scratch:  # without a namespace the group goes, which the filter lets nobody leave
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


class Child:
    """A running child that answers requests; after an error of `exchange` call `kill`."""

    def __init__(
        self, task: str, limits: Limits, found: Sandbox, profile: Profile, extra: Sequence[Path], apart: bool
    ) -> None:
        self._stderr = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._started = Started(
            lambda info: task_command(task, limits, found, profile, extra, apart=apart, info_fd=info),
            found,
            profile,
            seconds=limits.start_seconds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        process = self._started.process
        assert process.stdin is not None
        assert process.stdout is not None
        self._write_fd, self._read_fd = process.stdin.fileno(), process.stdout.fileno()
        for fd in (self._write_fd, self._read_fd):
            os.set_blocking(fd, False)
            with contextlib.suppress(OSError):  # less room costs switches between the two processes, nothing else
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE)

    @property
    def alive(self) -> bool:
        """False as soon as the child has gone, whether or not anybody asked it something."""
        if self._started.process.poll() is not None:
            return False
        poller = select.poll()
        poller.register(self._read_fd, select.POLLIN)
        return not poller.poll(0)  # between requests any event is an end of file or an unasked word

    def exchange(self, payload: bytes | None, *, seconds: float, limit: int) -> bytearray:
        """One request and its reply within `seconds`, the reply at most `limit` bytes.

        Raises frames.ClosedError, OverdueError, OversizedError.
        """
        reply = frames.exchange(
            self._write_fd, self._read_fd, payload, deadline=time.monotonic() + seconds, limit=limit
        )
        if os.fstat(self._stderr.fileno()).st_size > _STDERR_KEPT:
            self._stderr.truncate(0)
            self._stderr.seek(0)
        return reply

    def kill(self) -> int:
        """Ends the child now and reaps it; its exit status as a shell gives it (128 + signal). Safe to repeat."""
        return self._started.kill(_EXIT_SECONDS if self._gone() else 0.0)

    def last_words(self) -> str:
        """The end of what the child wrote to standard error, one line; call before `forget`."""
        size = os.fstat(self._stderr.fileno()).st_size
        self._stderr.seek(max(0, size - 400))
        return " ".join(self._stderr.read(400).decode(errors="replace").split())

    def forget(self) -> None:
        """Closes the file behind standard error and removes the child's folder."""
        self._stderr.close()
        self._started.forget()

    def _gone(self) -> bool:
        """True after the pipe closed: then the exit status is a moment away and worth waiting for."""
        pipe = self._started.process.stdout
        if pipe is None or pipe.closed:
            return False
        poller = select.poll()
        poller.register(self._read_fd, select.POLLIN)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))


def _inner(read_info: int, deadline: float) -> tuple[int, int] | None:
    """Number and descriptor of the process that bubblewrap runs first in the namespace; None when not to be had."""
    text = b""
    poller = select.poll()
    poller.register(read_info, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0 and poller.poll(left * 1000):
        chunk = os.read(read_info, 4096)
        if not chunk:
            break
        text += chunk
    try:
        pid = json.loads(text)["child-pid"]
        return pid, os.pidfd_open(pid)
    except (ValueError, KeyError, OSError):
        return None
