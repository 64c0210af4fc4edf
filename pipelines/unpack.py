"""Unpacks archives that others made, and writes nothing outside the folder that it is given.

Odd: links are made last, after every file is written, so no file can be written through one; a link that resolves to
a place outside the folder is left out (Debian's packages link into other packages). `tarfile`'s own data filter is not
used: Debian 12's Python 3.11.2 has none.
"""

import lzma
import os
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from trivium.errors import FetchError, MissingDependencyError


def unpack_tar(archive: Path, folder: Path, *, strip: int = 0, only: Sequence[str] = ()) -> None:
    """Unpacks a tar of any compression, dropping `strip` leading parts of each name; `only`: see `unpack_deb`.

    Raises FetchError.
    """
    with archive.open("rb") as file:
        _unpack(file, "r|*", folder, strip, archive.name, only)


def unpack_deb(archive: Path, folder: Path, *, only: Sequence[str] = ()) -> None:
    """Unpacks the files of a Debian package; `only` those whose names fit one of the patterns of `fnmatch`, if any.

    Raises MissingDependencyError without dpkg-deb, FetchError.
    """
    if shutil.which("dpkg-deb") is None:
        raise MissingDependencyError("dpkg-deb is not installed and opens Debian packages; apt-get install dpkg")
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            _unpack(process.stdout, "r|", folder, 0, archive.name, only)
            process.stdout.read()  # the padding after the last member, so that dpkg-deb ends well
        finally:
            process.stdout.close()
            complaint = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise FetchError(f"{archive.name}: dpkg-deb failed with exit code {process.returncode}: {complaint}")


def unpack_wheel(archive: Path, folder: Path) -> None:
    """Unpacks a wheel (a zip). Raises FetchError."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                path = _inside(folder, info.filename, 0, archive.name)
                if path is None:
                    continue
                if info.is_dir():
                    path.mkdir(parents=True, exist_ok=True)
                    continue
                with opened.open(info) as source:
                    _write(source, path)
    except zipfile.BadZipFile as error:
        raise FetchError(f"{archive.name}: damaged archive ({error}); fetch it again") from None


def _unpack(file: IO[bytes], mode: str, folder: Path, strip: int, name: str, only: Sequence[str]) -> None:
    links: list[tuple[Path, str]] = []
    try:
        with tarfile.open(fileobj=file, mode=mode) as opened:  # type: ignore[call-overload]
            for member in opened:
                path = _inside(folder, member.name, strip, name)
                if path is None or (only and not any(fnmatchcase(member.name, pattern) for pattern in only)):
                    continue
                if member.isdir():
                    path.mkdir(parents=True, exist_ok=True)
                elif member.isfile():
                    source = opened.extractfile(member)
                    assert source is not None
                    _write(source, path)
                elif member.issym():
                    links.append((path, member.linkname))
                elif member.islnk():
                    first = _inside(folder, member.linkname, strip, name)
                    if first is not None and first.is_file():
                        path.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(first, path)
                # Devices and pipes have no place among inputs.
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise FetchError(f"{name}: damaged archive ({error}); fetch it again") from None
    _make_links(links, folder)


def _make_links(links: list[tuple[Path, str]], folder: Path) -> None:
    made = []
    for path, goal in links:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not path.is_symlink():
            path.symlink_to(goal)
            made.append(path)
    # Looked at only when all are there: a link may lead out through another one.
    root = folder.resolve()
    outside = [path for path in made if not Path(os.path.realpath(path)).is_relative_to(root)]
    for path in outside:
        path.unlink()


def _inside(folder: Path, name: str, strip: int, archive: str) -> Path | None:
    """Where a member goes; None when nothing of its name is left. Raises FetchError when it points outside."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise FetchError(f"{archive}: member {name!r} points outside the folder; the archive is not to be trusted")
    kept = parts[strip:]
    return folder.joinpath(*kept) if kept else None


def _write(source: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
