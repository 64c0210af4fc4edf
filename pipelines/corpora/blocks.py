"""Shuffles of many small records as few large blocks: files are read by ranges, records go by partition of their key.

Odd: Beam spends some microseconds on every element, more than the work that dedup does on it. So a worker packs the
records of one range of a file by the hash of their keys, one block of bytes for each partition, and GroupByKey moves
blocks. Every key lies in exactly one partition; whoever takes a partition streams over its blocks.
"""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import apache_beam as beam
import msgspec

from trivium.pipelines.corpora.linefiles import spread

RANGE = 8 << 20  # bytes of a file that one worker reads at a time


class Range(msgspec.Struct, frozen=True, array_like=True):
    """Bytes `start` to `stop` of a file; of a file of lines, the lines that begin there. `tag` is the reader's own."""

    path: str
    start: int
    stop: int
    tag: int = 0


def ranges(paths: Iterable[Path], *, record: int = 1, tag: int = 0) -> list[Range]:
    """The files cut into ranges of about RANGE bytes, at multiples of `record` bytes."""
    step = max(1, RANGE // record) * record
    return [
        Range(str(path), start, min(start + step, whole), tag)
        for path in paths
        for whole in (path.stat().st_size,)
        for start in range(0, whole, step)
    ]


def read_range(part: Range) -> bytes:
    with open(part.path, "rb") as file:
        file.seek(part.start)
        return file.read(part.stop - part.start)


def read_lines(part: Range) -> Iterator[bytes]:
    """The lines that begin inside the range, without their ends; empty lines are left out."""
    with open(part.path, "rb") as file:
        if part.start:
            file.seek(part.start - 1)
            file.readline()  # the line that the range before this one ends in, or just its end
        while file.tell() < part.stop:
            line = file.readline()
            if line.strip():
                yield line.rstrip(b"\n")


def partition(key: bytes, count: int) -> int:
    return zlib.crc32(key) % count


def pack(keyed: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """(partition, line) pairs → (partition, lines with their ends), each partition once."""
    packed: dict[int, list[bytes]] = {}
    for number, line in keyed:
        packed.setdefault(number, []).append(line)
    for number, found in sorted(packed.items()):
        yield number, b"\n".join(found) + b"\n"


def unpack(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of packed blocks; may be called again as long as `blocks` may be."""
    for block in blocks:
        yield from block.splitlines()


def source(pipeline: beam.Pipeline, parts: list[Range], label: str) -> beam.PCollection:
    """The ranges as a collection, spread over all workers."""
    made = [msgspec.json.encode(part) for part in parts]
    encoded = pipeline | f"{label}: ranges" >> beam.Create(made, reshuffle=False)
    return spread(encoded, label)


def decode_range(line: bytes) -> Range:
    return msgspec.json.decode(line, type=Range)
