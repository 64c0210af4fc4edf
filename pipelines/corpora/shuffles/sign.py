"""Sketches of the current records: `rows-*` of fixed size, and the sets that prove them in files of their own.

Odd: a set stays where it was written and a row names its file. A bundle that is run again leaves a file of sets that
no row names.
"""

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import apache_beam as beam
import numpy as np
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from trivium.data.dedup.banded import Banded
from trivium.data.dedup.sketches import Set, row_type, write_set
from trivium.data.stage import Draft
from trivium.pipelines.corpora.blocks import Range, decode_range, read_lines, source
from trivium.pipelines.corpora.items import Tally
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.spool import Ref, SpoolReader, decode_ref

SETS = "sets"  # folder of the files of sets, below the job's
BATCH = 1 << 19  # bytes of text and media that are sketched at once


class Sketcher(Protocol):
    """Makes what near duplicates are found by; picklable, opened by the worker."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def sketches(self, drafts: Sequence[Draft]) -> tuple[Any, list[Set | None]]:
        """[N, permutations] values of uint32, and each draft's set; None: there is nothing to compare it by."""
        ...


class Sign(beam.DoFn):
    """A range of references → rows of the records that can be compared."""

    def __init__(self, near: Banded, sketcher: Sketcher, build: str, folder: str) -> None:
        self._near, self._sketcher, self._build, self._folder = near, sketcher, build, folder

    def setup(self) -> None:
        self._reader = SpoolReader(Path(self._build))
        self._sketcher.open()
        self._tally = Tally(Path(self._build) / "tally")

    def start_bundle(self) -> None:
        self._name = uuid.uuid4().hex
        self._offset = 0
        folder = Path(self._folder) / SETS
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / self._name).open("xb")
        self._refs: list[Ref] = []
        self._drafts: list[Draft] = []
        self._size = 0

    def process(self, line: bytes) -> Iterator[bytes]:
        for item in read_lines(decode_range(line)):
            ref = decode_ref(item)
            self._refs.append(ref)
            self._drafts.append(self._reader.get(ref))
            self._size += ref.content
            if self._size >= BATCH:
                yield self._sign()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._refs:
            yield WindowedValue(self._sign(), GlobalWindow().max_timestamp(), [GlobalWindow()])
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._tally.flush()

    def teardown(self) -> None:
        self._reader.close()
        self._sketcher.close()

    def _sign(self) -> bytes:
        values, sets = self._sketcher.sketches(self._drafts)
        rows = np.zeros(len(self._refs), dtype=row_type(self._near.permutations))
        rows["values"] = values
        rows["file"] = self._name.encode()
        enough = [number for number, found in enumerate(sets) if found is not None]
        for number in enough:
            ref, row = self._refs[number], rows[number]
            row["source_id"] = ref.source_id.encode()
            row["offset"], row["length"] = self._offset, ref.length
            row["score"] = ref.scores.get(self._near.quality, -np.inf)
            self._offset += write_set(self._file, ref.source_id, sets[number])
        self._tally.add(len(self._refs))
        self._refs, self._drafts, self._size = [], [], 0
        return rows[enough].tobytes()


class SignGraph:
    """Ranges of references → `rows`, and sets beside them."""

    def __init__(self, near: Banded, sketcher: Sketcher, build: Path, refs: list[Range], folder: Path) -> None:
        self._sign = Sign(near, sketcher, str(build), str(folder))
        self._refs, self._folder = refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        write(source(pipeline, self._refs, "refs") | "sign" >> beam.ParDo(self._sign), self._folder, "rows", end=b"")
