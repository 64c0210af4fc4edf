"""The one place where shard bytes are opened and where files take their final names.

Odd: a reader keeps its file handles out of pickles and reads by `pread`, so a `ShardSet` crosses to worker processes
and serves several threads without a lock. Local files never load fsspec.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from trivium.data.shards import names
from trivium.data.shards.address import Address, Place
from trivium.errors import InputError, ShardError, StorageError

if TYPE_CHECKING:
    from trivium.data.shards.remote import Copies


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
        handle = self._open()
        parts = []
        while length:
            part = os.pread(handle, min(length, 1 << 30), offset)
            if not part:
                raise _ends_early(self.path, offset, length)
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def into(self, offset: int, view: memoryview) -> None:
        """Fills `view` (bytes) from `offset` on without a copy between. Raises as `pread` does."""
        handle = self._open()
        while view:
            count = os.preadv(handle, [view[: 1 << 30]], offset)
            if not count:
                raise _ends_early(self.path, offset, len(view))
            view, offset = view[count:], offset + count

    def _open(self) -> int:
        if self._handle is None:
            try:
                self._handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise _missing(self.path, error) from None
        return self._handle

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


class RemoteBlob:
    """The same of a file behind an address; each read is one request or, above 8 MiB, several.

    `held` has the copies that stand in for files of servers without ranges, for several files together.
    """

    def __init__(self, path: Address, held: "Copies | None" = None) -> None:
        self.path, self._held = path, held

    def size(self) -> int:
        """Length in bytes. Raises StorageError, or ShardError when the file is missing."""
        from trivium.data.shards import remote

        return remote.length_of(self.path)

    def pread(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes at `offset`. Raises StorageError, or ShardError when the file ends before."""
        from trivium.data.shards import remote

        if self._held is None:
            self._held = remote.copies()
        found = remote.read_range(self.path, offset, length, self._held)
        if len(found) < length:
            raise _ends_early(self.path, offset + len(found), length - len(found))
        return found

    def into(self, offset: int, view: memoryview) -> None:
        """Fills `view` (bytes) from `offset` on. Raises as `pread` does."""
        view[:] = self.pread(offset, len(view))

    def close(self) -> None:
        """Gives up copies; fsspec keeps the connections."""
        if self._held is not None:
            self._held.clear()


def open_blob(path: Place, held: "Copies | None" = None) -> Blob | RemoteBlob:
    """A file for random reads, wherever it lies."""
    return RemoteBlob(path, held) if isinstance(path, Address) else Blob(path)


def read_file(path: Place, limit: int) -> bytes:
    """A whole file of at most `limit` bytes. Raises ShardError (missing, larger) or StorageError (remote)."""
    if isinstance(path, Address):
        from trivium.data.shards import remote

        payload = remote.read_range(path, 0, limit + 1)
    else:
        try:
            with path.open("rb") as file:
                payload = file.read(limit + 1) if path.stat().st_size <= limit else bytes(limit + 1)
        except OSError as error:
            raise _missing(path, error) from None
    if len(payload) > limit:
        raise ShardError(f"{path}: more than {limit:,} bytes, which no file of its kind needs; it is not read")
    return payload


def sizes_in(folder: Place) -> dict[str, int] | None:
    """Names and sizes of what a folder holds, -1 for what is no file; None where storage can't list (HTTP). A missing
    folder is empty."""
    if isinstance(folder, Address):
        from trivium.data.shards import remote

        return remote.listing(folder)
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_size if entry.is_file() else -1 for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def set_folders(folder: Place) -> list[Place]:
    """`folder` when it is a set, else the sets below it, sorted; those that lost their manifest and still hold shards
    too, since who reads them must say so. Raises InputError for none."""
    name = names.MANIFEST
    if isinstance(folder, Address):
        from trivium.data.shards import remote

        found: list[Place] = [*remote.sets_below(folder)]
        if not found and folder.scheme in ("http", "https"):
            raise InputError(
                f"{folder}: nothing is there: no {name} in it; HTTP can't list, so give a set's own address"
            )
    elif not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give a shard set or a folder of sets")
    else:
        found = [folder] if (folder / name).is_file() else [*_sets_below(folder)]
    if folder in found:
        found = [folder]
    if not found:
        raise InputError(f"{folder}: no {name} here or below; a build that did not finish has none")
    return found


def _sets_below(folder: Path) -> list[Path]:
    """Folders with a manifest, or with shards and none; what a job keeps in hidden folders is no set yet."""
    lost = {
        path.parent
        for path in [folder / names.SHARDS, *folder.rglob(names.SHARDS)]
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and any(names.SHARD.fullmatch(tar.name) for tar in path.glob("*.tar"))
    }
    return sorted(lost | {path.parent for path in folder.rglob(names.MANIFEST)})


def _ends_early(path: Place, end: int, missing: int) -> ShardError:
    return ShardError(
        f"{path}: ends at byte {end}, {missing} bytes before the record does; the file is cut short: copy it again, or "
        "build the set again"
    )


def _missing(path: Path, error: OSError) -> ShardError | StorageError:
    """A file that is not there is damage; any other refusal (no handles left, a stale mount) is the machine's."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ShardError(f"{path}: can't be read (no such file); copy the file again, or build the set again")
    problem = f"{path}: can't be read ({error.strerror}); mend that and give the same command again"
    return StorageError(problem, str(path))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the name `path` when the block ends well, synced to disk; else nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb", buffering=1 << 20) as file:
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
