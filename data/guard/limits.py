"""What a guarded child may use."""

import signal
from typing import Annotated

from msgspec import Meta

from trivium.data.config import Strict

Seconds = Annotated[float, Meta(gt=0, le=3600)]
MIB = 1 << 20


class Limits(Strict, frozen=True):
    """Limits of one guarded child or program; bytes and seconds. `require_sandbox` refuses to run without namespaces.

    A program may be a tree of processes: its processor time, processes and memory are those of the tree.
    """

    wall_seconds: Seconds = 10.0  # a request's deadline, kept by the parent
    cpu_seconds: Annotated[int, Meta(ge=1, le=3600)] = 10  # a request's processor time, all threads together
    start_seconds: Seconds = 30.0  # until the child has imported its task
    # Address space of each process, and what a tree of processes holds, shared pages counted once.
    memory_bytes: Annotated[int, Meta(ge=128 * MIB)] = 1536 * MIB
    # A reply, any file that the child writes, and all that is taken from a program: what it says, and its files.
    output_bytes: Annotated[int, Meta(ge=1, lt=1 << 32)] = 32 * MIB
    scratch_bytes: Annotated[int, Meta(ge=MIB)] = 64 * MIB  # the child's own folder, in memory
    files: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000  # files and folders in a program's own folder
    processes: Annotated[int, Meta(ge=1, le=1000)] = 1  # at once, the first one counted; 1: forks are refused
    threads: Annotated[int, Meta(ge=1, le=10_000)] = 256  # of all processes together
    open_files: Annotated[int, Meta(ge=16, le=4096)] = 64  # of each process
    requests: Annotated[int, Meta(ge=1)] = 5000  # after so many a fresh child takes over, which bounds leaks
    require_sandbox: bool = False

    def kept_by_kernel(self, *, counted: bool, reserves: bool) -> dict[str, int]:
        """What `rlimits.apply` takes.

        `counted`: the kernel counts the process's user apart from all others, so that a bound on threads hits nobody
        else. `reserves`: the program takes far more address space than it uses (V8); only the watch bounds its memory.
        """
        kept = {"FSIZE": self.output_bytes, "NOFILE": self.open_files, "CORE": 0}
        kept |= {"NPROC": self.threads + 1} if counted else {}  # a program's launcher is one more
        return kept | ({} if reserves else {"AS": self.memory_bytes})


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; the number itself when it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
