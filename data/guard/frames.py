"""Length-prefixed frames over pipes, with a deadline: what parent and guarded child say to each other."""

import os
import select
import struct
import time

_HEADER = struct.Struct("<I")
_CHUNK = 1 << 16


class ClosedError(Exception):
    """The other end is gone."""


class OverdueError(Exception):
    """The deadline passed."""


class OversizedError(Exception):
    """The other end announced more bytes than allowed; `size` in bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


def header(payload: bytes) -> bytes:
    """What goes before a frame's bytes."""
    return _HEADER.pack(len(payload))


def send(fd: int, *parts: bytes) -> None:
    """Writes one frame, given in parts, to a blocking pipe. Raises OSError."""
    views = [memoryview(part) for part in (_HEADER.pack(sum(map(len, parts))), *parts) if part]
    while views:
        written = os.writev(fd, views)
        while views and written >= len(views[0]):
            written -= len(views.pop(0))
        if views:
            views[0] = views[0][written:]


def receive(fd: int) -> bytes | None:
    """Reads one frame from a blocking pipe; None at its end."""
    head = _read(fd, _HEADER.size)
    return None if head is None else _read(fd, _HEADER.unpack(head)[0])


def _read(fd: int, count: int) -> bytes | None:
    got = bytearray()
    while len(got) < count:
        chunk = os.read(fd, min(count - len(got), 1 << 20))
        if not chunk:
            return None
        got += chunk
    return bytes(got)


def exchange(write_fd: int, read_fd: int, payload: bytes | None, *, deadline: float, limit: int) -> bytearray:
    """Sends one frame (none when `payload` is None) and waits for one, on non-blocking pipes.

    `deadline` is in `time.monotonic` seconds and holds whatever the other end does; `limit` in bytes.
    Raises ClosedError, OverdueError, OversizedError.
    """
    pending = memoryview(b"" if payload is None else _HEADER.pack(len(payload)) + payload)
    got = bytearray(_HEADER.size)
    left = memoryview(got)  # what is still to be read: pictures come in megabytes, so nothing is read twice
    body = False
    poller = select.poll()
    poller.register(read_fd, select.POLLIN)
    if pending:
        poller.register(write_fd, select.POLLOUT)
    while left or not body:
        seconds = deadline - time.monotonic()
        events = dict(poller.poll(max(0.0, seconds) * 1000.0)) if seconds > 0 else {}
        if not events:
            if seconds <= 0:
                raise OverdueError
            continue
        if write_fd in events:
            pending = _write_some(write_fd, pending)
            if not pending:
                poller.unregister(write_fd)
        if read_fd in events:
            left = left[_read_some(read_fd, left) :]
            if not left and not body:
                size = _HEADER.unpack(got)[0]
                if size > limit:
                    raise OversizedError(size)
                got, body = bytearray(size), True
                left = memoryview(got)
    return got


def _write_some(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending[:_CHUNK]) :]
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        raise ClosedError from None


def _read_some(fd: int, into: memoryview) -> int:
    try:
        count = os.readv(fd, [into])
    except BlockingIOError:
        return 0
    if not count:
        raise ClosedError
    return count
