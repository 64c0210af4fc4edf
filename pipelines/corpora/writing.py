"""From surviving references to shards: ids planned in the driver, each shard written by one worker."""

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec
import numpy as np
import numpy.typing as npt

from trivium.console import inline
from trivium.data.records import Document, finish
from trivium.data.shards import ShardInfo, shard_name, write_shard
from trivium.data.shards.storage import write_whole
from trivium.data.stage import size_of
from trivium.errors import BuildError
from trivium.pipelines.corpora.items import READINGS, Counters, Tally
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.rejects import Rejects
from trivium.pipelines.corpora.report.meter import WRITE, Clock
from trivium.pipelines.corpora.spool import SpoolReader, decode_ref, encode_line, lines_of

WRITTEN = "write/records"
_BATCH = 1 << 20  # bytes of references read at once


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One shard: the file of its references, sorted by id, and the tar to write."""

    refs: str
    path: str


class _Planned(msgspec.Struct):
    """The part of a reference that the plan looks at."""

    id: str
    source_id: str
    stored: int


def plan(refs: Path, folder: Path, shards: Path, corpus: str, target_bytes: int) -> list[Path]:
    """Writes one file of references for each shard and the file of tasks; returns the latter.

    The driver holds about 80 bytes a record, never their references. Raises BuildError when two records have one
    content or one source id.
    """
    lines = _Lines(sorted(refs.glob("refs-*")))
    order = lines.ids.argsort(kind="stable")
    _refuse_twice(lines, lines.ids[order], order, "content")
    by_source = lines.source_ids.argsort(kind="stable")
    _refuse_twice(lines, lines.source_ids[by_source], by_source, "source id")
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier run
    folder.mkdir(parents=True)
    shards.mkdir(parents=True, exist_ok=True)
    tasks = []
    for number, records in enumerate(shard_runs(lines.stored[order], target_bytes)):
        path = folder / f"{number:05d}.jsonl"
        with path.open("wb") as file:
            for record in order[records].tolist():
                file.write(lines.read(record))
        tasks.append(Task(refs=str(path), path=str(shards / shard_name(corpus, "all", number))))
    lines.close()
    (folder / "tasks.jsonl").write_bytes(b"".join(encode_line(task) + b"\n" for task in tasks))
    return [folder / "tasks.jsonl"]


def shard_runs(sizes: npt.NDArray[np.int64], target_bytes: int) -> list[slice]:
    """`data.shards.plan_shards` for sizes in order of id: which records form each shard."""
    total = int(sizes.sum())
    count = max(1, -(-total // target_bytes))
    before = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(sizes) else sizes
    if total * count > np.iinfo(np.int64).max:
        before = before.astype(object)
    numbers = (before * count // max(1, total)).astype(np.int64)
    starts = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(sizes)]
    return [slice(start, stop) for start, stop in pairwise(starts)]


class _Lines:
    """Lines of references by number: ids and sizes in memory, the lines themselves where they lie."""

    def __init__(self, paths: list[Path]) -> None:
        self._files = [path.open("rb") for path in paths]
        decoder = msgspec.json.Decoder(_Planned)
        ids, source_ids, numbers = [], [], []
        for number, file in enumerate(self._files):
            offset = 0
            for batch in iter(lambda file=file: file.readlines(_BATCH), []):
                found = [decoder.decode(line) for line in batch]
                lengths = np.fromiter(map(len, batch), np.int64, len(batch))
                starts = offset + np.concatenate(([0], np.cumsum(lengths)[:-1]))
                offset = int(starts[-1] + lengths[-1])
                ids.append(np.array([one.id for one in found], dtype="S26"))
                source_ids.append(np.array([one.source_id for one in found], dtype="S26"))
                stored = np.array([one.stored for one in found], dtype=np.int64)
                numbers.append(np.stack([np.full(len(batch), number), starts, lengths, stored], axis=1))
        self.ids = np.concatenate(ids)
        self.source_ids = np.concatenate(source_ids)
        self._places = np.concatenate(numbers)
        self.stored = self._places[:, 3]

    def read(self, record: int) -> bytes:
        number, start, length, _ = self._places[record].tolist()
        return os.pread(self._files[number].fileno(), length, start)

    def close(self) -> None:
        for file in self._files:
            file.close()


def _refuse_twice(lines: _Lines, ordered: npt.NDArray[np.bytes_], order: npt.NDArray[np.intp], what: str) -> None:
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same):
        one, other = (decode_ref(lines.read(int(order[at]))) for at in (same[0], same[0] + 1))
        here, there = (inline(f"{ref.source}: {ref.address}") for ref in (one, other))
        raise BuildError(
            f"two records have the same {what}: {here} and {there}; add `- kind: exact_dedup` to the recipe's stages, "
            "or mend the sources"
        )


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of one finished shard: the `key` of all that it was made of, and what was measured on the way."""

    key: str
    info: ShardInfo
    reading: str


