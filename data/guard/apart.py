"""A request answered by a process forked for it: nothing that a stranger's code does is there for the next request.

The child that forks has imported everything and is not filtered; the fork alone is. A second Landlock domain keeps it
from signalling its maker, the filter from tracing it, forking and leaving the process group.
"""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from trivium.data.guard import frames, landlock, rlimits, seccomp
from trivium.data.guard.answer import DIED, DONE, LATE, MEMORY, REFUSED, TOO_LARGE, answer
from trivium.data.guard.limits import Limits

_TAKEN = (DONE, REFUSED, MEMORY, TOO_LARGE)


def answer_apart(
    task: Callable[[Any], Any],
    kind: Any,
    payload: bytes,
    bounds: Limits,
    pipes: Sequence[int],
    walls: tuple[list[str], list[str], list[str]],
) -> tuple[bytes, bytes]:
    """Status and body; `pipes` are the maker's own, `walls` the places to read, to write and to list."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for fd in (*pipes, read):
                os.close(fd)
            landlock.confine(*walls)
            if seccomp.install():
                rlimits.grant_cpu(bounds.cpu_seconds)
                frames.send(write, *answer(task, kind, payload, bounds.output_bytes))
        finally:
            os._exit(0)
    os.close(write)
    reply = _reply(read, bounds)
    os.close(read)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # without effect on one that has ended
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    _empty(walls[1][0])
    return reply or (bytes([DIED]), str(128 - code if code < 0 else code).encode())


def _reply(read: int, bounds: Limits) -> tuple[bytes, bytes] | None:
    deadline = time.monotonic() + bounds.wall_seconds
    try:
        reply = frames.exchange(-1, read, None, deadline=deadline, limit=bounds.output_bytes)
    except frames.OverdueError:
        return bytes([LATE]), b""
    except frames.OversizedError as error:
        return bytes([TOO_LARGE]), str(error.size).encode()
    except frames.ClosedError:
        return None
    return (bytes(reply[:1]), bytes(reply[1:])) if reply and reply[0] in _TAKEN else None


def _empty(scratch: str) -> None:
    for entry in os.scandir(scratch):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
