"""The first process of a program's sandbox: puts its files there, starts it within its limits, says how it ended.

Talks with the parent over one socket: files come in, the descriptor of the folder goes out, then one report. Behind
namespaces it is process 1: the program can neither signal nor trace it, and whatever the program left running ends with
it. Odd: it is started for every run, so it imports next to nothing (`typing`, `json` or `socket` would each cost more
than all that it does).
"""

import _socket
import ctypes
import os
import resource
import struct

from trivium.data.guard import frames, identity, landlock, rlimits, seccomp

_ADDR_NO_RANDOMIZE = 0x0040000
_SCM_RIGHTS, _SOL_SOCKET = 1, 1
_NOT_FOUND = 127  # the exit status of a program that could not be started, as in a shell
REPORT = struct.Struct("<iid??")  # exit status as a shell gives it, signal or 0, processor seconds, filtered, confined


def main(
    *,
    control: int,
    parent: int,
    user: int,
    argv: list[str],
    kept: dict[str, int],
    cpu_seconds: int | None,
    walls: tuple[list[str], list[str]],
    allowed: tuple[str, ...],
    pipes: list[int],
    fixed_addresses: bool,
) -> None:
    """Runs one program. `kept`: limits of the kernel, `walls`: what is read and listed, `pipes`: its 3, 4, …"""
    identity.become(user, parent)
    identity.hide()
    while name := frames.receive(control):
        _write(name.decode(), frames.receive(control) or b"")
    _give(control)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(control)
            write = _arrange(pipes, write)
            if fixed_addresses:
                ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
            rlimits.apply(kept)
            if cpu_seconds is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
            confined = landlock.confine(walls[0], [os.getcwd(), "/dev/null"], walls[1])
            os.write(write, bytes([seccomp.install(allowed), confined]))
            os.execv(argv[0], argv)
        except OSError as error:
            os.write(write, f"{argv[0]}: {error.strerror}".encode())
        finally:
            os._exit(_NOT_FOUND)
    os.close(write)
    holds = os.read(read, 2).ljust(2, b"\0")
    complaint = os.read(read, 1000)  # empty when the program has started, which closed the other end
    code = os.waitstatus_to_exitcode(_wait(pid))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = usage.ru_utime + usage.ru_stime
    report = REPORT.pack(128 - code if code < 0 else code, max(0, -code), seconds, holds[0] == 1, holds[1] == 1)
    frames.send(control, report, complaint)


def _write(name: str, content: bytes) -> None:
    folder = os.path.dirname(name)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(name, "xb") as file:
        file.write(content)


def _give(control: int) -> None:
    """The folder's descriptor to the parent, which can read by it what lies there after all here has ended."""
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    channel = _socket.socket(fileno=control)
    channel.sendmsg([b"\0"], [(_SOL_SOCKET, _SCM_RIGHTS, struct.pack("i", folder))])
    channel.detach()
    os.close(folder)


def _wait(pid: int) -> int:
    """The status of `pid`; orphans that come here meanwhile are reaped too."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return status


def _arrange(pipes: list[int], word: int) -> int:
    """Moves `pipes` to 3, 4, …, closes all else; the new place of `word`, which closes when the program starts."""
    high = 3 + len(pipes) + max(word, *pipes, 0)
    for index, fd in enumerate((*pipes, word)):
        os.dup2(fd, high + index, inheritable=False)
    for index in range(len(pipes)):
        os.dup2(high + index, 3 + index)
    place = 3 + len(pipes)
    os.dup2(high + len(pipes), place, inheritable=False)
    os.closerange(place + 1, high + len(pipes) + 1)
    return place
