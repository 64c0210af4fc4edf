"""The one place where shard bytes are opened and where files take their final names.

Odd: a reader keeps its file handles out of pickles and reads by `pread`, so a `ShardSet` crosses to worker processes
and serves several threads without a lock.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from trivium.errors import ShardError


class Blob:
    """A file read at random places."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def size(self) -> int:
        """Length in bytes. Raises ShardError when the file is missing."""
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise _missing(self.path, error) from None

    def pread(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes at `offset`. Raises ShardError when the file is missing or ends before."""
        if self._handle is None:
            try:
                self._handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise _missing(self.path, error) from None
        parts = []
        while length:
            part = os.pread(self._handle, min(length, 1 << 30), offset)
            if not part:
                raise ShardError(
                    f"{self.path}: ends at byte {offset}, {length} bytes before the record does; the file is cut "
                    "short: copy it again, or build the set again"
                )
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __reduce__(self) -> tuple[type["Blob"], tuple[Path]]:
        return type(self), (self.path,)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            with contextlib.suppress(OSError):
                self.close()


def _missing(path: Path, error: OSError) -> ShardError:
    return ShardError(f"{path}: can't be read ({error.strerror}); copy the file again, or build the set again")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the name `path` when the block ends well, synced to disk; else nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_whole(path: Path, payload: bytes) -> None:
    """Writes `payload` under `path`, all or nothing."""
    with replacing(path) as file:
        file.write(payload)


def sync_folder(folder: Path) -> None:
    """Makes renames inside `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
