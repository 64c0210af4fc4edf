"""Compressed files as plain streams, never more than a stated multiple of what they took on disk.

Odd: pyarrow's decompressor is used for gzip, zstd and bzip2, since it says when a stream is cut short (zstandard's
reader does not) and goes on over many members; xz is left to `lzma`, with a limit on its memory.
"""

import io
import lzma
from typing import Any, BinaryIO

from trivium.pipelines.corpora.sources.base import RefusedError

CODINGS = {".gz": "gzip", ".tgz": "gzip", ".dz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
FLOOR = 64 << 20  # bytes that any stream may give, whatever its ratio
_XZ_MEMORY = 256 << 20
_CHUNK = 1 << 18


def coding_of(name: str) -> str:
    """The compression that a file's name tells, or nothing."""
    return next((coding for suffix, coding in CODINGS.items() if name.lower().endswith(suffix)), "")


def unpacked(file: BinaryIO, name: str, max_ratio: float) -> BinaryIO:
    """`file` decompressed as its name tells. Reading raises RefusedError: `bomb`, or `damaged`."""
    coding = coding_of(name)
    return io.BufferedReader(_Unpacked(file, coding, max_ratio), _CHUNK) if coding else file


class _Unpacked(io.RawIOBase):
    def __init__(self, file: BinaryIO, coding: str, max_ratio: float) -> None:
        self._file, self._ratio, self._given = file, max_ratio, 0
        self._inner: Any = _Xz(file) if coding == "xz" else _arrow(file, coding)

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        try:
            part = self._inner.read(len(view))
        except (OSError, lzma.LZMAError, EOFError) as error:
            raise RefusedError("damaged", f"after {self._given:,} bytes: {error}", error=True) from None
        view[: len(part)] = part
        self._given += len(part)
        if self._given > FLOOR and self._given > self._ratio * self._file.tell():
            raise RefusedError("bomb", f"{self._given:,} bytes of {self._file.tell():,}, limit {self._ratio:g} times")
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def _arrow(file: BinaryIO, coding: str) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), coding)


class _Xz:
    """`lzma.LZMAFile` without a memory limit would let a header ask for 4 GiB."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._decoder = file, _decoder()

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data or self._file.read(_CHUNK)
                if not rest.strip(b"\0"):
                    return b""
                self._decoder = _decoder()
            else:
                rest = self._file.read(_CHUNK) if self._decoder.needs_input else b""
                if not rest and self._decoder.needs_input:
                    raise EOFError("the stream is cut short")
            part = self._decoder.decompress(rest, size)
            if part:
                return part


def _decoder() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
