"""A program's stand-in for tools that start it themselves (Playwright: `executable_path`), behind the same walls.

The tool starts the stand-in with its arguments and pipes 3 and 4; the stand-in starts the program with the same in a
sandbox, and watches its tree. When the tool ends the stand-in, the sandbox ends with it.
"""

import os
import select
import shlex
import sys
import time
from pathlib import Path

import msgspec

from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits
from trivium.data.guard.program import locate
from trivium.data.guard.running import OverrunError, Running
from trivium.data.guard.sandbox import sandbox, search_path

_TICK = 0.1  # seconds between looks at the tree, at least; a look at a large tree is not for nothing
_REST = 25  # times as long as a look took
_PIPES = (3, 4)


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind the stand-in."""

    program: str
    limits: Limits
    profile: Profile


def stand_in(place: Path, program: str, limits: Limits, profile: Profile) -> Path:
    """Writes an executable file at `place` that runs `program` behind the walls, and gives it back.

    A broken limit ends the program and is said on standard error and in the file `place` + `.reason`. The limits of
    time are for whoever uses the program to keep. Raises MissingDependencyError when it isn't installed.
    """
    spec = Spec(program=str(locate(program)), limits=limits, profile=profile)
    code = f"import sys; sys.path[:0] = {search_path(())!r}; from trivium.data.guard.stand_in import main; main()"
    words = [sys.executable, "-c", code, msgspec.json.encode(spec).decode(), str(place)]
    place.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    place.chmod(0o755)
    return place


def main() -> None:
    """The stand-in itself: `argv` is the specification, its own place, and the program's arguments."""
    spec = msgspec.json.decode(sys.argv[1], type=Spec)
    reason = Path(f"{sys.argv[2]}.reason")
    pipes = [fd for fd in _PIPES if _is_open(fd)]
    argv = (spec.program, *sys.argv[3:])
    null = os.open(os.devnull, os.O_RDONLY)
    with Running(
        argv, {}, spec.limits, spec.profile, sandbox(), stdin=null, stdout=1, stderr=2, pipes=pipes, lasting=True
    ) as running:
        for fd in pipes:
            os.close(fd)  # the program's own ends alone keep the pipes open
        poller = select.poll()
        poller.register(running.control.fileno(), select.POLLIN)
        try:
            pause = _TICK
            while not poller.poll(pause * 1000):
                began = time.process_time()
                running.look()
                pause = max(_TICK, _REST * (time.process_time() - began))
        except OverrunError as error:
            reason.write_text(f"{error.reason}: {error}\n")
            sys.exit(f"guard: {error.reason}: {error}")
        report = running.report()
    sys.exit(report.status if report else 1)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
