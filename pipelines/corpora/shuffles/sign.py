"""Signatures and shingle sets of the current texts: `rows-*` of fixed size, and the sets in files of their own.

Odd: a set stays where it was written and a row names its file. A bundle that is run again leaves a file of sets that
no row names.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import shingle
from trivium.data.dedup.signature import sign_rows
from trivium.data.dedup.sketches import compact, row_type, write_set
from trivium.pipelines.corpora.blocks import Range, decode_range, read_lines, source
from trivium.pipelines.corpora.items import Tally
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.spool import Ref, SpoolReader, decode_ref

SETS = "sets"  # folder of the files of sets, below the job's
BATCH = 1 << 19  # characters that are signed at once


class Sign(beam.DoFn):
    """A range of references → rows of the texts that are long enough to compare."""

    def __init__(self, near: NearDedup, build: str, folder: str) -> None:
        self._near, self._build, self._folder = near, build, folder

    def setup(self) -> None:
        self._reader = SpoolReader(Path(self._build))
        self._spec = self._near.spec
        self._tally = Tally(Path(self._build) / "tally")

    def start_bundle(self) -> None:
        self._name = uuid.uuid4().hex
        self._offset = 0
        folder = Path(self._folder) / SETS
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / self._name).open("xb")
        self._refs: list[Ref] = []
        self._texts: list[str] = []
        self._size = 0

    def process(self, line: bytes) -> Iterator[bytes]:
        for item in read_lines(decode_range(line)):
            ref = decode_ref(item)
            self._refs.append(ref)
            self._texts.append(self._reader.get(ref).document.text)
            self._size += ref.length
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

    def _sign(self) -> bytes:
        found = shingle(self._texts, self._near.ngram)
        values = sign_rows(found.hashes, found.offsets, self._spec)
        enough = (np.diff(found.offsets) > 0) & (found.words >= self._near.min_words)
        rows = np.zeros(len(self._refs), dtype=row_type(self._near.permutations))
        rows["values"] = values
        rows["file"] = self._name.encode()
        for number in np.flatnonzero(enough).tolist():
            ref, row = self._refs[number], rows[number]
            row["source_id"] = ref.source_id.encode()
            row["offset"], row["length"] = self._offset, ref.length
            row["score"] = ref.scores.get(self._near.quality, -np.inf)
            hashes = found.hashes[found.offsets[number] : found.offsets[number + 1]]
            self._offset += write_set(self._file, ref.source_id, compact(hashes))
        self._tally.add(len(self._refs))
        self._refs, self._texts, self._size = [], [], 0
        return rows[enough].tobytes()


class SignGraph:
    """Ranges of references → `rows`, and sets beside them."""

    def __init__(self, near: NearDedup, build: Path, refs: list[Range], folder: Path) -> None:
        self._sign, self._refs, self._folder = Sign(near, str(build), str(folder)), refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        write(source(pipeline, self._refs, "refs") | "sign" >> beam.ParDo(self._sign), self._folder, "rows", end=b"")
