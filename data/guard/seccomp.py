"""A system-call filter for guarded processes: no sockets, no new processes, no programs, no kernel side doors.

Odd: as root RLIMIT_NPROC stops no fork, so a child that needs none is refused `clone` here. The filter also takes the
network away where namespaces aren't to be had. Threads stay allowed (`clone` with CLONE_THREAD); `clone3` answers
ENOSYS so that libc falls back to `clone`, whose flags a filter can read. Memory that no process maps (memfd, System V
segments) is refused, since neither the address space limit nor the watch sees it. Numbers: Linux
arch/x86/entry/syscalls/syscall_64.tbl and asm-generic/unistd.h.
"""

import ctypes
import errno
import os
import struct

_PR_SET_NO_NEW_PRIVS, _SECCOMP_SET_MODE_FILTER, _TSYNC = 38, 1, 1
_LOAD, _JUMP_EQUAL, _JUMP_SET, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NR_OFFSET, _ARCH_OFFSET, _ARG0_OFFSET, _ARG1_OFFSET = 0, 4, 16, 24  # struct seccomp_data
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080  # CLONE_NEWUSER, NEWPID, NEWNET, NEWIPC, NEWUTS, NEWCGROUP, NEWNS, NEWTIME
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX = 1
_X32_BIT = 0x40000000


class _Table:
    """System calls' numbers on one kind of machine."""

    arch: int  # AUDIT_ARCH
    seccomp: int
    clone: int
    clone3: int
    ioctl: int
    socket: int
    socketpair: int
    doors: tuple[int, ...]  # refused to everybody
    programs: tuple[int, ...]
    processes: tuple[int, ...]  # beside clone
    sockets: tuple[int, ...]  # beside socket and socketpair
    groups: tuple[int, ...]


class _X86(_Table):
    arch = 0xC000003E
    seccomp = 317
    clone = 56
    clone3 = 435
    ioctl = 16
    socket = 41
    socketpair = 53
    # ptrace syslog pivot_root chroot acct settimeofday mount umount2 swapon swapoff reboot init_module
    # delete_module quotactl clock_settime kexec_load add_key request_key keyctl unshare perf_event_open
    # name_to_handle_at open_by_handle_at setns process_vm_readv process_vm_writev kcmp finit_module kexec_file_load
    # bpf userfaultfd pidfd_getfd; shmget shmat shmctl semget msgget; io_uring_*; open_tree move_mount fs*
    # mount_setattr; memfd_secret
    doors = (
        *(101, 103, 155, 161, 163, 164, 165, 166, 167, 168, 169, 175, 176, 179, 227, 246, 248, 249, 250, 272, 298),
        *(303, 304, 308, 310, 311, 312, 313, 320, 321, 323, 438, 29, 30, 31, 64, 68, 425, 426, 427),
        *(428, 429, 430, 431, 432, 433, 442, 447),
    )
    programs = (59, 322)  # execve execveat
    processes = (57, 58)  # fork vfork
    sockets = (42, 49, 50, 319)  # connect bind listen memfd_create
    groups = (109, 112)  # setpgid setsid


class _Arm(_Table):
    arch = 0xC00000B7
    seccomp = 277
    clone = 220
    clone3 = 435
    ioctl = 29
    socket = 198
    socketpair = 199
    # the same in the same order
    doors = (
        *(117, 116, 41, 51, 89, 170, 40, 39, 224, 225, 142, 105, 106, 60, 112, 104, 217, 218, 219, 97, 241),
        *(264, 265, 268, 270, 271, 272, 273, 294, 280, 282, 438, 194, 196, 195, 190, 186, 425, 426, 427),
        *(428, 429, 430, 431, 432, 433, 442, 447),
    )
    programs = (221, 281)
    processes = ()
    sockets = (203, 200, 201, 279)
    groups = (154, 157)


_TABLES: dict[str, type[_Table]] = {"x86_64": _X86, "aarch64": _Arm}


def install(allowed: tuple[str, ...] = ()) -> bool:
    """Filters the calling process for good; False where this machine or kernel has no such filter.

    `allowed` lets through: `programs` (to execute some), `processes`, `sockets` (AF_UNIX, and memory shared by memfd),
    `groups` (setsid and setpgid, where a namespace ends the processes that leave their group).
    """
    table = _TABLES.get(os.uname().machine)
    if table is None:
        return False
    program = _program(table, allowed)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    # TSYNC: threads that an import started are filtered too.
    return bool(libc.syscall(table.seccomp, _SECCOMP_SET_MODE_FILTER, _TSYNC, header) == 0)


def _program(table: type[_Table], allowed: tuple[str, ...]) -> bytes:
    """BPF text; jumps count instructions after the next one."""
    refuse = _instruction(_RETURN, _ERRNO | errno.EPERM)
    allow = _instruction(_RETURN, _ALLOW)
    text = [
        _instruction(_LOAD, _ARCH_OFFSET),
        _instruction(_JUMP_EQUAL, table.arch, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NR_OFFSET),
        _instruction(_JUMP_GREATER_EQUAL, _X32_BIT, 0, 1),
        refuse,
        _instruction(_JUMP_EQUAL, table.clone3, 0, 1),
        _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    for number in _refused(table, allowed):
        text += [_instruction(_JUMP_EQUAL, number, 0, 1), refuse]
    # Calls judged by an argument each end in a return, so the number may be forgotten behind the jump.
    text += [
        _instruction(_JUMP_EQUAL, table.ioctl, 0, 5),  # a terminal is told nothing in the user's name
        _instruction(_LOAD, _ARG1_OFFSET),
        _instruction(_JUMP_EQUAL, _TIOCSTI, 2, 0),
        _instruction(_JUMP_EQUAL, _TIOCLINUX, 1, 0),
        allow,
        refuse,
    ]
    if "sockets" in allowed:
        for number in (table.socket, table.socketpair):
            text += [
                _instruction(_JUMP_EQUAL, number, 0, 4),
                _instruction(_LOAD, _ARG0_OFFSET),
                _instruction(_JUMP_EQUAL, _AF_UNIX, 0, 1),
                allow,
                _instruction(_RETURN, _ERRNO | errno.EAFNOSUPPORT),
            ]
    flags = (_CLONE_NAMESPACES, 0, 1) if "processes" in allowed else (_CLONE_THREAD, 1, 0)
    text += [
        _instruction(_JUMP_EQUAL, table.clone, 0, 3),
        _instruction(_LOAD, _ARG0_OFFSET),
        _instruction(_JUMP_SET, *flags),
        refuse,
        allow,
    ]
    return b"".join(text)


def _refused(table: type[_Table], allowed: tuple[str, ...]) -> list[int]:
    refused = list(table.doors)
    for name, numbers in (
        ("programs", table.programs),
        ("processes", table.processes),
        ("sockets", (table.socket, table.socketpair, *table.sockets)),
        ("groups", table.groups),
    ):
        refused += () if name in allowed else numbers
    return refused


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
