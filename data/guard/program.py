"""A program of strangers, or with strangers' input, in a sandbox made for this one run.

    outcome = run(["/usr/bin/povray", "+Iscene.pov", "+Oout.png"], {"scene.pov": text}, ["out.png"], limits=…)

Files go in by name, files come out as bytes, and the outcome says how it ended; only a program that can't be had at all
raises. For one that lasts, see `service`.
"""

import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from trivium.data.guard.collect import TooMuchError, collect
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits, signal_name
from trivium.data.guard.running import OverrunError, Report, Running
from trivium.data.guard.sandbox import Sandbox, sandbox
from trivium.errors import InputError, MissingDependencyError

_TICK = 0.02  # seconds between looks at the tree
_LAST = 5.0  # seconds from a program's end to the sandbox's
_CHUNK = 1 << 16
_SIGNS_OF_MEMORY = (b"MemoryError", b"memory allocation of", b"bad_alloc", b"Cannot allocate memory", b"ut of memory")
_REASONS = {24: "timeout", 25: "output_too_large", 31: "denied"}  # SIGXCPU, SIGXFSZ, SIGSYS


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended and what it left.

    `reason` is empty when it ended by itself (see `status`), else `timeout`, `memory`, `processes`, `output_too_large`,
    `crashed` (by a signal) or `denied` (the filter killed it); `detail` says more. `left_out`: wanted files that were
    no plain files, with the reason. Times in seconds, of the whole tree; `peak_bytes` as the watch saw it.
    """

    reason: str
    detail: str
    status: int  # as a shell gives it: 128 + signal
    stdout: bytes
    stderr: bytes
    files: dict[str, bytes]
    left_out: dict[str, str]
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    processes: int

    @property
    def ok(self) -> bool:
        return not self.reason and self.status == 0


def run(
    argv: Sequence[str],
    files: Mapping[str, bytes] | None = None,
    wants: Sequence[str] = (),
    *,
    limits: Limits | None = None,
    profile: Profile | None = None,
    stdin: bytes = b"",
    isolation: Sandbox | None = None,
) -> Outcome:
    """Runs `argv` with `files` (relative path → content) in its empty folder; gives back files that fit `wants`.

    Patterns as in `fnmatch`, on the path. The folder is both the working directory and /scratch.
    Raises MissingDependencyError for a program or sandbox that isn't there, InputError for a path that leaves the
    folder, BuildError when the sandbox itself does not start.
    """
    files = files or {}
    limits, profile = limits or Limits(), profile or Profile()
    found = isolation or sandbox()
    for name in files:
        if not _inside(name):
            raise InputError(f"{name!r} is no path inside a program's folder; give a relative one without `..`")
    program = locate(argv[0])
    with tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.flush()
        reopened = os.open(f"/proc/self/fd/{source.fileno()}", os.O_RDONLY)  # its own place, and nobody writes into it
    try:
        running = Running((str(program), *argv[1:]), files, limits, profile, found, stdin=reopened)
    finally:
        os.close(reopened)
    with running:
        return _follow(running, wants, limits)


def locate(name: str) -> Path:
    """The program's absolute path. Raises MissingDependencyError."""
    found = shutil.which(name)
    if found is None:
        raise MissingDependencyError(f"{name} is not installed or no program; install it and run the command again")
    return Path(found).absolute()


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name and str(path) != "."


def _follow(running: Running, wants: Sequence[str], limits: Limits) -> Outcome:
    began = time.monotonic()
    said = _Said(running, limits.output_bytes)
    reason = detail = ""
    report: Report | None = None
    try:
        while not said.listen(_TICK):
            running.look()
        report = running.report()
        running.end(_LAST)
        said.drain()
    except OverrunError as error:
        reason, detail = error.reason, str(error)
    running.end(0)
    if not reason:
        reason, detail = _judge(report, said.stderr, limits)
    taken: dict[str, bytes] = {}
    left: dict[str, str] = {}
    if not reason:
        try:
            taken, left = collect(running.folder, wants, files=limits.files, size=limits.output_bytes - said.size)
        except TooMuchError as error:
            reason, detail = "output_too_large", str(error)
    return Outcome(
        reason=reason,
        detail=detail,
        status=report.status if report else 137,
        stdout=bytes(said.stdout),
        stderr=bytes(said.stderr),
        files=taken,
        left_out=left,
        wall_seconds=time.monotonic() - began,
        cpu_seconds=report.cpu_seconds if report else running.seen.cpu_seconds,
        peak_bytes=running.peak_bytes,
        processes=running.most,
    )


class _Said:
    """What a program says on standard output and standard error, at most `limit` bytes together."""

    def __init__(self, running: Running, limit: int) -> None:
        process = running.process
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdout, self.stderr = bytearray(), bytearray()
        self._control = running.control.fileno()
        self._limit = limit
        self._into = {process.stdout.fileno(): self.stdout, process.stderr.fileno(): self.stderr}
        self._poller = select.poll()
        for fd in (*self._into, self._control):
            self._poller.register(fd, select.POLLIN)

    @property
    def size(self) -> int:
        return len(self.stdout) + len(self.stderr)

    def listen(self, seconds: float) -> bool:
        """Takes what comes within `seconds`; True when the launcher has spoken or is gone. Raises OverrunError."""
        over = False
        for fd, _ in self._poller.poll(seconds * 1000):
            if fd == self._control:
                over = True
                continue
            chunk = os.read(fd, _CHUNK)
            self._into[fd] += chunk
            if not chunk:
                self._poller.unregister(fd)
            if self.size > self._limit:
                raise OverrunError("output_too_large", f"said more than {self._limit} bytes")
        return over

    def drain(self) -> None:
        """Takes the rest, when all who could write have ended. Raises OverrunError."""
        self._poller.unregister(self._control)
        before = -1
        while self.size != before:
            before = self.size
            self.listen(0)


def _judge(report: Report | None, stderr: bytearray, limits: Limits) -> tuple[str, str]:
    """Reason and detail of an end that was not the watch's doing."""
    if report is None:
        return "crashed", "the sandbox ended before its program"
    if report.complaint:
        return "denied", f"could not be started: {report.complaint}"
    if report.status != 0 and any(sign in stderr[-4000:] for sign in _SIGNS_OF_MEMORY):
        return "memory", f"needed more than {limits.memory_bytes >> 20} MiB"
    if not report.signal:
        return "", ""
    if report.cpu_seconds >= limits.cpu_seconds:
        return "timeout", f"used more than {limits.cpu_seconds} s of processor time"
    return _REASONS.get(report.signal, "crashed"), _words(report.signal, limits)


def _words(number: int, limits: Limits) -> str:
    """A limit's signal is said as the limit that it stands for: the kernel's count and ours part by a tick."""
    if number == signal.SIGXCPU:
        return f"used more than {limits.cpu_seconds} s of processor time"
    return f"ended by {signal_name(number)}"
