"""Decoders that do what broken native code does; each runs in a real worker process."""

import ctypes
import os
import time

from trivium.vision.pixels import Reply, Request, decode


def segfault(request: Request) -> Reply:
    ctypes.string_at(0)
    raise AssertionError("alive after a read of address 0")


def spin(request: Request) -> Reply:
    """Never ends, and uses the processor all the while."""
    while True:
        pass


def slow(request: Request) -> Reply:
    """The real decoder, a little later: somebody may kill it before."""
    time.sleep(1.5)
    return decode(request)


def suicide(request: Request) -> Reply:
    """What the kernel does when memory runs out."""
    os.kill(os.getpid(), 9)
    raise AssertionError("alive after SIGKILL")
