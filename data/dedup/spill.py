"""Sorting of fixed-size records in bounded memory: what does not fit goes to disk, in pieces by value.

Odd: records are rows of bytes and compare as such, so numbers in them are big-endian. Rows that are equal in the bytes
compared may be more than fit into memory: they are passed on in pieces, in any order.
"""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.uint8]  # [N, width]
Keys = npt.NDArray[np.bytes_]

_READ = 1 << 22  # bytes of a spilled file that are read at a time
_SAMPLES = 64  # keys of each run that the borders of pieces are taken from


def ordered(blocks: Iterable[bytes], width: int, begin: int, end: int, most: int, scratch: Path) -> Iterator[Rows]:
    """All records of `blocks` sorted by their bytes [begin:end), in arrays of at most about `most` records.

    A block holds whole records of `width` bytes. An array never ends between records that are equal in the compared
    bytes, unless more than `most` are: then arrays follow each other that hold nothing else.
    """
    held: list[bytes] = []
    count = 0
    rest = iter(blocks)
    for block in rest:
        held.append(block)
        count += len(block) // width
        if count > most:
            yield from _spilled(chain(held, rest), width, begin, end, most, scratch)
            return
    if count:
        rows = np.frombuffer(b"".join(held), dtype=np.uint8).reshape(-1, width)
        yield rows[_keys(rows, begin, end).argsort(kind="stable")]


def _keys(rows: Rows, begin: int, end: int) -> npt.NDArray[np.generic]:
    """The compared bytes of each row, as numbers when they are eight, which sort faster."""
    keys = np.ascontiguousarray(rows[:, begin:end])
    if end - begin == 8:
        return keys.view(">u8").ravel().astype(np.uint64)
    return keys.view(f"S{end - begin}").ravel()


def _spilled(blocks: Iterable[bytes], width: int, begin: int, end: int, most: int, scratch: Path) -> Iterator[Rows]:
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        samples = []
        count = 0
        with (folder / "whole").open("wb") as file:
            for run in _joined(blocks, most * width):
                rows = np.frombuffer(run, dtype=np.uint8).reshape(-1, width)
                keys = _keys(rows, begin, end)
                samples.append(np.sort(keys[:: max(1, len(keys) // _SAMPLES)]))
                count += len(rows)
                file.write(run)
        drawn = np.sort(np.concatenate(samples))
        pieces = 2 * -(-count // most)
        borders = np.unique(drawn[:: max(1, len(drawn) // pieces)])
        for path in _scattered(folder / "whole", width, begin, end, borders):
            yield from _piece(path, width, begin, end, most, scratch)
            path.unlink()


def _piece(path: Path, width: int, begin: int, end: int, most: int, scratch: Path) -> Iterator[Rows]:
    """A piece that fits is sorted; a larger one holds a single key (passed on as it is), or is spilled once more."""
    if path.stat().st_size > 2 * most * width:
        edges = {key for block in _read(path, width) for key in _range(block, width, begin, end)}
        if len(edges) == 1:
            yield from (np.frombuffer(block, dtype=np.uint8).reshape(-1, width) for block in _read(path, width))
        else:
            yield from _spilled(_read(path, width), width, begin, end, most, scratch)
        return
    rows = np.fromfile(path, dtype=np.uint8).reshape(-1, width)
    yield rows[_keys(rows, begin, end).argsort(kind="stable")]


def _range(block: bytes, width: int, begin: int, end: int) -> tuple[object, object]:
    keys = np.sort(_keys(np.frombuffer(block, dtype=np.uint8).reshape(-1, width), begin, end))
    return keys[0], keys[-1]


def _scattered(whole: Path, width: int, begin: int, end: int, borders: npt.NDArray[np.generic]) -> list[Path]:
    """Files in order, of the keys below the first border, equal to it, between it and the next, …; `whole` goes."""
    folder, found = whole.parent, set()
    for block in _read(whole, width):
        rows = np.frombuffer(block, dtype=np.uint8).reshape(-1, width)
        keys = _keys(rows, begin, end)
        piece = np.searchsorted(borders, keys, "left") + np.searchsorted(borders, keys, "right")
        where = piece.argsort(kind="stable")
        numbers, starts = np.unique(piece[where], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(rows[where], starts[1:]), strict=True):
            with (folder / f"{number:06d}").open("ab") as file:
                file.write(part.tobytes())
        found.update(numbers.tolist())
    whole.unlink()
    return [folder / f"{number:06d}" for number in sorted(found)]


def _joined(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The blocks, small ones joined up to about `size` bytes, large ones cut."""
    held: list[bytes] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block)
        if count >= size:
            yield b"".join(held)
            held, count = [], 0
    if held:
        yield b"".join(held)


def _read(path: Path, width: int) -> Iterator[bytes]:
    size = max(1, _READ // width) * width
    with path.open("rb") as file:
        while block := file.read(size):
            yield block
