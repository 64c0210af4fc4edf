"""Who a guarded process is: where root starts it, a user that nobody else is, with no capability.

A user of its own is one that the kernel counts apart: only so does a bound on processes hold where the builder is root,
and no file of the machine belongs to it. Everybody else keeps their own name, inside a user namespace where one can be
had. Odd: in a container the ids end early, so its lent ones come from the range that systemd lends to services.
"""

import ctypes
import os

_WIDE = (0x71000000, 1 << 24)  # first id and how many: nobody's, by systemd's list of ranges
_NARROW = (61184, 65519 - 61184)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _SIGKILL = 1, 4, 9
_CAPSET, _VERSION_3 = {"x86_64": 126, "aarch64": 91}, 0x20080522


def lend() -> int:
    """A user id that is nobody's and that this process may take; 0 when it isn't root or has no such ids."""
    if os.geteuid() != 0:
        return 0
    for first, count in (_WIDE, _NARROW):
        if _mapped(first, count):
            return first + int.from_bytes(os.urandom(8)) % count
    return 0


def _mapped(first: int, count: int) -> bool:
    """Whether all these ids exist in this process's user namespace."""
    try:
        with open("/proc/self/uid_map") as file:
            lines = [line.split() for line in file]
    except OSError:
        return False
    return any(int(inner) <= first and first + count <= int(inner) + int(length) for inner, _, length in lines)


def become(user: int, parent: int) -> None:
    """Takes a lent user, its group and no other, and the folder it stands in; gives up every capability.

    Without bubblewrap `parent` is who started it, with whose thread it dies. Raises OSError.
    """
    if user:
        if parent:
            os.chown(".", user, user)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, nothing = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    number = _CAPSET.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None, use_errno=True).syscall(number, header, nothing)
    if parent:
        die_with(parent)


def hide() -> None:
    """Keeps this process's memory and descriptors from others of the same user."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with(parent: int) -> None:
    """SIGKILL for this process when the thread that started it ends; after a change of user, which forgets it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
