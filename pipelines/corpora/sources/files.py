"""Files of sources, wherever they lie: a local path, or an address that fsspec opens in pieces.

Odd: what lies in a folder may be no file. Opening a FIFO waits for ever and a device may act, so both are looked at
before they are opened; a link may lead out of the folder, so its end is looked at too.
"""

import io
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from trivium.data.shards import address as addresses
from trivium.data.shards import remote
from trivium.errors import InputError, ShardError, StorageError
from trivium.pipelines.corpora.sources.base import RefusedError

_PIECE = 1 << 20  # bytes that one look into a remote file fetches
_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def files_below(where: str) -> Iterator[str]:
    """POSIX paths, relative to the folder `where`, of all files in it, in no order; linked folders are not entered.

    Names only. Raises InputError when nothing is there.
    """
    if "://" in where:
        try:
            yield from remote.files_below(_address(where))
        except ShardError:
            raise InputError(f"{where} does not exist, or lists nothing; mend `path` in the recipe") from None
        except StorageError as error:
            raise InputError(f"{where} can't be listed: {error}") from None
        return
    for folder, _, names in os.walk(where, followlinks=False):
        inside = os.path.relpath(folder, where).replace(os.sep, "/")
        yield from names if inside == "." else (f"{inside}/{name}" for name in names)


def joined(where: str, relative: str) -> str:
    """The path or address of a file below `where`."""
    return str(_address(where) / relative) if "://" in where else os.path.join(where, relative)


def size_of(path: str, root: str = "") -> int:
    """Bytes of a file. Raises RefusedError as `opened` does."""
    if "://" in path:
        return _asked(remote.length_of, _address(path))
    return _looked_at(path, root).st_size


def opened(path: str, root: str = "") -> BinaryIO:
    """The file, for reading and seeking; a remote one is fetched as it is read, by ranges.

    Raises RefusedError: `unreadable`, `unreachable` (after all tries), `not_a_file` (a FIFO, a device), or
    `symlink_escape` when a link leads out of `root`.
    """
    if "://" in path:
        return io.BufferedReader(_Remote(path), _PIECE)
    _looked_at(path, root)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RefusedError("unreadable", error.strerror or str(error), error=True) from None
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):  # changed since it was looked at
        file.close()
        raise RefusedError("not_a_file", "no regular file")
    return file


def read_whole(path: str, limit: int, root: str = "") -> bytes:
    """All bytes of a file of at most `limit`. Raises RefusedError, also `too_large` and `empty`."""
    try:
        with opened(path, root) as file:
            body = file.read(limit + 1)
    except OSError as error:
        raise RefusedError("unreadable", error.strerror or str(error), error=True) from None
    return bounded(body, limit, lambda: size_of(path, root))


def bounded(body: bytes, limit: int, size: Any) -> bytes:
    """`body`, unless it is empty or longer than `limit`; `size()` says how long what it was read from is."""
    if len(body) > limit:
        raise RefusedError("too_large", f"{size():,} bytes, limit {limit:,}")
    if not body:
        raise RefusedError("empty", "0 bytes")
    return body


def readable(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(name as text, "" when it is one, else why not) of each: file systems allow bytes that are no UTF-8."""
    for name in names:
        text = os.fsencode(name).decode("utf-8", "backslashreplace")
        yield text, "" if text == name else "its name is no UTF-8; rename it"


def _looked_at(path: str, root: str) -> os.stat_result:
    try:
        found = os.stat(path)
    except OSError as error:
        raise RefusedError("unreadable", error.strerror or str(error), error=True) from None
    if root and os.path.islink(path):  # folders behind links were never listed
        end = os.path.realpath(path)
        if os.path.commonpath([end, os.path.realpath(root)]) != os.path.realpath(root):
            raise RefusedError("symlink_escape", f"leads to {end}, outside {root}")
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise RefusedError("not_a_file", kind)
    return found


def _address(where: str) -> addresses.Address:
    found = addresses.place(where)
    if not isinstance(found, addresses.Address):
        raise InputError(f"{where}: give a local path without file://")
    return found


def _asked(ask: Any, *arguments: Any) -> Any:
    try:
        return ask(*arguments)
    except ShardError:
        raise RefusedError("unreadable", "No such file", error=True) from None
    except StorageError as error:
        raise RefusedError("unreachable", str(error), error=True) from None


class _Remote(io.RawIOBase):
    """A file behind an address, by ranges; what servers without ranges send whole is kept in a temporary file."""

    def __init__(self, path: str) -> None:
        self._address = _address(path)
        self._held = remote.copies()
        self._at, self._size = 0, -1

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        part = _asked(remote.read_range, self._address, self._at, len(view), self._held)
        view[: len(part)] = part
        self._at += len(part)
        return len(part)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            if self._size < 0:
                self._size = _asked(remote.length_of, self._address)
            offset += self._size
        elif whence == os.SEEK_CUR:
            offset += self._at
        self._at = max(0, offset)
        return self._at

    def tell(self) -> int:
        return self._at
