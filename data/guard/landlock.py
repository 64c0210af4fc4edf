"""Landlock: without namespaces a child can still be kept from all files but the interpreter's and its libraries'.

Kernel documentation, userspace-api/landlock; the three system calls have the same numbers on every machine.
"""

import ctypes
import os
import struct
from collections.abc import Sequence

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVS = 1, 1, 38
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_DEVICES = 1 << 6 | 1 << 11  # making character and block devices
_FIRST_ABI = (1 << 13) - 1  # what the first version can forbid; later ones add renaming (13) and truncating (14)


def confine(places: Sequence[str], scratch: str) -> bool:
    """Lets this process read below `places` and write below `scratch`, no more; False where the kernel can't."""
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(_CREATE, None, 0, _VERSION_FLAG)
    if abi < 1:
        return False
    handled = _FIRST_ABI | (1 << 13 if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0)
    rules = libc.syscall(_CREATE, struct.pack("Q", handled), 8, 0)
    if rules < 0:
        return False
    try:
        for place in (*places, scratch):
            if not os.path.exists(place):
                continue
            fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
            reading = _EXECUTE | _READ_FILE | (_READ_DIR if os.path.isdir(place) else 0)
            allowed = handled & ~_DEVICES if place == scratch else reading
            libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", allowed, fd), 0)
            os.close(fd)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)
