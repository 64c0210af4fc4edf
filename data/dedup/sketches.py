"""Files of signatures and shingle sets: fixed rows that numpy reads whole, and sets by their place in a file.

Odd: a set's hashes are the upper 32 bits of its n-grams' hashes, so it takes about two thirds of its text's bytes; two
n-grams of one text of ten thousand words meet in one value with probability 0.01, which moves no similarity that shows.
"""

import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from trivium.errors import BuildError

ID = 26  # characters of a source id
FILE = 32  # characters that name a file of sets
UNIT = 4  # bytes that a set's place is counted in
HEAD = 32  # bytes before a set's hashes: its source id, and how many they are

Set = npt.NDArray[np.uint32]
RowArray = npt.NDArray[Any]  # of `row_type` or `kept_type`

_FILE_SHIFT = np.uint64(40)
_PLACE = (1 << 40) - 1
_OPEN = 64  # files that a reader keeps open


def row_type(permutations: int) -> np.dtype[Any]:
    """A signed text of the build that runs: its set is at `offset` (in UNITs) of the file named `file`."""
    return np.dtype(
        [
            ("source_id", f"S{ID}"),
            ("file", f"S{FILE}"),
            ("offset", "<u8"),
            ("score", "<f8"),
            ("length", "<u4"),
            ("values", "<u4", (permutations,)),
        ]
    )


def kept_type(permutations: int) -> np.dtype[Any]:
    """A signed text of an earlier build: `root` names its cluster, `stays` = 1 for the cluster's survivor."""
    return np.dtype(
        [
            ("source_id", f"S{ID}"),
            ("root", f"S{ID}"),
            ("stays", "u1"),
            ("offset", "<u8"),
            ("score", "<f8"),
            ("length", "<u4"),
            ("values", "<u4", (permutations,)),
        ]
    )


def compact(hashes: npt.NDArray[np.uint64]) -> Set:
    """The set of some n-grams' hashes: sorted, each once."""
    found = np.sort((hashes >> np.uint64(32)).astype(np.uint32))
    first = np.ones(len(found), dtype=bool)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return found[first]


def alike(a: Set, b: Set) -> float:
    """Jaccard similarity of two sets; two empty sets are not alike (0)."""
    if not len(a) or not len(b):
        return 0.0
    both = np.concatenate((a, b))
    both.sort(kind="stable")
    shared = int(np.count_nonzero(both[1:] == both[:-1]))
    return shared / (len(both) - shared)


def place(file: int | npt.NDArray[np.uint64], offset: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """One number for a text: which file holds its set, and where."""
    return (np.asarray(file, dtype=np.uint64) << _FILE_SHIFT) | offset.astype(np.uint64)


def write_set(file: BinaryIO, source_id: str, found: Set) -> int:
    """Appends a set; returns how many UNITs it takes."""
    head = source_id.encode("ascii").ljust(HEAD - UNIT, b"\0") + len(found).to_bytes(UNIT, "little")
    file.write(head)
    file.write(found.astype("<u4").tobytes())
    return HEAD // UNIT + len(found)


class SetReader:
    """Sets by their place; the last few, up to `most` bytes together, are kept."""

    def __init__(self, paths: Sequence[str], most: int = 64 << 20) -> None:
        self._paths, self._most = paths, most
        self._files: dict[int, int] = {}
        self._held: dict[int, tuple[str, Set]] = {}
        self._bytes = 0

    def get(self, where: int) -> tuple[str, Set]:
        """(source id, set). Raises BuildError when the file was cut off."""
        found = self._held.pop(where, None)
        if found is None:
            found = self._read(where)
            self._bytes += found[1].nbytes
        self._held[where] = found
        while self._bytes > self._most and len(self._held) > 2:
            self._bytes -= self._held.pop(next(iter(self._held)))[1].nbytes
        return found

    def raw(self, where: int) -> bytes:
        """A set as it lies in its file, head and all."""
        number, at = where >> 40, (where & _PLACE) * UNIT
        file = self._files.get(number)
        if file is None:
            if len(self._files) >= _OPEN:
                self.close()
            file = self._files[number] = os.open(self._paths[number], os.O_RDONLY)
        block = os.pread(file, 4096, at)
        size = HEAD + UNIT * int.from_bytes(block[HEAD - UNIT : HEAD], "little")
        if size > len(block):
            block += os.pread(file, size - len(block), at + len(block))
        if len(block) < max(size, HEAD):
            raise BuildError(
                f"{self._paths[number]}: {len(block)} of {size} bytes at {at}; the file was cut off: run the build "
                "that writes it again"
            )
        return block[:size]

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def _read(self, where: int) -> tuple[str, Set]:
        block = self.raw(where)
        return block[:ID].decode("ascii"), np.frombuffer(block, dtype="<u4", offset=HEAD)
