"""Folders of safetensors files as Hugging Face lays them out: one file, or numbered ones with an index.

Odd: nothing here unpickles. A header that lies (lengths beyond the file, overlaps, a header of gigabytes) is refused by
the safetensors library before a number is read; names in an index are names of files beside it and nothing else.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from torch import Tensor

from trivium.errors import InputError, StorageError

INDEX_LIMIT = 1 << 29  # bytes; the index of K3's 497,220 tensors has some 60 MB
_PLAIN = re.compile(r"[\w.-]+\.safetensors")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle")
BYTES = {"BF16": 2, "F32": 4}


class Header(NamedTuple):
    """What a file says of a tensor: safetensors' name of the dtype, and the shape."""

    dtype: str
    shape: tuple[int, ...]


class Index(msgspec.Struct):
    weight_map: dict[str, str]
    metadata: dict[str, Any] = {}


class Folder:
    """The tensors of a folder, or of one file. Headers are read at once, numbers when asked for, one file open."""

    def __init__(self, path: Path, stem: str = "model") -> None:
        """Raises InputError naming what is wrong and what to do."""
        self.path = path
        self._files = _find(path, stem)
        self.headers: dict[str, Header] = {}
        self._place: dict[str, Path] = {}
        self._open: tuple[Path, Any] | None = None
        for file, listed in self._files.items():
            self._read(file, listed)

    def _read(self, file: Path, listed: set[str] | None) -> None:
        with _refusals(file):
            handle = self._handle(file)
            found = set(handle.keys())
            for name in found:
                part = handle.get_slice(name)
                self.headers[name] = Header(part.get_dtype(), tuple(part.get_shape()))
                self._place[name] = file
        if listed is not None and found != listed:
            odd = sorted(found ^ listed)[0]
            where = "not in the index" if odd in found else "not in the file"
            raise InputError(
                f"{file}: {odd} is {where}, and the index names what each file holds; get the files and the index "
                "again, from one place"
            )

    @property
    def paths(self) -> list[Path]:
        """The files, in the order of their names."""
        return sorted(self._files)

    def get(self, name: str) -> Tensor:
        """One tensor, copied out of its file."""
        file = self._place[name]
        with _refusals(file):
            return self._handle(file).get_tensor(name)

    def _handle(self, file: Path) -> Any:
        from safetensors import safe_open

        if self._open is None or self._open[0] != file:
            self._open = (file, safe_open(file, framework="pt"))
        return self._open[1]


def _find(path: Path, stem: str) -> dict[Path, set[str] | None]:
    """The safetensors files and, with an index, the names that each must hold."""
    if path.is_file() and path.suffix == ".safetensors":
        return {path: None}
    if path.is_file() and any(path.match(pattern) for pattern in _PICKLED):
        raise InputError(f"{path}: a pickle, which can run code when it is read; give the same weights as safetensors")
    if not path.is_dir():
        raise InputError(f"{path}: no folder and no .safetensors file; give the folder that holds {stem}.safetensors")
    index, single = path / f"{stem}.safetensors.index.json", path / f"{stem}.safetensors"
    if index.is_file():
        return _indexed(path, index)
    if single.is_file():
        return {single: None}
    pickled = sorted(file.name for pattern in _PICKLED for file in path.glob(pattern))
    if pickled:
        raise InputError(
            f"{path}: holds {pickled[0]}, a pickle, which can run code when it is read; give the same weights as "
            "safetensors (most publishers offer both)"
        )
    raise InputError(f"{path}: holds neither {single.name} nor {index.name}; give the folder that does")


def _indexed(path: Path, index: Path) -> dict[Path, set[str] | None]:
    if index.stat().st_size > INDEX_LIMIT:
        raise InputError(f"{index}: {index.stat().st_size:,} bytes is no index; get it again")
    try:
        named = msgspec.json.decode(index.read_bytes(), type=Index)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{index}: not an index of safetensors ({error}); get it again") from None
    files: dict[Path, set[str] | None] = {}
    for tensor, name in named.weight_map.items():
        if not _PLAIN.fullmatch(name):
            raise InputError(
                f"{index}: {tensor} lies in {name!r}, which is not the name of a .safetensors file beside the index; "
                "don't use this folder"
            )
        listed = files.setdefault(path / name, set())
        assert listed is not None
        listed.add(tensor)
    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: missing, and {index.name} names it; get it, or the whole folder, again")
    return files


@contextmanager
def _refusals(file: Path) -> Iterator[None]:
    """The library's refusals as our errors."""
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, OSError) as error:
        raise InputError(f"{file}: not a whole safetensors file ({error}); get it again") from None


class Piece(NamedTuple):
    """A tensor to write."""

    name: str
    bytes: int


def plan(pieces: Sequence[Piece], limit: int) -> list[list[str]]:
    """Names by file, in order, each file below `limit` bytes where no tensor alone is larger."""
    files: list[list[str]] = [[]]
    room = limit
    for piece in pieces:
        if piece.bytes > room and files[-1]:
            files.append([])
            room = limit
        files[-1].append(piece.name)
        room -= piece.bytes
    return files


def write(
    folder: Path,
    stem: str,
    pieces: Sequence[Piece],
    limit: int,
    get: Callable[[str], Tensor],
    done: Callable[[int, int], None],
) -> list[str]:
    """Writes the files and, of several, their index; returns the files' names.

    The bytes depend on names and numbers alone. Holds the tensors of one file at a time; `done` gets how many files
    stand, and of how many.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    files = plan(pieces, limit)
    names = [f"{stem}-{i + 1:05d}-of-{len(files):05d}.safetensors" for i in range(len(files))]
    names = names if len(files) > 1 else [f"{stem}.safetensors"]
    for number, (name, held) in enumerate(zip(names, files, strict=True), 1):
        path = folder / name
        try:
            save_file({tensor: get(tensor).contiguous() for tensor in held}, path, metadata={"format": "pt"})
            path.chmod(0o644)  # the library leaves files to their owner alone
            _sync(path)
        except (SafetensorError, OSError) as error:
            raise StorageError(
                f"{path}: can't be written ({error}); free some space and give the same command again"
            ) from None
        done(number, len(files))
    if len(files) > 1:
        place = {tensor: name for name, held in zip(names, files, strict=True) for tensor in held}
        index = {
            "metadata": {"total_size": sum(piece.bytes for piece in pieces)},
            "weight_map": dict(sorted(place.items())),
        }
        write_json(folder / f"{stem}.safetensors.index.json", index)
    return names


def write_json(path: Path, value: Any) -> None:
    """Indented JSON, forced to the disk."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    _sync(path)


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder that becomes `out` when the block ends well, and nothing when it does not.

    Raises InputError when `out` is there and not an empty folder.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: is there already; give a new or empty folder")
    beside = out.with_name(f".{out.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir(parents=True)
        yield beside
        _sync(beside)
        beside.rename(out)
        _sync(out.parent)
    except OSError as error:
        raise StorageError(
            f"{out}: can't be written ({error.strerror or error}); free some space or give another"
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
