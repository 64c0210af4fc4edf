"""Lists by path: one entry a line, `#` begins a comment; what enters a lineage is their content."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from trivium.errors import InputError


def entries(path: Path) -> Iterator[str]:
    """The entries of one file, read as they are taken. Raises InputError when it can't be read as UTF-8 text."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line in file:
                entry = line.strip()
                if entry and not entry.startswith("#"):
                    yield entry
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text ({error.reason} at byte {error.start}); convert the list") from None
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror}); mend the path or its permissions") from None


def list_digest(path: Path) -> str:
    """The first 16 hex digits of sha256 over a file, or over a folder's files by name."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    total = hashlib.sha256()
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else ""
        total.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16]
