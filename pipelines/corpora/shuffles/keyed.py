"""What the shuffles that look inside texts share: rows counted by key into a table, then an edit of each document.

    references → scan → runs on disk → (part: slices of runs) → merged, filtered → table → cut → references, drops

Odd: rows lie in files, and a shuffle carries only where a part's stretches of them are; so a line that stands in a
million documents is a row of each run, and a worker holds one run, or one stretch of a merge, at a time. Documents that
nothing is cut from are neither read nor written anew when the table says so.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
import msgspec
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from trivium.data.dedup.runs import RUN, RunWriter, Slice, Table, join_tables, merge, write_rows
from trivium.data.dedup.units import Rows
from trivium.data.stage import Draft, Drop, size_of
from trivium.pipelines.corpora.items import DROPS, READINGS, Counters, Tally, count_drop, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.report.meter import Clock
from trivium.pipelines.corpora.spool import Ref, SpoolReader, SpoolWriter, decode_ref, encode_line, lines_of
from trivium.pipelines.corpora.work import Work

NOTES = "notes"
Read = Callable[[Ref], Draft]
Note = tuple[bytes, bytes]  # (key, what is said of it); of all said of a key the smallest is kept

_SLICE = msgspec.json.Decoder(Slice)


class Scan(Protocol):
    """Makes rows of a document; picklable, small. Its tables are opened by the worker (`open`)."""

    def open(self) -> None: ...

    def rows(self, ref: Ref, read: Read) -> Iterable[Rows]: ...


class Keep(Protocol):
    """Which merged rows (whole keys, in order) enter the table; picklable, small."""

    def open(self) -> None: ...

    def keep(self, rows: Rows) -> Rows: ...


class Editor(Protocol):
    """Edits a document: None = as it is (and was perhaps not even read); notes go to the report."""

    def open(self) -> None: ...

    def edit(self, ref: Ref, read: Read, note: Callable[[bytes, bytes], None]) -> Draft | Drop | None: ...


def count(work: Work, stage: str, what: str, scan: Scan, keep: Keep, shape: tuple[int, int]) -> Table:
    """The table of what `scan` found in the current documents and `keep` kept.

    `shape`: how many columns say what is counted, and how many there are. `what` names the count among the stage's.
    """
    label = f"{stage}: {what}"
    folder = work.job_folder(f"{stage}-{what}-rows".replace(" ", "-"))
    scanned = ScanRows(scan, stage, shape[0], str(work.folder), f"{folder.name}/runs")
    work.run(label, ScanGraph(scanned, work.refs(), folder), folder, total=work.size)
    merged = work.job_folder(f"{stage}-{what}-table".replace(" ", "-"))
    graph = MergeGraph(keep, shape[0], work.folder, sorted(folder.glob("slices-*")), merged)
    work.run(f"{label}, merged", graph, merged, total=work.size)
    parts = sorted(line.decode().split(" ") for line in lines_of(merged, "parts"))
    tables = work.folder / "tables"
    tables.mkdir(exist_ok=True)
    return join_tables([work.folder / path for _, path in parts], tables / f"{merged.name}.rows", shape[1])


class ScanRows(beam.DoFn):
    """References → slices of the runs that a bundle's rows were written to."""

    def __init__(self, scan: Scan, stage: str, keys: int, build: str, folder: str) -> None:
        self._scan, self._stage, self._keys, self._build, self._folder = scan, stage, keys, build, folder

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")
        self._scan.open()

    def start_bundle(self) -> None:
        self._runs = RunWriter(Path(self._build), self._folder, self._keys)

    def process(self, line: bytes) -> Iterator[bytes]:
        clock = Clock()
        for rows in self._scan.rows(decode_ref(line), self._reader.get):
            yield from map(encode_line, self._runs.add(rows))
        self._counters.meter.ran(self._stage, clock.stop(), 0, 0)
        self._tally.add()

    def finish_bundle(self) -> Iterator[Any]:
        window = GlobalWindow()
        for piece in self._runs.flush():
            yield WindowedValue(encode_line(piece), window.max_timestamp(), [window])
        self._tally.flush()
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()


class ScanGraph:
    """References → `slices`, and `readings`."""

    def __init__(self, scan: ScanRows, refs: list[Path], folder: Path) -> None:
        self._scan, self._refs, self._folder = scan, refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        scanned = lines(pipeline, self._refs, "refs") | "scan" >> beam.ParDo(self._scan).with_outputs(
            READINGS, main="slices"
        )
        write(scanned.slices, self._folder, "slices")
        write(scanned[READINGS], self._folder, READINGS)


def by_part(line: bytes) -> tuple[int, bytes]:
    return _SLICE.decode(line).part, line


