"""Members of tars and zips that others made, read without unpacking anything to disk.

Odd: `tarfile` ends quietly at a damaged header, reads a header of any size into memory, and its members may be links
and devices; here each of these is said. A zip or a plain tar is read member by member, a compressed tar in one pass.
"""

import lzma
import os
import tarfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from trivium.pipelines.corpora.sources import files, streams
from trivium.pipelines.corpora.sources.base import RefusedError

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz", ".zip")
MEMBERS = 1_000_000  # of one archive
_HEADER = 1 << 20  # bytes of a long name or of extended attributes
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_LONG = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


class Member(NamedTuple):
    """A file in an archive, `offset` and `size` of its bytes (offset -1: ask by name); or why it can't be read."""

    name: str
    size: int = 0
    offset: int = -1
    wrong: RefusedError | None = None


Read = Callable[[int], bytes]


def is_archive(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def one_pass(name: str) -> bool:
    """Whether members can only be read one after the other."""
    return is_archive(name) and bool(streams.coding_of(name))


def members(path: str, root: str, max_ratio: float) -> Iterator[Member]:
    """The members of a zip or a plain tar. Raises RefusedError where the rest can't be read."""
    if path.lower().endswith(".zip"):
        yield from _zip_members(path, root, max_ratio)
        return
    with files.opened(path, root) as file:
        for member, _ in _tar_members(file, "r:"):
            yield member


def read_member(path: str, root: str, member: str, offset: int, length: int, limit: int) -> bytes:
    """At most `limit` + 1 bytes of a member. Raises RefusedError."""
    try:
        if offset < 0:
            archive = _open_zip(path, root, os.getpid())
            with archive.open(archive.getinfo(member)) as opened:
                return opened.read(limit + 1)
        with files.opened(path, root) as file:
            file.seek(offset)
            body = file.read(min(length, limit + 1))
    except (*_DAMAGE, RuntimeError) as error:
        raise RefusedError("damaged", str(error) or type(error).__name__, error=True) from None
    if len(body) < min(length, limit + 1):
        raise RefusedError("damaged", f"ends after {len(body):,} of {length:,} bytes", error=True)
    return body


def streamed(path: str, root: str, max_ratio: float) -> Iterator[tuple[Member, Read]]:
    """Each member of a compressed tar and what reads it; to be read before the next is asked for."""
    with streams.unpacked(files.opened(path, root), path, max_ratio) as file:
        yield from _tar_members(file, "r|")


class _Header(tarfile.TarInfo):
    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Any:
        try:
            found = super().frombuf(buf, encoding, errors)
        except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
            raise RefusedError("damaged", f"no header where a member should begin ({error})", error=True) from None
        if found.type in _LONG and found.size > _HEADER:
            raise RefusedError("bomb", f"a header of {found.size:,} bytes, limit {_HEADER:,}")
        return found


def _tar_members(file: BinaryIO, mode: str) -> Iterator[tuple[Member, Read]]:
    seen: set[str] = set()
    try:
        with tarfile.open(fileobj=file, mode=mode, tarinfo=_Header) as archive:  # type: ignore[call-overload]
            while (info := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]
                if len(seen) >= MEMBERS:
                    raise RefusedError("too_many_members", f"more than {MEMBERS:,}; the rest is left out")
                if not info.isdir():
                    yield _tar_member(info, seen), _reader(archive, info)
    except _DAMAGE as error:
        raise RefusedError("damaged", str(error) or type(error).__name__, error=True) from None


def _tar_member(info: tarfile.TarInfo, seen: set[str]) -> Member:
    if info.issym() or info.islnk():
        wrong: RefusedError | None = RefusedError("link", f"a link to {info.linkname!r}, which has its own entry")
    elif not info.isfile():
        wrong = RefusedError("not_a_file", "a device or FIFO")
    elif info.issparse():
        wrong = RefusedError("unsupported", "a sparse file")
    else:
        wrong = None
    return _named(info.name, info.size, info.offset_data, wrong, seen)


def _reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Read:
    def read(limit: int) -> bytes:
        opened = archive.extractfile(info)
        assert opened is not None
        try:
            return opened.read(limit + 1)
        except _DAMAGE as error:
            raise RefusedError("damaged", str(error) or type(error).__name__, error=True) from None

    return read


def _zip_members(path: str, root: str, max_ratio: float) -> Iterator[Member]:
    size = files.size_of(path, root)
    try:
        infos = _open_zip(path, root, os.getpid()).infolist()
    except _DAMAGE as error:
        raise RefusedError("damaged", str(error) or type(error).__name__, error=True) from None
    if len(infos) > MEMBERS:
        raise RefusedError("too_many_members", f"{len(infos):,}, limit {MEMBERS:,}")
    # The library gives no more of a member than its entry declares, so this sum bounds all reading.
    whole = sum(info.file_size for info in infos)
    if whole > streams.FLOOR and whole > max_ratio * size:
        raise RefusedError("bomb", f"{whole:,} bytes of {size:,}, limit {max_ratio:g} times")
    seen: set[str] = set()
    for info in infos:
        if info.is_dir():
            continue
        wrong = RefusedError("encrypted", "needs a password") if info.flag_bits & 1 else None
        if (info.external_attr >> 28) & 0xF == 0xA:
            wrong = RefusedError("link", "a link to another entry")
        yield _named(info.filename, info.file_size, -1, wrong, seen)


def _named(name: str, size: int, offset: int, wrong: RefusedError | None, seen: set[str]) -> Member:
    """The member, refused when its name leads out of the archive, repeats, or is no text."""
    (text, unread), *_ = files.readable([name])
    parts = text.split("/")
    if text.startswith("/") or ".." in parts or "\0" in text or "\\" in text:
        wrong = RefusedError("unsafe_path", f"{text!r} points outside the archive") if not unread else wrong
    kept = "/".join(part for part in parts if part not in ("", "."))
    if unread:
        wrong = RefusedError("bad_name", unread)
    elif kept in seen:
        wrong = RefusedError("duplicate_member", "an entry of this name came before")
    seen.add(kept)
    return Member(kept if offset >= 0 else text, size, offset, wrong)


@lru_cache(maxsize=4)
def _open_zip(path: str, root: str, process: int) -> zipfile.ZipFile:
    """Kept open: its directory is read whole each time. `process`: handles must not be shared after a fork."""
    file = files.opened(path, root)
    try:
        archive = zipfile.ZipFile(file)
    except BaseException:
        file.close()
        raise
    weakref.finalize(archive, file.close)
    return archive
