"""What a guarded child may use."""

import resource
import signal
from typing import Annotated

from msgspec import Meta

from trivium.data.config import Strict

Seconds = Annotated[float, Meta(gt=0, le=3600)]
MIB = 1 << 20


class Limits(Strict, frozen=True):
    """Limits of one guarded child; bytes and seconds. `require_sandbox` refuses to run without namespaces."""

    wall_seconds: Seconds = 10.0  # a request's deadline, kept by the parent
    cpu_seconds: Annotated[int, Meta(ge=1, le=3600)] = 10  # a request's processor time, all threads together
    start_seconds: Seconds = 30.0  # until the child has imported its task
    memory_bytes: Annotated[int, Meta(ge=128 * MIB)] = 1536 * MIB  # address space
    output_bytes: Annotated[int, Meta(ge=1, lt=1 << 32)] = 32 * MIB  # a reply, and any file that the child writes
    scratch_bytes: Annotated[int, Meta(ge=MIB)] = 64 * MIB  # the child's own folder, in memory
    open_files: Annotated[int, Meta(ge=16, le=4096)] = 64
    requests: Annotated[int, Meta(ge=1)] = 5000  # after so many a fresh child takes over, which bounds leaks
    require_sandbox: bool = False


def apply(limits: Limits) -> None:
    """Sets the limits that last as long as the calling process; `grant_cpu` adds each request's processor time."""
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.output_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


def grant_cpu(limits: Limits) -> None:
    """Moves the soft processor limit to the time used so far plus one request's share (SIGXCPU ends the process)."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + limits.cpu_seconds, resource.RLIM_INFINITY)
    )


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; the number itself when it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
