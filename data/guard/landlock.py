"""Landlock: a process of its own accord gives up all files but some, TCP, and speaking to processes outside.

The second line behind namespaces, and the first where they aren't to be had. Kernel documentation, userspace-api/
landlock; the three system calls have the same numbers on every machine.
"""

import ctypes
import os
import struct

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVS = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_DEVICES = 1 << 6 | 1 << 11  # making character and block devices
_FIRST_ABI = (1 << 13) - 1  # what the first version can forbid; later ones add renaming (13) and truncating (14)
_TCP = 1 << 0 | 1 << 1  # binding and connecting, from version 4
_OUTSIDE = 1 << 0 | 1 << 1  # abstract sockets of others, signals to others; from version 6
_TCP_ABI, _OUTSIDE_ABI = 4, 6


def version() -> int:
    """The kernel's version of Landlock; 0 without one."""
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION_FLAG)))


def confine(places: list[str], writable: list[str], listed: list[str]) -> bool:
    """Lets this process read below `places` and write below `writable`, no more; False where the kernel can't.

    `listed`: folders below which names may be seen, where a namespace has nothing to hide. Where the kernel knows how,
    TCP goes too, and so do signals and abstract sockets to processes outside.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    abi = version()
    if not abi:
        return False
    handled = _FIRST_ABI | (1 << 13 if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0)
    attributes = struct.pack(
        "QQQ", handled, _TCP if abi >= _TCP_ABI else 0, _OUTSIDE if abi >= _OUTSIDE_ABI else 0
    )  # an older kernel takes a longer struct whose end is zero
    rules = libc.syscall(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        for place in (*listed, *places, *writable):
            _allow(libc, rules, place, _rights(place, handled, writable, listed))
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)


def _rights(place: str, handled: int, writable: list[str], listed: list[str]) -> int:
    if place in listed:
        return _READ_DIR
    folder = os.path.isdir(place)
    if place in writable:
        return handled & ~_DEVICES if folder else handled & (_READ_FILE | _WRITE_FILE | 1 << 14)
    return _EXECUTE | _READ_FILE | (_READ_DIR if folder else 0)


def _allow(libc: ctypes.CDLL, rules: int, place: str, rights: int) -> None:
    try:
        fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what isn't there needs no rule
    try:
        libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
