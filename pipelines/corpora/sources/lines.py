"""Records of line-structured files, cut so that many workers share one large file and no byte is read twice.

A file is cut into blocks by size alone. A record belongs to the block in which its first line begins; whoever reads
that block reads the record to its end. A line or record above the limit is passed over in bounded memory.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

BLOCK = 32 << 20  # bytes
_STEP = 1 << 20


class Record(NamedTuple):
    """A record at byte `offset` of the (unpacked) file; `body` is None when it is longer than the limit."""

    offset: int
    body: bytes | None


def blocks(size: int) -> Iterator[tuple[int, int]]:
    """(offset, length) of each block."""
    for offset in range(0, max(1, size), BLOCK):
        yield offset, min(BLOCK, size - offset)


def records(
    file: BinaryIO, limit: int, *, offset: int = 0, length: int = -1, begins: re.Pattern[bytes] | None = None
) -> Iterator[Record]:
    """The records that begin in a block, or in all that is left of the stream (`length` -1), each up to `limit` bytes.

    `begins` matches the first line of a record, None: every line is one. What lies before the file's first such line
    is a record too.
    """
    end = None if length < 0 else offset + length
    if begins is None:
        yield from _lines(file, limit, offset, end)
    else:
        yield from _grouped(file, limit, offset, end, begins)


def _lines(file: BinaryIO, limit: int, offset: int, end: int | None) -> Iterator[Record]:
    at = _first_line(file, offset, end)
    while end is None or at < end:
        line = file.readline(limit + 2)  # one more for the line's own end
        if not line:
            return
        start, at = at, at + len(line)
        if len(line.rstrip(b"\r\n")) <= limit:
            yield Record(start, line)
        else:
            at = _skip_line(file, line, at, end)
            yield Record(start, None)


def _grouped(file: BinaryIO, limit: int, offset: int, end: int | None, begins: re.Pattern[bytes]) -> Iterator[Record]:
    at = _first_line(file, offset, end)
    start = 0 if at == 0 else -1  # of the record being gathered; -1: it belongs to the block before
    parts: list[bytes] = []
    size, fresh = 0, True  # `fresh`: a line begins here
    while part := file.readline(_STEP):
        here, at = at, at + len(part)
        first = fresh and here > 0 and begins.match(part) is not None
        fresh = part.endswith(b"\n")
        if end is not None and here >= end and (start < 0 or first or size > limit):
            break
        if first:
            if start >= 0:
                yield _record(start, parts, size, limit)
            start, parts, size = here, [], 0
        if start >= 0:
            size += len(part)
            if size <= limit:
                parts.append(part)
            else:
                parts.clear()
    if size:
        yield _record(start, parts, size, limit)


def _record(start: int, parts: list[bytes], size: int, limit: int) -> Record:
    return Record(start, b"".join(parts) if size <= limit else None)


def _first_line(file: BinaryIO, offset: int, end: int | None) -> int:
    """Moves to the first line that begins at or after `offset`; its place."""
    if offset <= 0:
        return 0
    file.seek(offset - 1)
    before = file.readline(_STEP)
    return _skip_line(file, before, offset - 1 + len(before), end)


def _skip_line(file: BinaryIO, part: bytes, at: int, end: int | None) -> int:
    """Reads on to the end of a line of which `part` was read, no further than `end`; the place after."""
    while part and not part.endswith(b"\n") and (end is None or at < end):
        part = file.readline(_STEP)
        at += len(part)
    return at
