"""A program in its sandbox as the parent holds it: the socket to its launcher, its folder, the watch over its tree."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO

import msgspec

from trivium.data.closing import Closing
from trivium.data.guard import frames, launch, tree
from trivium.data.guard.collect import measure
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits
from trivium.data.guard.process import Started
from trivium.data.guard.sandbox import Sandbox, program_command
from trivium.errors import BuildError, MissingDependencyError

_SPARE_FILES = 4  # the folder itself, and what a file system keeps


class OverrunError(Exception):
    """A limit was reached; `reason` is the outcome's."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended: status as a shell gives it, `signal` 0 for an exit of its own, seconds of its tree.

    `filtered`, `confined`: whether the system-call filter and Landlock held. `complaint`: why it could not be started.
    """

    status: int
    signal: int
    cpu_seconds: float
    filtered: bool
    confined: bool
    complaint: str


class Running(Closing):
    """Starts `argv` (an absolute path first) with `files` in its folder. Descriptors of `pipes` become its 3, 4, ….

    `lasting`: the limits of time are those of single pieces of its work, which others keep.
        Raises BuildError when the sandbox does not come up, MissingDependencyError where `limits` require a better one.
    """

    def __init__(
        self,
        argv: tuple[str, ...],
        files: Mapping[str, bytes],
        limits: Limits,
        profile: Profile,
        found: Sandbox,
        *,
        stdin: int,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
        pipes: Sequence[int] = (),
        lasting: bool = False,
    ) -> None:
        if limits.require_sandbox and not found.strong:
            raise MissingDependencyError(
                f"this work requires the sandbox, which can't be had here ({found.reason}); see `trivium doctor`"
            )
        self._limits, self._strong, self._lasting = limits, found.strong, lasting
        self._began = time.monotonic()
        self.folder = -1
        self.seen = tree.Seen(processes=0, memory_bytes=0, cpu_seconds=0.0)
        self.peak_bytes = self.most = 0
        self.control, theirs = socket.socketpair()
        with contextlib.ExitStack() as undo:
            undo.callback(self.control.close)
            with theirs:
                self._started = Started(
                    lambda info: program_command(
                        argv,
                        limits,
                        found,
                        profile,
                        control=theirs.fileno(),
                        pipes=pipes,
                        info_fd=info,
                        lasting=lasting,
                    ),
                    found,
                    profile,
                    seconds=limits.start_seconds,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    keep=(theirs.fileno(), *pipes),
                )
            undo.callback(self._started.forget)
            undo.callback(self._started.kill)
            self._hand_over(files)
            undo.pop_all()

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        return self._started.process

    def close(self) -> None:
        """Ends whatever still runs and gives everything back."""
        self._started.kill()
        self._started.forget()
        self.control.close()
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1

    def end(self, patience: float) -> None:
        """Ends all within `patience` seconds; what it wrote can still be read."""
        self._started.end(patience)

    def look(self) -> None:
        """Holds the tree against the limits. Raises OverrunError for the first that it broke."""
        limits = self._limits
        if not self._lasting and time.monotonic() - self._began > limits.wall_seconds:
            raise OverrunError("timeout", f"not ended within {limits.wall_seconds:g} s")
        self.seen = tree.look(self._started.pid, limits.memory_bytes)
        self.peak_bytes = max(self.peak_bytes, self.seen.memory_bytes)
        self.most = max(self.most, self.seen.processes)
        if self.seen.processes > limits.processes:
            raise OverrunError("processes", f"{self.seen.processes} processes at once, {limits.processes} allowed")
        if self.seen.memory_bytes > limits.memory_bytes:
            held, allowed = self.seen.memory_bytes >> 20, limits.memory_bytes >> 20
            raise OverrunError("memory", f"held {held} MiB, {allowed} allowed")
        if not self._lasting and self.seen.cpu_seconds > limits.cpu_seconds:
            raise OverrunError("timeout", f"used more than {limits.cpu_seconds} s of processor time")
        self._look_at_files()

    def report(self) -> Report | None:
        """The launcher's last word, once it can be read; None when it died without one."""
        self.control.settimeout(1.0)
        try:
            payload = frames.receive(self.control.fileno())
        except OSError:
            return None
        if payload is None or len(payload) < launch.REPORT.size:
            return None
        status, number, seconds, filtered, confined = launch.REPORT.unpack_from(payload)
        complaint = payload[launch.REPORT.size :].decode(errors="replace")
        return Report(
            status=status,
            signal=number,
            cpu_seconds=seconds,
            filtered=filtered,
            confined=confined,
            complaint=complaint,
        )

    def _look_at_files(self) -> None:
        limits = self._limits
        if self._strong:  # the folder is a file system of its own, whose bytes it bounds itself
            facts = os.fstatvfs(self.folder)
            entries, size = facts.f_files - facts.f_ffree - _SPARE_FILES, 0
        else:
            entries, size = measure(self.folder, limits.files + 1)
        if entries > limits.files:
            raise OverrunError("output_too_large", f"more than {limits.files} files and folders")
        if size > limits.scratch_bytes:
            raise OverrunError("output_too_large", f"more than {limits.scratch_bytes >> 20} MiB of files")

    def _hand_over(self, files: Mapping[str, bytes]) -> None:
        """Files in, the folder's descriptor out; then the clock starts."""
        self.control.settimeout(self._limits.start_seconds)
        try:
            for payload in (*(part for name, content in files.items() for part in (name.encode(), content)), b""):
                # At once: behind the last, empty one the program may have come and gone before a second call.
                self.control.sendall(frames.header(payload) + payload)
            _, folders, _, _ = socket.recv_fds(self.control, 1, 1)
        except OSError as error:
            raise self._stillborn(str(error)) from None
        if not folders:
            raise self._stillborn("it closed the line")
        self.folder = folders[0]
        self._began = time.monotonic()

    def _stillborn(self, why: str) -> BuildError:
        self._started.end(0.5)
        words = b""
        stderr = self._started.process.stderr
        if stderr is not None:
            words = stderr.read() or b""
        said = " ".join(words.decode(errors="replace").split())[-300:]
        return BuildError(f"a sandbox for a program did not start ({why}): {said or 'it said nothing'}")
