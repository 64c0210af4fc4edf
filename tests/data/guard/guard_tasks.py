"""Tasks that a hostile file might make a decoder run; imported by the guarded child."""

import ctypes
import os
import socket
import sys
import threading
import time

from trivium.errors import GuardError


def echo(request: object) -> object:
    return request


def measure(text: str) -> dict[str, int]:
    return {"length": len(text), "pid": os.getpid()}


def strangers(places: list[str]) -> list[str]:
    """All that the file system holds beside `places` and the folders on the way to them."""
    found: list[str] = []

    def look(folder: str) -> None:
        for entry in os.scandir(folder):
            if entry.path in places or entry.is_symlink():  # what a link leads to is met on its own
                continue
            if any(place.startswith(entry.path + "/") for place in places):
                look(entry.path)
            else:
                found.append(entry.path)

    look("/")
    return found


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str) -> int:
    with open(path, "w") as file:
        return file.write("x" * 100)


def connect(address: tuple[str, int]) -> str:
    with socket.create_connection(address, timeout=3):
        return "connected"


def fork(count: int) -> int:
    for _ in range(count):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    return count


def execute(path: str) -> None:
    os.execv(path, [path])


def thread(value: int) -> int:
    box: list[int] = []
    worker = threading.Thread(target=lambda: box.append(value + 1))
    worker.start()
    worker.join()
    return box[0]


def allocate(count: int) -> int:
    return len(bytearray(count))


def hold_the_gil(seconds: int) -> None:
    ctypes.PyDLL(None).sleep(seconds)


def spin_in_c(_: object) -> None:
    libc = ctypes.PyDLL(None)
    size = 1 << 20
    block = ctypes.create_string_buffer(size)
    while True:
        libc.memset(block, 0, size)


def segfault(_: object) -> None:
    ctypes.string_at(0)


def abort(_: object) -> None:
    os.abort()


def leave(code: int) -> None:
    os._exit(code)


def big(count: int) -> bytes:
    return b"\0" * count


def chatter(count: int) -> str:
    print("x" * count)
    os.write(1, b"noise on the raw descriptor\n")
    sys.stderr.write("y" * count)
    return "quiet"


def lie(_: object) -> None:
    """Speaks the protocol's bytes itself: a frame that says 4 GB, on every descriptor it has."""
    for fd in range(3, 32):
        try:
            os.write(fd, b"\xff\xff\xff\xff")
        except OSError:
            continue
    time.sleep(30)


def recurse(depth: int) -> int:
    return 0 if depth == 0 else 1 + recurse(depth - 1)


MARKS: list[str] = []


def leave_a_mark(mark: str) -> dict[str, object]:
    """Changes everything that a later request could see."""
    import json

    found = [*MARKS, *os.listdir("."), getattr(json, "mark", "")]
    MARKS.append(mark)
    json.mark = mark  # type: ignore[attr-defined]
    with open("mark", "w") as file:
        file.write(mark)
    os.makedirs("folder/inner")
    return {"found": [entry for entry in found if entry], "maker": os.getppid(), "pid": os.getpid()}


def kill_the_maker(_: object) -> str:
    """Ends the process that forked this one, where it can."""
    import signal

    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except PermissionError:
        return "refused"
    return "killed"


def complain(_: object) -> None:
    raise GuardError("odd", "words that no reply can hold: \ud800")


def order(text: str) -> int:
    return hash(text)


def some_die(value: int) -> int:
    if value % 5 == 3:
        os.kill(os.getpid(), 9)
    if value % 5 == 4:
        time.sleep(60)
    return value * value


def perform(request: tuple[str, object]) -> object:
    """Any task of this file, by name."""
    name, argument = request
    return globals()[name](argument)
