"""What a program of strangers tries, in the sandbox: `python attacks.py NAME [ARGUMENT] [NAME ARGUMENT]…`.

Each prints what it achieved; the walls decide how little that is.
"""

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path


def fork_bomb(_: str) -> None:
    """Forks for ever, in this namespace alone; without a cap it would need to be stopped by the clock."""
    if os.getpid() > 100:
        sys.exit("not the first of a namespace: no bomb outside")
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def fork_some(count: str) -> None:
    """Forks until refused, at most `count` times; every child sleeps."""
    made = 0
    try:
        while made < int(count):
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            made += 1
    finally:
        print(made, flush=True)


def eat_memory(_: str) -> None:
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 10)) * (1 << 13))  # 8 MiB, touched


def eat_memory_together(count: str) -> None:
    """Every one of some processes stays below the limit, all of them don't."""
    for _ in range(int(count)):
        if os.fork() == 0:
            kept = bytearray(os.urandom(1 << 10)) * (60 << 10)  # 60 MiB
            time.sleep(30)
            os._exit(len(kept) & 1)
    time.sleep(30)


def share_memory(_: str) -> None:
    """Processes share pages: counted once they stay below the limit."""
    kept = bytearray(os.urandom(1 << 10)) * (80 << 10)  # 80 MiB
    for _ in range(3):
        if os.fork() == 0:
            time.sleep(0.5)
            os._exit(len(kept) & 0)
    for _ in range(3):
        os.wait()
    print("shared")


def hide_memory(_: str) -> None:
    """Memory that no process maps."""
    made = []
    for name, number in (("memfd", 319), ("segment", 29)):
        if ctypes.CDLL(None).syscall(number, b"x", 1 << 20, 0o1600) >= 0:
            made.append(name)
    print(made)


def shout(where: str) -> None:
    while True:
        os.write(1 if where == "stdout" else 2, b"x" * 65536)


def fill_one_file(_: str) -> None:
    with open("big", "wb") as file:
        while True:
            file.write(b"x" * 65536)


def sparse_files(_: str) -> None:
    for index in range(100):
        with open(f"sparse{index}.bin", "wb") as file:
            file.truncate(900_000)


def many_files(_: str) -> None:
    index = 0
    while True:
        Path(f"f{index}").touch()
        index += 1


def deep_folders(_: str) -> None:
    for _ in range(200):
        os.mkdir("d")
        os.chdir("d")
    Path("deep.txt").write_text("deep")


def spin(_: str) -> None:
    while True:
        pass


def sleep(_: str) -> None:
    time.sleep(600)


def daemon(path: str) -> None:
    """Leaves a process behind that has left group and session, and ends."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(0.05)
                Path(path).touch()
        os._exit(0)
    time.sleep(0.2)
    print("left")


def read(path: str) -> None:
    print(Path(path).read_text())


def links_out(target: str) -> None:
    """Names in its own folder that lead outside, or to something that is no file."""
    os.symlink(target, "link.txt")
    os.symlink("/", "folder.txt")
    os.mkfifo("pipe.txt")
    Path("one.txt").write_text("1")
    os.link("one.txt", "two.txt")
    Path("good.txt").write_text("good")
    try:
        os.link(target, "hard.txt")
    except OSError as error:
        print(errno.errorcode[error.errno or 0])


def write(path: str) -> None:
    Path(path).write_text("written by the program")


def connect(port: str) -> None:
    outcome = {}
    for family, address in ((socket.AF_INET, ("127.0.0.1", int(port))), (socket.AF_UNIX, f"\0trivium-{port}")):
        try:
            with socket.socket(family) as line:
                line.settimeout(2)
                line.connect(address)
                outcome[family.name] = "connected"
        except OSError as error:
            outcome[family.name] = errno.errorcode.get(error.errno or 0, str(error))
    print(outcome)


def look_around(_: str) -> None:
    """Processes of others, by /proc."""
    found = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    try:
        environ = Path("/proc/1/environ").read_bytes().decode(errors="replace")
    except OSError as error:
        environ = errno.errorcode[error.errno or 0]
    print(len(found), environ)


def signal_others(pid: str) -> None:
    for number in (int(pid), os.getppid(), 1):
        try:
            os.kill(number, signal.SIGKILL)
            print("sent", number)
        except OSError as error:
            print(errno.errorcode[error.errno or 0], number)
    print("alive")


def doors(_: str) -> None:
    """Side doors of the kernel: each must be refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    tries: dict[str, Callable[[], int]] = {
        "ptrace": lambda: libc.ptrace(16, 1, 0, 0),  # PTRACE_ATTACH
        "mount": lambda: libc.mount(b"none", b"/scratch", b"tmpfs", 0, None),
        "unshare": lambda: libc.unshare(0x10000000),
        "setns": lambda: libc.setns(0, 0),
        "chroot": lambda: libc.chroot(b"/"),
        "keyctl": lambda: libc.syscall(250, 0, 0),
        "bpf": lambda: libc.syscall(321, 0, 0, 0),
        "io_uring": lambda: libc.syscall(425, 1, 0),
        "setuid": lambda: libc.setuid(0) if os.getuid() else -1,
        "perf": lambda: libc.syscall(298, 0, 0, -1, -1, 0),
        "clone": lambda: libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0),
    }
    print(sorted(name for name, act in tries.items() if act() != -1))


def setuid_program(path: str) -> None:
    """Runs a copy of `id` that belongs to root and has its setuid bit."""
    print(subprocess.run([path, "-u"], capture_output=True, text=True, check=False).stdout.strip())


def terminal(_: str) -> None:
    """Types into the terminal that is its standard input."""
    try:
        fcntl.ioctl(0, termios.TIOCSTI, b"x")
        print("typed")
    except OSError as error:
        print(errno.errorcode[error.errno or 0])


def more_limits(_: str) -> None:
    """Raises its own limits again."""
    raised = []
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            raised.append(kind)
        except (OSError, ValueError):
            continue
    print(raised)


def settings(_: str) -> None:
    """What differs from run to run where nobody fixed it."""
    zone, order = time.tzname[0], hash("order")
    print(order, zone, sorted(os.environ.items()), os.cpu_count() is not None)


def descriptors(_: str) -> None:
    print(sorted(os.listdir("/proc/self/fd"), key=int)[:-1], sys.stdin.buffer.read())


if __name__ == "__main__":
    words = [*sys.argv[1:], ""]
    for name, argument in zip(words[::2], words[1::2], strict=False):
        try:
            globals()[name](argument)
        except OSError as error:
            print(errno.errorcode[error.errno or 0], flush=True)
