"""A system-call filter for the guarded child: no sockets, no new processes, no programs, no kernel side doors.

Odd: as root RLIMIT_NPROC stops no fork, so the pid cap is this filter. It also takes the network away where namespaces
aren't to be had. Threads stay allowed (`clone` with CLONE_THREAD); `clone3` answers ENOSYS so that libc falls back to
`clone`, whose flags a filter can read. Numbers: Linux arch/x86/entry/syscalls/syscall_64.tbl and asm-generic/unistd.h.
"""

import ctypes
import errno
import platform
import struct

_PR_SET_NO_NEW_PRIVS, _SECCOMP_SET_MODE_FILTER, _TSYNC = 38, 1, 1
_LOAD, _JUMP_EQUAL, _JUMP_SET, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NR_OFFSET, _ARCH_OFFSET, _ARG0_OFFSET = 0, 4, 16  # struct seccomp_data
_CLONE_THREAD = 0x00010000
_X32_BIT = 0x40000000

# machine: (AUDIT_ARCH, seccomp, clone, clone3, refused numbers)
_TABLES: dict[str, tuple[int, int, int, int, tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E,
        317,
        56,
        435,
        # socket connect socketpair fork vfork execve ptrace mount keyctl unshare perf_event_open setns
        # process_vm_readv process_vm_writev bpf execveat userfaultfd io_uring_setup
        (41, 42, 53, 57, 58, 59, 101, 165, 250, 272, 298, 308, 310, 311, 321, 322, 323, 425),
    ),
    "aarch64": (
        0xC00000B7,
        277,
        220,
        435,
        # mount unshare ptrace socket socketpair connect keyctl execve perf_event_open setns process_vm_readv
        # process_vm_writev bpf execveat userfaultfd io_uring_setup
        (40, 97, 117, 198, 199, 203, 219, 221, 241, 268, 270, 271, 280, 281, 282, 425),
    ),
}


def install() -> bool:
    """Filters the calling process for good; False where this machine or kernel has no such filter."""
    table = _TABLES.get(platform.machine())
    if table is None:
        return False
    arch, seccomp, clone, clone3, refused = table
    program = _program(arch, clone, clone3, refused)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    # TSYNC: threads that an import started are filtered too.
    return bool(libc.syscall(seccomp, _SECCOMP_SET_MODE_FILTER, _TSYNC, header) == 0)


def _program(arch: int, clone: int, clone3: int, refused: tuple[int, ...]) -> bytes:
    """BPF text; jumps count instructions after the next one."""
    refuse = _instruction(_RETURN, _ERRNO | errno.EPERM)
    head = [
        _instruction(_LOAD, _ARCH_OFFSET),
        _instruction(_JUMP_EQUAL, arch, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NR_OFFSET),
        _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        refuse,
        _instruction(_JUMP_EQUAL, clone3, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    body = [part for number in refused for part in (_instruction(_JUMP_EQUAL, number, 0, 1), refuse)]
    tail = [
        _instruction(_JUMP_EQUAL, clone, 0, 3),
        _instruction(_LOAD, _ARG0_OFFSET),
        _instruction(_JUMP_SET, _CLONE_THREAD, 1, 0),
        refuse,
        _instruction(_RETURN, _ALLOW),
    ]
    return b"".join(head + body + tail)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