class WriteShards(beam.DoFn):
    """A task → its shard on disk and the ShardInfo. A shard that an earlier run finished is taken as it is."""

    def __init__(self, build: str, recipe: str, key: str) -> None:
        self._build, self._recipe, self._key = build, recipe, key

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")
        self._marks = Path(self._build) / "written"
        self._marks.mkdir(exist_ok=True)

    def teardown(self) -> None:
        self._reader.close()

    def finish_bundle(self) -> None:
        self._tally.flush()

    def process(self, line: bytes) -> Iterator[Any]:
        task = msgspec.json.decode(line, type=Task)
        mark = self._marks / f"{Path(task.path).stem}.json"
        written = self._earlier(mark, Path(task.path))
        if written is None:
            clock = Clock()
            info = write_shard(Path(task.path), self._records(Path(task.refs)))
            self._counters.meter.ran(WRITE, clock.stop(), info.bytes, info.bytes)
            reading = self._counters.meter.take() or b""
            written = Written(key=self._key, info=info, reading=reading.decode())
            write_whole(mark, msgspec.json.encode(written))
        else:
            self._tally.add(written.info.records)
        self._counters.add(WRITTEN, written.info.records)
        yield encode_line(written.info)
        yield beam.pvalue.TaggedOutput(READINGS, written.reading.encode())

    def _earlier(self, mark: Path, shard: Path) -> Written | None:
        try:
            written = msgspec.json.decode(mark.read_bytes(), type=Written)
            whole = shard.stat().st_size == written.info.bytes and shard.with_suffix(".idx.json").is_file()
        except (OSError, msgspec.DecodeError):
            return None
        return written if whole and written.key == self._key else None

    def _records(self, refs: Path) -> Iterator[tuple[Document, dict[str, bytes]]]:
        with refs.open("rb") as file:
            for line in file:
                ref = decode_ref(line)
                draft = self._reader.get(ref)
                meta = draft.document.meta
                lineage = msgspec.structs.replace(meta.lineage, recipe=self._recipe)
                meta = msgspec.structs.replace(meta, cluster=meta.cluster or meta.source_id, lineage=lineage)
                document = finish(msgspec.structs.replace(draft.document, meta=meta), draft.media)
                if document.id != ref.id:
                    raise BuildError(
                        f"{inline(ref.address)}: its content changed between two jobs of the build; run it again"
                    )
                self._tally.add()
                self._counters.meter.written(document, size_of(draft))
                yield document, draft.media


class WriteGraph:
    """Tasks → shards, `infos` and `readings`; drops → rejects."""

    def __init__(
        self, build: Path, tasks: list[Path], folder: Path, rejects: Rejects, *, recipe: str, key: str
    ) -> None:
        self._write = WriteShards(os.fspath(build), recipe, key)
        self._tasks, self._folder, self._rejects = tasks, folder, rejects

    def __call__(self, pipeline: beam.Pipeline) -> None:
        shards = beam.ParDo(self._write).with_outputs(READINGS, main="infos")
        done = lines(pipeline, self._tasks, "tasks") | "write shards" >> shards
        write(done.infos, self._folder, "infos")
        write(done[READINGS], self._folder, READINGS)
        self._rejects(pipeline)


def infos(folder: Path) -> tuple[ShardInfo, ...]:
    """The shards written, by name."""
    found = [msgspec.json.decode(line, type=ShardInfo) for line in lines_of(folder, "infos")]
    return tuple(sorted(found, key=lambda info: info.name))
