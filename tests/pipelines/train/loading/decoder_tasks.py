"""Decoders that do what broken native code does; each runs in a real worker process."""

import ctypes
import os
import time
from typing import Any

from trivium.vision.clips import ClipReply, ClipRequest
from trivium.vision.pixels import Reply, Request, decode


def segfault(request: Request) -> Reply:
    ctypes.string_at(0)
    raise AssertionError("alive after a read of address 0")


def spin(request: Any) -> Any:
    """Never ends, and uses the processor all the while."""
    while True:
        pass


def spin_on_a_clip(request: ClipRequest) -> ClipReply:
    """The same, of a clip."""
    return spin(request)


def slow(request: Request) -> Reply:
    """The real decoder, a little later: somebody may kill it before."""
    time.sleep(1.5)
    return decode(request)


def suicide(request: Request) -> Reply:
    """What the kernel does when memory runs out."""
    os.kill(os.getpid(), 9)
    raise AssertionError("alive after SIGKILL")