class Merge(beam.DoFn):
    """One part's slices → its stretch of the table, in a file; an empty one is not written."""

    def __init__(self, keep: Keep, keys: int, build: str, folder: str) -> None:
        self._keep, self._keys, self._build, self._folder = keep, keys, build, folder

    def setup(self) -> None:
        self._keep.open()

    def process(self, group: tuple[int, Any]) -> Iterator[bytes]:
        part, slices = group
        build, stretch = Path(self._build), 0
        for rows in merge(build, [_SLICE.decode(line) for line in slices], self._keys):
            kept = self._keep.keep(rows)
            if len(kept):
                path = f"{self._folder}/{uuid.uuid4().hex}.rows"
                (build / self._folder).mkdir(parents=True, exist_ok=True)
                write_rows(build / path, kept)
                yield f"{part:04d}-{stretch:06d} {path}".encode()
                stretch += 1


class MergeGraph:
    """Slices → `parts`: lines of a number that sorts, and the file of those rows."""

    def __init__(self, keep: Keep, keys: int, build: Path, slices: list[Path], folder: Path) -> None:
        self._merge = Merge(keep, keys, str(build), f"{folder.name}/parts")
        self._slices, self._folder = slices, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        parts = (
            lines(pipeline, self._slices, "slices")
            | "by part" >> beam.Map(by_part)
            | "group" >> beam.GroupByKey()
            | "merge" >> beam.ParDo(self._merge)
        )
        write(parts, self._folder, "parts")


class Edit(beam.DoFn):
    """References → references of the edited documents; drops, readings and notes on the side."""

    def __init__(self, editor: Editor, stage: str, build: str, folder: str) -> None:
        self._editor, self._stage, self._build, self._folder = editor, stage, build, folder

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._build))
        self._tally = Tally(Path(self._build) / "tally")
        self._editor.open()

    def start_bundle(self) -> None:
        self._writer: SpoolWriter | None = None
        self._notes: dict[bytes, bytes] = {}

    def process(self, line: bytes) -> Iterator[Any]:
        clock, ref, came = Clock(), decode_ref(line), 0

        def read(wanted: Ref) -> Draft:
            nonlocal came
            draft = self._reader.get(wanted)
            came = size_of(draft)
            return draft

        self._counters.add(f"{self._stage}/in")
        outcome = self._editor.edit(ref, read, self._note)
        if isinstance(outcome, Drop):
            outcome = msgspec.structs.replace(outcome, stage=self._stage)
            self._counters.meter.ran(self._stage, clock.stop(), came, 0)
            count_drop(self._counters, outcome)
            yield beam.pvalue.TaggedOutput(DROPS, encode_line(outcome))
        else:
            self._counters.add(f"{self._stage}/kept")
            size = ref.content if outcome is None else size_of(outcome)
            self._counters.meter.ran(self._stage, clock.stop(), came or ref.content, size)
            yield line if outcome is None else self._store(outcome, ref)
        self._tally.add(dropped=isinstance(outcome, Drop))

    def finish_bundle(self) -> Iterator[Any]:
        if self._writer is not None:
            self._writer.close()
        self._tally.flush()
        window = GlobalWindow()
        for key, said in self._notes.items():
            yield beam.pvalue.TaggedOutput(NOTES, WindowedValue((key, said), window.max_timestamp(), [window]))
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()

    def _note(self, key: bytes, said: bytes) -> None:
        self._notes[key] = min(said, self._notes.get(key, said))

    def _store(self, draft: Draft, before: Ref) -> bytes:
        if self._writer is None:
            self._writer = SpoolWriter(Path(self._build), f"{self._folder}/spool")
        return encode_line(self._writer.add(draft, tuple(before.scores)))


def said_of(note: tuple[bytes, bytes]) -> bytes:
    return note[1]


class EditGraph:
    """References → `refs`, `drops`, `readings`, and `notes` for the report."""

    def __init__(self, editor: Editor, stage: str, build: Path, refs: list[Path], folder: Path) -> None:
        self._edit = Edit(editor, stage, str(build), folder.name)
        self._refs, self._folder = refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        edited = lines(pipeline, self._refs, "refs") | "edit" >> beam.ParDo(self._edit).with_outputs(
            DROPS, READINGS, NOTES, main="refs"
        )
        write(edited.refs, self._folder, "refs")
        write_sides([edited], self._folder)
        notes = edited[NOTES] | "smallest" >> beam.CombinePerKey(min) | "said" >> beam.Map(said_of)
        write(notes, self._folder, NOTES)


def edit(work: Work, name: str, editor: Editor) -> Path:
    """Runs the editor over the current documents and takes what it made as the state; the job's folder."""
    folder = work.job_folder(name)
    work.run(name, EditGraph(editor, name, work.folder, work.refs(), folder), folder, total=work.size)
    work.settle(folder, name)
    return folder


def report(work: Work, name: str, facts: Mapping[str, Any]) -> None:
    """Writes `report/<name>.json` of the set that is being built."""
    target = work.folder / "set/report"
    target.mkdir(parents=True, exist_ok=True)
    (target / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(facts, order="sorted"), indent=2))


__all__ = ["RUN", "Editor", "Keep", "Note", "Read", "Scan", "count", "edit", "report"]
