"""Line files in and out of the build's Beam jobs.

Odd: Beam's own text sink is a graph of a dozen transforms, more than the rest of a small job. Here each bundle writes a
file of its own under a hidden name and its path goes through a shuffle; what comes out of the shuffle belongs to a
bundle that was committed, and only that file gets its name. So a retried bundle leaves a hidden file that nobody reads.
"""

import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue


class ReadLines(beam.DoFn):
    """A file's path → its lines."""

    def process(self, path: str) -> Iterator[bytes]:
        with Path(path).open("rb") as file:
            for line in file:
                yield line.rstrip(b"\n")


class WriteLines(beam.DoFn):
    """A bundle's lines → (the file that holds them under a hidden name, None); `end` goes behind each of them.

    With `once`, bundles never run a second time, and the file has its name at the bundle's end.
    """

    def __init__(self, folder: str, name: str, end: bytes = b"\n", *, once: bool = False) -> None:
        self._folder, self._name, self._end, self._once = folder, name, end, once

    def start_bundle(self) -> None:
        self._file: BinaryIO | None = None

    def process(self, line: bytes) -> None:
        if self._file is None:
            folder = Path(self._folder)
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / f".{self._name}-{uuid.uuid4().hex}").open("xb")
        self._file.write(line)
        self._file.write(self._end)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._file is not None:
            self._file.close()
            if self._once:
                Commit().process((self._file.name, ()))
                return
            yield WindowedValue((self._file.name, None), GlobalWindow().max_timestamp(), [GlobalWindow()])


class Commit(beam.DoFn):
    """Gives the files of committed bundles their names; a second time does nothing."""

    def process(self, group: tuple[str, Any]) -> None:
        hidden = Path(group[0])
        target = hidden.with_name(hidden.name.removeprefix("."))
        if not target.exists():
            os.replace(hidden, target)


def lines(pipeline: beam.Pipeline, paths: Iterable[Path], label: str) -> beam.PCollection:
    """The lines of many files, spread over all workers."""
    names = pipeline | f"{label}: names" >> beam.Create([str(path) for path in paths], reshuffle=False)
    return spread(spread(names, f"{label}: spread names") | f"{label}: lines" >> beam.ParDo(ReadLines()), label)


def spread(collection: beam.PCollection, label: str) -> beam.PCollection:
    """A reshuffle, so that all workers share what few made; nothing when this process is the only worker."""
    if alone(collection.pipeline):
        return collection
    return collection | f"{label}: spread" >> beam.Reshuffle()


def alone(pipeline: beam.Pipeline) -> bool:
    """Whether this process is the only worker, so that work need not be shared."""
    embedded = isinstance(pipeline.runner, FnApiRunner)
    return embedded and bool(pipeline.options.view_as(DirectOptions).direct_num_workers == 1)


def write(collection: beam.PCollection, folder: Path, name: str, *, end: bytes = b"\n", label: str = "") -> None:
    """Writes byte strings as lines of `folder/name-*`, none for no lines; a retry never writes a line twice.

    `label` tells two collections of one name in a graph apart. With an empty `end` the files hold the bytes as they
    are, for records of one size. The embedded runner repeats no bundle, so its files need no shuffle to be told from
    those of a bundle that failed.
    """
    once = isinstance(collection.pipeline.runner, FnApiRunner)
    written = collection | f"write {name}{label}" >> beam.ParDo(WriteLines(os.fspath(folder), name, end, once=once))
    if not once:
        _ = written | f"gather {name}{label}" >> beam.GroupByKey() | f"commit {name}{label}" >> beam.ParDo(Commit())
