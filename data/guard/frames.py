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


def send(fd: int, payload: bytes) -> None:
    """Writes one frame to a blocking pipe. Raises OSError."""
    view = memoryview(_HEADER.pack(len(payload)) + payload)
    while view:
        view = view[os.write(fd, view) :]


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


def exchange(write_fd: int, read_fd: int, payload: bytes | None, *, deadline: float, limit: int) -> bytes:
    """Sends one frame (none when `payload` is None) and waits for one, on non-blocking pipes.

    `deadline` is in `time.monotonic` seconds and holds whatever the other end does; `limit` in bytes.
    Raises ClosedError, OverdueError, OversizedError.
    """
    pending = memoryview(b"" if payload is None else _HEADER.pack(len(payload)) + payload)
    got = bytearray()
    need = _HEADER.size
    poller = select.poll()
    poller.register(read_fd, select.POLLIN)
    if pending:
        poller.register(write_fd, select.POLLOUT)
    while len(got) < need:
        left = deadline - time.monotonic()
        events = dict(poller.poll(max(0.0, left) * 1000.0)) if left > 0 else {}
        if not events:
            if left <= 0:
                raise OverdueError
            continue
        if write_fd in events:
            pending = _write_some(write_fd, pending)
            if not pending:
                poller.unregister(write_fd)
        if read_fd in events:
            chunk = _read_some(read_fd, need - len(got))
            got += chunk
            if len(got) == _HEADER.size == need:
                size = _HEADER.unpack(got)[0]
                if size > limit:
                    raise OversizedError(size)
                need += size
    return bytes(got[_HEADER.size :])


def _write_some(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending[:_CHUNK]) :]
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        raise ClosedError from None


def _read_some(fd: int, count: int) -> bytes:
    try:
        chunk = os.read(fd, min(count, 1 << 20))
    except BlockingIOError:
        return b""
    if not chunk:
        raise ClosedError
    return chunk
