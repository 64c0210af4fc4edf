"""Joins the files of a repository to documents: outlines, order and parts, then the documents themselves.

    refs → outline (path, language, imports, bytes: the text is read here, and left) → by repository → order → parts
    parts → the files of one part are read, joined and written

Memory: of a repository only outlines come together (some 600 bytes a file); of a part the texts, which `max_bytes`
bounds. So a repository of 100,000 files is never held.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.code.imports import imports_of
from trivium.data.code.order import dependencies, ordered
from trivium.data.code.parts import split
from trivium.data.code.paths import split_repository
from trivium.data.code.repository import Part, Repository, document_of, file_document, framed_size
from trivium.pipelines.corpora.items import DROPS, READINGS, Counters, Tally, write_sides
from trivium.pipelines.corpora.linefiles import lines, spread, write
from trivium.pipelines.corpora.report.meter import Clock
from trivium.pipelines.corpora.spool import Ref, SpoolReader, SpoolWriter, decode_ref, encode_line
from trivium.pipelines.corpora.work import Work

Key = tuple[str, str]  # (source, repository)


class Outline(msgspec.Struct, frozen=True, array_like=True):
    """What ordering needs of a file: its path in the repository, and the reference that leads to its text."""

    path: str
    language: str
    imports: tuple[str, ...]
    size: int  # bytes in a document, header included
    ref: bytes


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One document to write: which part, and its files in order. `part` None: a file by itself."""

    part: Part | None
    refs: tuple[Ref, ...]


_OUTLINE = msgspec.msgpack.Decoder(Outline)
_TASK = msgspec.json.Decoder(Task)


def run(work: Work, name: str, config: Repository) -> None:
    """Documents of repositories, or of files, become the current references."""
    tasks = work.job_folder(f"{name}-parts")
    parts = PartGraph(config, name, work.folder, work.refs(), tasks)
    work.run(f"{name}: order", parts, tasks, total=work.size, small=False)
    folder = work.job_folder(name)
    graph = JoinGraph(Join(str(work.folder), folder.name, name, config), sorted(tasks.glob("tasks-*")), folder)
    work.run(name, graph, folder, total=work.size, small=False)
    work.settle(folder, name)


class ReadOutline(beam.DoFn):
    """Reference → ((source, repository), outline)."""

    def __init__(self, build: str, stage: str, depth: int) -> None:
        self._build, self._stage, self._depth = build, stage, depth

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")

    def finish_bundle(self) -> Iterator[Any]:
        self._tally.flush()
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()

    def process(self, line: bytes) -> Iterator[tuple[Key, bytes]]:
        clock = Clock()
        ref = decode_ref(line)
        repository, path = split_repository(ref.address, self._depth)
        document = self._reader.get(ref).document
        text, language = document.text, document.meta.language
        size = framed_size(ref.address, len(text.encode()))
        slim = encode_line(msgspec.structs.replace(ref, signature=b""))
        outline = msgspec.msgpack.encode(Outline(path, language, imports_of(language, text), size, slim))
        self._counters.meter.ran(self._stage, clock.stop(), 0, 0)
        self._tally.add()
        yield (ref.source, repository), outline


class Order(beam.DoFn):
    """One repository's outlines → tasks, one for each of its documents."""

    def __init__(self, stage: str, max_bytes: int) -> None:
        self._stage, self._max_bytes = stage, max_bytes

    def setup(self) -> None:
        self._counters = Counters()

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()

    def process(self, group: tuple[Key, Any]) -> Iterator[bytes]:
        clock = Clock()
        (source, repository), encoded = group
        files = sorted(map(_OUTLINE.decode, encoded), key=lambda file: (file.path, file.ref))
        paths = [file.path for file in files]
        edges = dependencies(paths, [file.language for file in files], [file.imports for file in files])
        parts = split(ordered(paths, edges), [file.size for file in files], edges, self._max_bytes)
        self._counters.meter.ran(self._stage, clock.stop(), 0, 0)
        for number, part in enumerate(parts, 1):
            which = Part(source=source, repository=repository, number=number, count=len(parts))
            yield encode_line(Task(part=which, refs=tuple(decode_ref(files[at].ref) for at in part)))


def by_itself(line: bytes) -> bytes:
    return encode_line(Task(part=None, refs=(msgspec.structs.replace(decode_ref(line), signature=b""),)))


class PartGraph:
    """References → `tasks`."""

    def __init__(self, config: Repository, stage: str, build: Path, refs: list[Path], folder: Path) -> None:
        self._outline = ReadOutline(str(build), stage, config.depth)
        self._order = Order(stage, config.max_bytes)
        self._group, self._refs, self._folder = config.group, refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        refs = lines(pipeline, self._refs, "refs")
        if self._group == "file":
            write(refs | "by itself" >> beam.Map(by_itself), self._folder, "tasks")
            return
        read = refs | "outline" >> beam.ParDo(self._outline).with_outputs(DROPS, READINGS, main="outlines")
        grouped = read.outlines | "by repository" >> beam.GroupByKey()
        order = grouped | "order" >> beam.ParDo(self._order).with_outputs(DROPS, READINGS, main="tasks")
        write(spread(order.tasks, "tasks"), self._folder, "tasks")
        write_sides([read, order], self._folder)


class Join(beam.DoFn):
    """A task → the reference of its document, written to a new spool file."""

    def __init__(self, build: str, folder: str, stage: str, config: Repository) -> None:
        self._build, self._folder, self._stage, self._config = build, folder, stage, config

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")

    def start_bundle(self) -> None:
        self._writer: SpoolWriter | None = None

    def process(self, line: bytes) -> Iterator[Any]:
        clock = Clock()
        task = _TASK.decode(line)
        files = [self._reader.get(ref) for ref in task.refs]
        if task.part is None:
            draft = file_document(files[0], self._config)
        else:
            draft = document_of(files, task.part, self._config)
        if self._writer is None:
            self._writer = SpoolWriter(Path(self._build), f"{self._folder}/spool")
        ref = self._writer.add(draft, ())
        self._counters.add(f"{self._stage}/in", len(files))
        self._counters.add(f"{self._stage}/kept")
        came = sum(len(file.document.text) for file in files)
        self._counters.meter.ran(self._stage, clock.stop(), came, len(draft.document.text))
        self._tally.add(len(files))
        yield encode_line(ref)

    def finish_bundle(self) -> Iterator[Any]:
        if self._writer is not None:
            self._writer.close()
        self._tally.flush()
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()


class JoinGraph:
    """Tasks → `refs` of documents."""

    def __init__(self, join: Join, tasks: list[Path], folder: Path) -> None:
        self._join, self._tasks, self._folder = join, tasks, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        joined = lines(pipeline, self._tasks, "tasks") | "join" >> beam.ParDo(self._join).with_outputs(
            DROPS, READINGS, main="refs"
        )
        write(joined.refs, self._folder, "refs")
        write_sides([joined], self._folder)
