"""From surviving references to shards: ids planned in the driver, each shard written by one worker."""

import os
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import msgspec

from trivium.data.records import Document, finish
from trivium.data.shards import ShardInfo, plan_shards, shard_name, write_shard
from trivium.errors import BuildError
from trivium.pipelines.corpora.items import Counters, Tally
from trivium.pipelines.corpora.linefiles import lines, write
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
    folder.mkdir(parents=True)
    shards.mkdir(parents=True)
    tasks = []
    for number, ids in enumerate(plan_shards({key: ref.stored for key, ref in found.items()}, target_bytes)):
        path = folder / f"{number:05d}.jsonl"
        path.write_bytes(b"".join(encode_line(found[key]) + b"\n" for key in ids))
        tasks.append(Task(refs=str(path), path=str(shards / shard_name(corpus, "all", number))))
    (folder / "tasks.jsonl").write_bytes(b"".join(encode_line(task) + b"\n" for task in tasks))
    return [folder / "tasks.jsonl"]


class WriteShards(beam.DoFn):
    """A task → its shard on disk and the ShardInfo."""

    def __init__(self, build: str, recipe: str) -> None:
        self._build, self._recipe = build, recipe

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")

    def teardown(self) -> None:
        self._reader.close()

    def finish_bundle(self) -> None:
        self._tally.flush()

    def process(self, line: bytes) -> Iterator[bytes]:
        task = msgspec.json.decode(line, type=Task)
        info = write_shard(Path(task.path), self._records(Path(task.refs)))
        self._counters.add(WRITTEN, info.records)
        yield encode_line(info)

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
                yield document, draft.media


class WriteGraph:
    """Tasks → shards, and `infos`."""

    def __init__(self, build: Path, tasks: list[Path], folder: Path, recipe: str) -> None:
        self._write = WriteShards(os.fspath(build), recipe)
        self._tasks, self._folder = tasks, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        infos = lines(pipeline, self._tasks, "tasks") | "write shards" >> beam.ParDo(self._write)
        write(infos, self._folder, "infos")


def infos(folder: Path) -> tuple[ShardInfo, ...]:
    """The shards written, by name."""
    found = [msgspec.json.decode(line, type=ShardInfo) for line in lines_of(folder, "infos")]
    return tuple(sorted(found, key=lambda info: info.name))
