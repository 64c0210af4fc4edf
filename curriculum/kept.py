"""Columns of numbers made in one pass, in memory or as files that are mapped: a folder of them is whole or not there.

Odd: a column that is 0 throughout is left out. Files are written in parts and mapped afterwards, so memory holds one
part at a time; mapped pages are the system's to take back.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]
Parts = Callable[[], Iterator[Mapping[str, npt.NDArray[Any]]]]

IN_MEMORY = 1 << 18  # records of all corpora together that need no folder
_WHOLE = "whole.json"


class _Whole(msgspec.Struct, frozen=True):
    """Written last into a folder: how many records, and which columns are not 0 throughout."""

    records: int
    columns: tuple[str, ...]


def cache_folder(given: Path | None, records: int) -> Path | None:
    """Where columns of so many records go when the user names no folder: memory for few, else the user's cache folder,
    else a temporary folder that goes when this process ends. Never the shard sets' own folder."""
    if given is not None or records <= IN_MEMORY:
        return given
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(home) if home else Path.home() / ".cache") / "trivium" / "curriculum"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):  # a home that can't be written, or none
        pass
    folder = Path(tempfile.mkdtemp(prefix="trivium-curriculum-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def kept(folder: Path | None, records: int, kinds: Mapping[str, npt.DTypeLike], parts: Parts) -> Arrays:
    """Columns of `records` entries by name: mapped from `folder` when it holds them whole, else made of `parts`.

    A part has all of `kinds` for the next records. A folder that is damaged is made anew. Raises InputError when the
    folder can't be written.
    """
    if folder is None:
        return _in_memory(records, kinds, parts)
    found = _mapped(folder, records, kinds)
    if found is not None:
        return found
    fresh = folder.with_name(f".{folder.name}.{token_hex(4)}.new")  # several ranks may make it at once
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        _write(fresh, records, kinds, parts)
        return _put(fresh, folder, records, kinds)
    except OSError as error:
        raise InputError(
            f"{folder}: can't be written ({error.strerror or error}); give a folder that can be with --cache, and with "
            "room for about 20 bytes a document"
        ) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def kept_numbers(path: Path | None, make: Callable[[], npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """A few numbers, read from the file that holds them, else made and kept there; one that is damaged is made anew."""
    if path is None:
        return make()
    try:
        return np.asarray(np.load(path), dtype=np.int64)
    except (OSError, ValueError, EOFError):
        numbers = make()
    fresh = path.with_name(f".{path.name}.{token_hex(4)}.new.npy")
    try:
        np.save(fresh, numbers)
        fresh.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written ({error.strerror}); give another folder with --cache") from None
    return numbers


def _in_memory(records: int, kinds: Mapping[str, npt.DTypeLike], parts: Parts) -> Arrays:
    made: Arrays = {name: np.zeros(records, dtype=kind) for name, kind in kinds.items()}
    at = 0
    for part in parts():
        stop = at + len(next(iter(part.values())))
        for name, column in made.items():
            column[at:stop] = part[name]
        at = stop
    return {name: column for name, column in made.items() if column.any()}


def _write(folder: Path, records: int, kinds: Mapping[str, npt.DTypeLike], parts: Parts) -> None:
    used = dict.fromkeys(kinds, False)
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.npy").open("wb")) for name in kinds}
        for name, file in files.items():
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(kinds[name])), "fortran_order": False}
            np.lib.format.write_array_header_1_0(file, {**header, "shape": (records,)})
        for part in parts():
            for name, file in files.items():
                column = part[name].astype(kinds[name])
                used[name] = used[name] or bool(column.any())
                file.write(column.tobytes())
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
    for name in kinds:
        if not used[name]:
            (folder / f"{name}.npy").unlink()
    columns = tuple(name for name in kinds if used[name])
    (folder / _WHOLE).write_bytes(msgspec.json.encode(_Whole(records, columns)))


def _put(fresh: Path, folder: Path, records: int, kinds: Mapping[str, npt.DTypeLike]) -> Arrays:
    """Renames `fresh` to `folder`, unless another process was quicker."""
    try:
        fresh.rename(folder)
    except OSError:  # there is one: whole by now, or damaged
        found = _mapped(folder, records, kinds)
        if found is not None:
            return found
        aside = folder.with_name(f".{folder.name}.{token_hex(4)}.old")
        folder.rename(aside)
        fresh.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)
    found = _mapped(folder, records, kinds)
    if found is None:
        raise OSError(f"what was written can't be read back for {records} records")
    return found


def _mapped(folder: Path, records: int, kinds: Mapping[str, npt.DTypeLike]) -> Arrays | None:
    try:
        whole = msgspec.json.decode((folder / _WHOLE).read_bytes(), type=_Whole)
        found: Arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in whole.columns if records}
    except (OSError, ValueError, EOFError, msgspec.DecodeError):  # absent, or damaged
        return None
    sound = all(
        name in kinds and column.shape == (records,) and column.dtype == kinds[name] for name, column in found.items()
    )
    return found if sound and whole.records == records else None
