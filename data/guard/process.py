"""One guarded child as its parent sees it: started, spoken to, killed, always reaped.

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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trivium.data.guard import frames
from trivium.data.guard.limits import Limits
from trivium.data.guard.sandbox import ENVIRONMENT, Sandbox, command

_PIPE = 1 << 20  # bytes that a pipe may hold: the most that the kernel gives to anybody
_EXIT_SECONDS = 0.5  # from a closed pipe to the exit status, on a busy machine
_STDERR_KEPT = 1 << 16  # bytes; a chatty library's file is emptied beyond it


@functools.cache
def _spawner(pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"guard-spawner-{pid}")


class Child:
    """A running child; after an error of `exchange` call `kill`."""

    def __init__(self, task: str, limits: Limits, found: Sandbox, extra: Sequence[Path]) -> None:
        self._stderr = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        # In the sandbox the child's folder is in memory; without one it is a real folder that goes with the child.
        self._scratch = "" if found.strong else tempfile.mkdtemp(prefix="trivium-guard-")
        self._killed = threading.Lock()
        self._pidfd: int | None = None
        read_info, write_info = os.pipe()
        try:
            line = command(limits, found, task, extra, write_info)
            keep = (write_info,) if found.strong else ()
            self._process = _spawner(os.getpid()).submit(self._spawn, line, keep).result()
            os.close(write_info)
            write_info = -1
            if found.strong:
                self._pidfd = _inner(read_info, time.monotonic() + limits.start_seconds)
        finally:
            os.close(read_info)
            if write_info >= 0:
                os.close(write_info)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._write_fd, self._read_fd = self._process.stdin.fileno(), self._process.stdout.fileno()
        for fd in (self._write_fd, self._read_fd):
            os.set_blocking(fd, False)
            with contextlib.suppress(OSError):  # less room costs switches between the two processes, nothing else
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE)

    def _spawn(self, line: list[str], keep: tuple[int, ...]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            pass_fds=keep,
            env={**ENVIRONMENT, "TMPDIR": self._scratch} if self._scratch else ENVIRONMENT,
            cwd=self._scratch or "/",
            bufsize=0,
            start_new_session=True,  # an interrupt from the terminal is the parent's business
        )

    @property
    def alive(self) -> bool:
        """False as soon as the child has gone, whether or not anybody asked it something."""
        if self._process.poll() is not None:
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
        with self._killed:
            if self._process.returncode is None:
                self._end()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            if self._pidfd is not None:
                os.close(self._pidfd)
                self._pidfd = None
            code = self._process.returncode or 0
            return 128 - code if code < 0 else code

    def last_words(self) -> str:
        """The end of what the child wrote to standard error, one line; call before `forget`."""
        size = os.fstat(self._stderr.fileno()).st_size
        self._stderr.seek(max(0, size - 400))
        return " ".join(self._stderr.read(400).decode(errors="replace").split())

    def forget(self) -> None:
        """Closes the file behind standard error and removes the child's folder."""
        self._stderr.close()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _end(self) -> None:
        # The inner process first: it dies with everything in its pid namespace, then bubblewrap reaps it and exits.
        # Killing bubblewrap itself would leave the inner one to init, which in a container may reap nobody.
        try:
            self._process.wait(timeout=_EXIT_SECONDS if self._gone() else 0)
            return
        except subprocess.TimeoutExpired:
            pass
        if self._pidfd is not None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
                self._process.wait(timeout=5)
                return
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        self._process.kill()
        self._process.wait()

    def _gone(self) -> bool:
        """True after the pipe closed: then the exit status is a moment away and worth waiting for."""
        poller = select.poll()
        poller.register(self._read_fd, select.POLLIN)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))


def _inner(read_info: int, deadline: float) -> int | None:
    """A pidfd of the process that bubblewrap runs as pid 1 of the namespace; None when it isn't to be had."""
    text = b""
    poller = select.poll()
    poller.register(read_info, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0 and poller.poll(left * 1000):
        chunk = os.read(read_info, 4096)
        if not chunk:
            break
        text += chunk
    try:
        return os.pidfd_open(json.loads(text)["child-pid"])
    except (ValueError, KeyError, OSError):
        return None
