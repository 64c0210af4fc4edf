"""The per-item part of a build: read, then the recipe's stages fused in one ParDo, then spool files and references.

Odd: a stage that raises does not end the job; its item becomes a reject with the traceback's last line. What the job
itself needs (the disk, a missing library at `open`) still ends it.
"""

import contextlib
import os
import time
import traceback
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from trivium.data.stage import RAW, Draft, Drop, Item, Outcome, Stage, StageConfig, refuse, size_of
from trivium.pipelines.beam import NAMESPACE
from trivium.pipelines.corpora.linefiles import lines, spread, write
from trivium.pipelines.corpora.part import ALL, Part
from trivium.pipelines.corpora.report.meter import SPOOL, Clock, Meter, same_content
from trivium.pipelines.corpora.sources import READ, Source
from trivium.pipelines.corpora.spool import SpoolReader, SpoolWriter, decode_ref, encode_line

DROPS, READINGS = "drops", "readings"
_TALLY_S = 0.5


class ItemJob(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that workers of an item job need, and nothing large: it is pickled into the graph."""

    build: str
    folder: str  # of this job below `build`
    corpus: str
    domain: str
    sources: dict[str, Any]
    stages: tuple[StageConfig, ...]
    names: tuple[str, ...]  # of `stages`, as the funnel calls them
    scores: tuple[str, ...]  # scores that later shuffles compare


class Counters:
    """Beam counters by name, made once each, and a meter for what the report shows beside them."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}
        self.meter = Meter()

    def add(self, name: str, count: int = 1) -> None:
        counter = self._made.get(name)
        if counter is None:
            counter = self._made[name] = Metrics.counter(NAMESPACE, name)
        counter.inc(count)

    def readings(self) -> Iterator[Any]:
        """For the end of a bundle: what the meter read since the last one, as an output of the tag READINGS."""
        line = self.meter.take()
        if line is not None:
            window = GlobalWindow()
            yield beam.pvalue.TaggedOutput(READINGS, WindowedValue(line, window.max_timestamp(), [window]))


def count_drop(counters: Counters, drop: Drop) -> None:
    counters.add(f"{drop.stage}/drop/{drop.reason}")
    counters.meter.dropped(drop)


class SplitPlaces(beam.DoFn):
    """A source's place → its items; damaged stretches go to the drops."""

    def __init__(self, job: ItemJob) -> None:
        self._job = job

    def setup(self) -> None:
        self._counters = Counters()

    def process(self, line: bytes) -> Iterator[Any]:
        part = msgspec.json.decode(line, type=Part)
        source: Source = self._job.sources[part.source]
        items = source.split(part.place)
        for number, item in enumerate(items if part.items == ALL else islice(items, part.items), 1):
            if isinstance(item, Drop):
                self._counters.add(f"{READ}/in")
                self._counters.meter.read(part.source, 0)
                count_drop(self._counters, item)
                yield beam.pvalue.TaggedOutput(DROPS, encode_line(item))
            else:
                records = part.records if number == part.items else ALL
                yield msgspec.json.encode(Part(part.source, item, 1, records))

    def finish_bundle(self) -> Iterator[Any]:
        yield from self._counters.readings()


class RunStages(beam.DoFn):
    """An item's place, or a reference of an earlier job → references of what the stages keep; drops on the side."""

    def __init__(self, job: ItemJob, from_refs: bool) -> None:
        self._job, self._from_refs = job, from_refs

    def setup(self) -> None:
        self._counters = Counters()
        self._reader = SpoolReader(Path(self._job.build))
        self._stages: list[Stage] = [config.build() for config in self._job.stages]
        self._tally = Tally(Path(self._job.build) / "tally")
        for stage in self._stages:
            stage.open()

    def start_bundle(self) -> None:
        self._writer: SpoolWriter | None = None

    def process(self, line: bytes) -> Iterator[Any]:
        dropped = 0
        for item in self._items(line):
            for outcome in self._walk(item, 0):
                if isinstance(outcome, Drop):
                    dropped += 1
                    count_drop(self._counters, outcome)
                    yield beam.pvalue.TaggedOutput(DROPS, encode_line(outcome))
                else:
                    yield self._store(outcome)
        self._tally.add(dropped=dropped)

    def finish_bundle(self) -> Iterator[Any]:
        if self._writer is not None:
            self._writer.close()
        self._tally.flush()
        yield from self._counters.readings()

    def teardown(self) -> None:
        self._reader.close()
        for stage in self._stages:
            stage.close()

    def _items(self, line: bytes) -> Iterator[Outcome]:
        if self._from_refs:
            yield self._reader.get(decode_ref(line))
            return
        part = msgspec.json.decode(line, type=Part)
        meter, clock = self._counters.meter, Clock()
        records = self._job.sources[part.source].read(part.place, self._job.corpus, self._job.domain)
        for outcome in records if part.records == ALL else islice(records, part.records):
            clock.stop()
            self._counters.add(f"{READ}/in")  # here: a place that can't be split gives many
            size = 0 if isinstance(outcome, Drop) else size_of(outcome)
            meter.ran(READ, clock, size, size)
            meter.read(part.source, size)
            if not isinstance(outcome, Drop):
                self._counters.add(f"{READ}/kept")
                if isinstance(outcome, Draft):
                    meter.made(outcome.document)
            yield outcome
            clock.start()

    def _walk(self, outcome: Outcome, depth: int) -> Iterator[Draft | Drop]:
        """Depth first, so that a stage that fans out never holds all of its offspring's offspring."""
        if isinstance(outcome, Drop):
            yield outcome
        elif depth < len(self._stages):
            name = self._job.names[depth]
            self._counters.add(f"{name}/in")
            results = [outcome] if self._passes(depth, outcome) else self._run(depth, name, outcome)
            for result in results:
                if not isinstance(result, Drop):
                    self._counters.add(f"{name}/kept")
                yield from self._walk(result, depth + 1)
        elif isinstance(outcome, Draft):
            yield outcome
        else:
            yield refuse(outcome, self._job.names[-1], "crash", "no stage made a document of this item", error=True)

    def _passes(self, depth: int, item: Item) -> bool:
        source = None if isinstance(item, Draft) else self._job.sources.get(item.source)
        return passes(self._job.stages[depth], item, source)

    def _run(self, depth: int, name: str, item: Item) -> Iterable[Outcome]:
        """One call of a stage, measured."""
        meter, clock = self._counters.meter, Clock()
        outcomes = run_stage(self._stages[depth], name, item)
        clock.stop()
        came, stayed = size_of(item), 0
        for outcome in outcomes:
            if isinstance(outcome, Drop):
                meter.scored(name, outcome.scores)
                continue
            unchanged = isinstance(item, Draft) and isinstance(outcome, Draft) and same_content(item, outcome)
            stayed += came if unchanged else size_of(outcome)
            if isinstance(outcome, Draft):
                scores = outcome.document.meta.scores
                wrote = self._job.stages[depth].SCORES
                meter.scored(name, {score: scores[score] for score in wrote if score in scores})
                if not isinstance(item, Draft):
                    meter.made(outcome.document)
        meter.ran(name, clock, came, stayed)
        return outcomes

    def _store(self, draft: Draft) -> bytes:
        if self._writer is None:
            self._writer = SpoolWriter(Path(self._job.build), f"{self._job.folder}/spool")
        clock = Clock()
        line = encode_line(self._writer.add(draft, self._job.scores))
        size = size_of(draft)
        self._counters.meter.ran(SPOOL, clock.stop(), size, size)
        return line


def passes(stage: StageConfig, item: Item, source: Source | None) -> bool:
    """Whether a stage makes documents of another kind of files than this item of `source` is, and so leaves it."""
    if isinstance(item, Draft):
        return stage.TAKES <= RAW
    return source is not None and source.GIVES not in stage.TAKES


def run_stage(stage: Stage, name: str, item: Item) -> Iterable[Outcome]:
    """What the stage makes of `item`; an exception, or nothing at all, becomes a drop that counts as an error."""
    try:
        outcomes = [
            msgspec.structs.replace(outcome, stage=name) if isinstance(outcome, Drop) else outcome
            for outcome in stage.process(item)
        ]
    except Exception as error:
        line = traceback.format_exception_only(error)[-1].strip()
        return [refuse(item, name, "crash", line[:300], error=True)]
    return outcomes or [refuse(item, name, "crash", "the stage gave neither a record nor a reason", error=True)]


class Tally:
    """Items done and refused by this worker, as a small file that the driver's progress display sums up."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
        self._count, self._dropped, self._written = 0, 0, 0.0

    def add(self, count: int = 1, dropped: int = 0) -> None:
        self._count += count
        self._dropped += dropped
        if time.monotonic() - self._written > _TALLY_S:
            self.flush()

    def flush(self) -> None:
        self._written = time.monotonic()
        with contextlib.suppress(OSError):
            self._path.write_text(f"{self._count} {self._dropped}")


class ItemGraph:
    """Wires an item job; picklable pieces only, so that worker processes and clusters can run it."""

    def __init__(self, job: ItemJob, inputs: list[Path], from_refs: bool) -> None:
        self._job, self._inputs, self._from_refs = job, inputs, from_refs

    def __call__(self, pipeline: beam.Pipeline) -> None:
        folder = Path(self._job.build) / self._job.folder
        items = lines(pipeline, self._inputs, "places")
        sides = []
        if not self._from_refs:
            split = items | "split" >> beam.ParDo(SplitPlaces(self._job)).with_outputs(DROPS, READINGS, main="items")
            items = spread(split.items, "items")
            sides.append(split)
        stages = beam.ParDo(RunStages(self._job, self._from_refs))
        ran = items | "stages" >> stages.with_outputs(DROPS, READINGS, main="refs")
        sides.append(ran)
        write(ran.refs, folder, "refs")
        write_sides(sides, folder)


def write_sides(sides: Sequence[Any], folder: Path) -> None:
    """Writes what one or more ParDos of a job gave beside their main output: DROPS and READINGS, by those names.

    Odd: each by itself, since Beam's local runner holds in memory all that it flattens.
    """
    for tag in (DROPS, READINGS):
        for number, side in enumerate(sides):
            write(side[tag], folder, tag, label=f" {number}" if number else "")
