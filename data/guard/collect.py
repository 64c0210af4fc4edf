"""Files taken out of a sandbox's folder after everything in it has ended: plain files, bounded, never through links.

Odd: nobody writes there any more, so what was looked at is what is read.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

_DEPTH = 16  # folders within folders; what lies deeper isn't looked at
_CHUNK = 1 << 20


class TooMuchError(Exception):
    """More files or bytes than allowed; the text says which."""


def collect(folder: int, wants: Sequence[str], *, files: int, size: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """Files whose path below the open `folder` fits a pattern of `wants`, and why others that fit were left out.

    Raises TooMuchError above `files` entries in the folder or `size` bytes taken; a sparse file counts as long as it
    claims to be.
    """
    taken: dict[str, bytes] = {}
    left: dict[str, str] = {}
    room = size
    for seen, (path, parent, name) in enumerate(_walk(folder)):
        if seen >= files:
            raise TooMuchError(f"more than {files} files and folders")
        if not any(fnmatchcase(path, pattern) for pattern in wants):
            continue
        content = _read(parent, name, room)
        if isinstance(content, bytes):
            taken[path] = content
            room -= len(content)
        elif content:
            left[path] = content
    return dict(sorted(taken.items())), dict(sorted(left.items()))


def measure(folder: int, enough: int) -> tuple[int, int]:
    """Entries and bytes on disk below the open `folder`; looks no further at `enough` entries."""
    entries = size = 0
    for _, parent, name in _walk(folder):
        entries += 1
        if entries >= enough:
            break
        try:
            size += os.stat(name, dir_fd=parent, follow_symlinks=False).st_blocks * 512
        except OSError:
            continue  # gone meanwhile
    return entries, size


def _walk(folder: int) -> Iterator[tuple[str, int, str]]:
    """Path, open parent folder and name of each entry, in the order of names; links are entries, never followed."""
    for root, folders, files, parent in os.fwalk(dir_fd=folder, onerror=None, follow_symlinks=False):
        folders.sort()
        inside = os.path.normpath(root)
        prefix = "" if inside == "." else f"{inside}/"
        for name in sorted([*folders, *files]):
            yield f"{prefix}{name}", parent, name
        if prefix.count("/") >= _DEPTH:
            folders.clear()


def _read(parent: int, name: str, room: int) -> bytes | str:
    """The content, or why it can't be had; an empty text for a folder."""
    try:
        name.encode()
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except UnicodeEncodeError:
        return "its name is no UTF-8"
    except OSError as error:
        return "a link" if os.path.islink(f"/proc/self/fd/{parent}/{name}") else f"can't be read ({error.strerror})"
    try:
        facts = os.fstat(fd)
        if stat.S_ISDIR(facts.st_mode):
            return ""
        if not stat.S_ISREG(facts.st_mode):
            return "no plain file"
        if facts.st_nlink != 1:
            return "a file of several names"
        if facts.st_size > room:
            raise TooMuchError(f"{name} is {facts.st_size} bytes long, {room} left of what is allowed")
        content = bytearray()
        while chunk := os.read(fd, _CHUNK):
            content += chunk
        return bytes(content)
    finally:
        os.close(fd)
