"""What a dedup stage leaves for later builds, written by partition of ids; and the same of earlier builds, opened."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import apache_beam as beam
import msgspec
import numpy as np

from trivium.data.dedup.banded import Banded
from trivium.data.dedup.config import Dedup
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.kept import (
    FOLDER,
    TOMBSTONES,
    File,
    Kept,
    Tombstone,
    ids_type,
    read_kept,
    read_tombstones,
)
from trivium.data.dedup.sketches import ID, UNIT, SetReader, kept_type, row_type
from trivium.data.shards.relatives import gave_way
from trivium.pipelines.corpora.blocks import (
    Range,
    decode_range,
    pack,
    partition,
    ranges,
    read_lines,
    read_range,
    source,
    unpack,
)
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.shuffles.candidates import Sets
from trivium.pipelines.corpora.spool import decode_ref, encode_line, lines_of
from trivium.pipelines.corpora.work import Work

RECORDS = 50_000  # of one file
TOGETHER = 4  # files that are made in one job: its shuffle holds their rows


class Earlier:
    """The earlier builds that a stage is `against`, opened; `names` as the recipe says them."""

    def __init__(self, work: Work, stage: str, dedup: Dedup) -> None:
        self.names = dedup.against
        self.roots = [(work.base / path).absolute() for path in dedup.against]
        self.kept = [read_kept(root, stage, dedup.WORD, dedup.made) for root in self.roots]

    def files(self, ending: str) -> list[tuple[int, Path]]:
        """(number of the build from 1, file) of all files of one kind, in order."""
        return [
            (number, root / FOLDER / file.name)
            for number, (root, kept) in enumerate(zip(self.roots, self.kept, strict=True), 1)
            for file in kept.files
            if file.name.endswith(ending)
        ]

    def gone(self) -> list[frozenset[str]]:
        """For each build, the records that gave way to another: those with a tombstone, and those taken out for one."""
        laid = [tombstone for root in self.roots for tombstone in read_tombstones(root)]
        gone = {tombstone.source_id for tombstone in laid}.union(*map(gave_way, self.roots))
        return [frozenset(gone)] * len(self.roots)


class SetFile:
    """A file under a temporary name, with its length and checksum; `close` gives it its name."""

    def __init__(self, path: Path) -> None:
        self._path, self._hidden = path, path.with_name(f".{path.name}-{os.getpid()}")
        self._file: BinaryIO = self._hidden.open("wb")
        self._sha = hashlib.sha256()
        self.size = 0

    def write(self, payload: bytes) -> None:
        self._file.write(payload)
        self._sha.update(payload)
        self.size += len(payload)

    def close(self, records: int) -> File:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._hidden, self._path)
        return File(name=self._path.name, records=records, bytes=self.size, sha256=self._sha.hexdigest())


class KeepFacts(beam.DoFn):
    """A range of star edges (tag 1) or surviving references (tag 0) → (partition of the id, root or survival)."""

    def __init__(self, part: tuple[int, int, int]) -> None:
        self._part = part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        found = decode_range(line)
        low, high, count = self._part
        facts = ((partition(fact[:ID], count), fact) for fact in self._facts(found))
        yield from pack((number, fact) for number, fact in facts if low <= number < high)

    def _facts(self, part: Range) -> Iterator[bytes]:
        for line in read_lines(part):
            yield line[: 2 * ID] if part.tag else decode_ref(line).source_id.encode()


class KeepRows(beam.DoFn):
    """A range of rows → (partition of the id, rows, each with where its set lies)."""

    def __init__(self, permutations: int, sets: Sets, part: tuple[int, int, int]) -> None:
        self._type, self._sets, self._part = row_type(permutations), sets, part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        part = decode_range(line)
        rows = np.frombuffer(read_range(part), dtype=self._type).copy()
        rows["offset"] = self._sets.places(rows, part.tag)
        low, high, count = self._part
        numbers = np.array([partition(key.ljust(ID, b"\0"), count) for key in rows["source_id"].tolist()])
        for number in range(low, high):
            ours = rows[numbers == number]
            if len(ours):
                yield number, ours.tobytes()


class Keep(beam.DoFn):
    """One partition → its file of rows and its file of sets, sorted by source id, and what `Kept` says of them."""

    def __init__(self, stage: str, permutations: int, sets: Sequence[str], folder: str) -> None:
        self._stage, self._permutations, self._paths, self._folder = stage, permutations, sets, folder

    def process(self, group: tuple[int, dict[str, Iterable[bytes]]]) -> Iterator[bytes]:
        number, joined = group
        rows = np.concatenate([np.frombuffer(block, dtype=row_type(self._permutations)) for block in joined["rows"]])
        rows = rows[rows["source_id"].argsort(kind="stable")]
        roots: dict[bytes, bytes] = {}
        stays: set[bytes] = set()
        for fact in unpack(joined["facts"]):
            if len(fact) == ID:
                stays.add(fact)
            else:
                roots[fact[:ID]] = fact[ID:]
        ids = rows["source_id"].tolist()
        kept = np.zeros(len(rows), dtype=kept_type(self._permutations))
        for name in ("source_id", "score", "length", "values"):
            kept[name] = rows[name]
        kept["root"] = [roots.get(key, key) for key in ids]
        kept["stays"] = [key in stays for key in ids]
        yield encode_line(self._write_sets(number, rows["offset"].tolist(), kept))
        file = SetFile(Path(self._folder) / f"{self._stage}-{number:05d}.rows")
        file.write(kept.tobytes())
        yield encode_line(file.close(len(kept)))

    def _write_sets(self, number: int, places: list[int], kept: Any) -> File:
        reader = SetReader(self._paths)
        file = SetFile(Path(self._folder) / f"{self._stage}-{number:05d}.sets")
        for at, where in enumerate(places):
            kept["offset"][at] = file.size // UNIT
            file.write(reader.raw(where))
        reader.close()
        return file.close(len(places))


class KeepGraph:
    """Rows, star edges and surviving references → files of one stage, for some partitions, and `files` about them."""

    def __init__(
        self,
        stage: str,
        permutations: int,
        sets: Sets,
        inputs: tuple[list[Range], list[Range]],
        folder: Path,
        part: tuple[int, int, int],
    ) -> None:
        self._rows, self._facts = inputs
        self._keep_rows, self._keep_facts = KeepRows(permutations, sets, part), KeepFacts(part)
        self._keep = Keep(stage, permutations, sets.paths, str(folder))
        self._folder, self._name = folder, f"files-{part[0]}"

    def __call__(self, pipeline: beam.Pipeline) -> None:
        rows = source(pipeline, self._rows, "rows") | "rows by id" >> beam.ParDo(self._keep_rows)
        facts = source(pipeline, self._facts, "facts") | "facts by id" >> beam.ParDo(self._keep_facts)
        files = {"rows": rows, "facts": facts} | "together" >> beam.CoGroupByKey() | "keep" >> beam.ParDo(self._keep)
        write(files, self._folder, self._name)


def keep_near(work: Work, name: str, near: Banded, sets: Sets, rows: list[Path], stars: list[Path]) -> None:
    """Writes the stage's files and leaves them to the set; the current references are its survivors."""
    signed = sum(path.stat().st_size for path in rows) // row_type(near.permutations).itemsize
    folder = work.job_folder(f"{name}-kept")
    count = -(-signed // RECORDS)
    for low in range(0, count, TOGETHER):
        part = (low, min(low + TOGETHER, count), count)
        inputs = (
            ranges(rows, record=row_type(near.permutations).itemsize, tag=-1),
            [*ranges(work.refs(), tag=0), *ranges(stars, tag=1)],
        )
        graph = KeepGraph(name, near.permutations, sets, inputs, folder, part)
        work.run(f"{name}: keep", graph, folder, total=work.size)
    leave(work, Kept(stage=name, kind=near.WORD, made=near.made, files=_files(folder)), folder)


class IdBlocks(beam.DoFn):
    """A range of references → (partition of the content id, records of exact_dedup)."""

    def __init__(self, quality: str, count: int) -> None:
        self._quality, self._count = quality, count

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        refs = [decode_ref(item) for item in read_lines(decode_range(line))]
        rows = np.zeros(len(refs), dtype=ids_type())
        for row, ref in zip(rows, refs, strict=True):
            row["id"], row["source_id"] = ref.id.encode(), ref.source_id.encode()
            row["score"], row["length"] = ref.scores.get(self._quality, -np.inf), ref.length
        numbers = np.array([partition(ref.id.encode(), self._count) for ref in refs])
        for number in np.unique(numbers).tolist():
            yield number, rows[numbers == number].tobytes()


class KeepIds(beam.DoFn):
    """One partition → its file of records, sorted by content id."""

    def __init__(self, stage: str, folder: str) -> None:
        self._stage, self._folder = stage, folder

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[bytes]:
        number, blocks = group
        rows = np.concatenate([np.frombuffer(block, dtype=ids_type()) for block in blocks])
        file = SetFile(Path(self._folder) / f"{self._stage}-{number:05d}.rows")
        file.write(rows[rows["id"].argsort(kind="stable")].tobytes())
        yield encode_line(file.close(len(rows)))


class KeepIdsGraph:
    """Ranges of references → the files of exact_dedup's records, and `files` about them."""

    def __init__(self, stage: str, quality: str, refs: list[Range], folder: Path, count: int) -> None:
        self._blocks, self._keep = IdBlocks(quality, count), KeepIds(stage, str(folder))
        self._refs, self._folder = refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        files = (
            source(pipeline, self._refs, "refs")
            | "by content" >> beam.ParDo(self._blocks)
            | "partitions" >> beam.GroupByKey()
            | "keep" >> beam.ParDo(self._keep)
        )
        write(files, self._folder, "files")


def keep_exact(work: Work, name: str, exact: ExactDedup) -> None:
    """Writes the content ids of the current references, and leaves them to the set."""
    folder = work.job_folder(f"{name}-kept")
    count = -(-work.size // RECORDS) or 1
    work.run(
        f"{name}: keep",
        KeepIdsGraph(name, exact.quality, ranges(work.refs()), folder, count),
        folder,
        total=work.size,
    )
    leave(work, Kept(stage=name, kind=exact.WORD, made=exact.made, files=_files(folder)), folder)


def leave(work: Work, kept: Kept, folder: Path) -> None:
    """Has the set hold the files in `folder` and the word about them."""
    for file in kept.files:
        work.leave(f"{FOLDER}/{file.name}", folder / file.name)
    folder.mkdir(exist_ok=True)  # nothing was long enough to sign
    head = folder / f"{kept.stage}.json"
    head.write_bytes(msgspec.json.format(encode_line(kept), indent=1) + b"\n")
    work.leave(f"{FOLDER}/{head.name}", head)


def leave_tombstones(work: Work, folder: Path) -> None:
    """Has the set hold the tombstones of a stage beside those of the stages before, one for a record."""
    path = work.folder / TOMBSTONES
    name = f"{FOLDER}/{TOMBSTONES}"
    before = path.read_bytes().splitlines() if name in work.left else []
    found: dict[tuple[str, str], bytes] = {}
    for line in (*before, *lines_of(folder, "tombstones")):
        tombstone = msgspec.json.decode(line, type=Tombstone)
        found.setdefault((tombstone.set, tombstone.source_id), line)
    path.write_bytes(b"".join(found[key] + b"\n" for key in sorted(found)))
    work.leave(name, path)


def _files(folder: Path) -> tuple[File, ...]:
    found = [msgspec.json.decode(line, type=File) for line in lines_of(folder, "files")]
    return tuple(sorted(found, key=lambda file: file.name))
