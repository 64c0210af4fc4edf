"""From surviving references to shards: ids planned in the driver, each shard written by one worker."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.records import Document, finish
from trivium.data.shards import ShardInfo, plan_shards, shard_name, write_shard
from trivium.data.shards.storage import write_whole
from trivium.data.stage import size_of
from trivium.errors import BuildError
from trivium.pipelines.corpora.items import READINGS, Counters, Tally
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.rejects import Rejects
from trivium.pipelines.corpora.report.meter import WRITE, Clock
from trivium.pipelines.corpora.spool import SpoolReader, decode_ref, encode_line, lines_of

WRITTEN = "write/records"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One shard: the file of its references, sorted by id, and the tar to write."""

    refs: str
    path: str


def plan(refs: Path, folder: Path, shards: Path, corpus: str, target_bytes: int) -> list[Path]:
    """Writes one file of references for each shard and the file of tasks; returns the latter.

    Raises BuildError when two records have one content or one source id.
    """
    found = {}
    places: dict[str, str] = {}
    for line in lines_of(refs, "refs"):
        ref = msgspec.structs.replace(decode_ref(line), signature=b"")
        other = found.get(ref.id) or (found.get(places[ref.source_id]) if ref.source_id in places else None)
        if other is not None:
            same = "content" if other.id == ref.id else "source id"
            raise BuildError(
                f"two records have the same {same}: {other.source}: {other.address} and {ref.source}: {ref.address}; "
                "add `- kind: exact_dedup` to the recipe's stages, or mend the sources"
            )
        found[ref.id] = ref
        places[ref.source_id] = ref.id
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier run
    folder.mkdir(parents=True)
    shards.mkdir(parents=True, exist_ok=True)
    tasks = []
    for number, ids in enumerate(plan_shards({key: ref.stored for key, ref in found.items()}, target_bytes)):
        path = folder / f"{number:05d}.jsonl"
        path.write_bytes(b"".join(encode_line(found[key]) + b"\n" for key in ids))
        tasks.append(Task(refs=str(path), path=str(shards / shard_name(corpus, "all", number))))
    (folder / "tasks.jsonl").write_bytes(b"".join(encode_line(task) + b"\n" for task in tasks))
    return [folder / "tasks.jsonl"]


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
                    raise BuildError(f"{ref.address}: its content changed between two jobs of the build; run it again")
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
