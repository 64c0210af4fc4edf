"""Pairs of records that share a band, then those of them whose sets are alike by the recipe's threshold.

Odd: a text is known by where its set lies, one number of 64 bits, until its pair is verified; so no join brings texts
and pairs together. The names of texts come back from the sets' own heads.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import numpy.typing as npt

from trivium.data.dedup.banded import Banded
from trivium.data.dedup.buckets import (
    BAND_RECORD,
    PAIR_RECORD,
    band_records,
    crowd_pairs,
    crowd_records,
    distinct_pairs,
    pairs,
    split,
)
from trivium.data.dedup.components import ordered
from trivium.data.dedup.sketches import RowArray, SetReader, kept_type, place, row_type
from trivium.data.dedup.spill import Rows
from trivium.pipelines.corpora.blocks import Range, decode_range, read_range, source
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.shuffles.edges import encode_verified

MOST = 400_000  # records of a partition that are sorted in memory; more go by the disk
TOGETHER = 2048  # pairs whose sets are read at once
CROWDS = "crowds"

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Sets:
    """Files of sets in one order: those of this build, then one for each file of the earlier builds' sets.

    `builds` says of each file whose it is: 0 = this build, 1 = the first earlier one, …
    """

    def __init__(self, new: Sequence[Path], earlier: Sequence[tuple[int, Path]]) -> None:
        ours = sorted(new, key=lambda path: path.name)
        self.paths = [str(path) for path in (*ours, *(path for _, path in earlier))]
        self.names = np.array([path.name.encode() for path in ours], dtype="S32")
        self.builds = np.array([0] * len(ours) + [build for build, _ in earlier], dtype=np.int64)

    def places(self, rows: RowArray, number: int) -> npt.NDArray[np.uint64]:
        """Where the rows' sets lie; `number` = -1 for rows of this build, else their file's number."""
        files = np.searchsorted(self.names, rows["file"]) if number < 0 else number
        return place(files, rows["offset"])


class BandBlocks(beam.DoFn):
    """A range of rows → (partition, band records) for the partitions of this `part`."""

    def __init__(self, near: Banded, sets: Sets, part: tuple[int, int, int]) -> None:
        self._near, self._sets, self._part = near, sets, part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        part = decode_range(line)
        near = self._near
        kind = row_type if part.tag < 0 else kept_type
        rows = np.frombuffer(read_range(part), dtype=kind(near.permutations))
        yield from band_records(rows, self._sets.places(rows, part.tag), near.bands, near.rows, self._part)


class Candidates(beam.DoFn):
    """One partition's band records → pairs, and the records of crowds; or a crowd's turned records → pairs.

    Two texts of the same earlier build were compared when it was built.
    """

    def __init__(self, agreement: float, builds: npt.NDArray[np.int64], scratch: str, *, turned: bool = False) -> None:
        self._agreement, self._builds, self._scratch = agreement, builds, scratch
        self._pairs = crowd_pairs if turned else pairs

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[Any]:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            for found in self._pairs(group[1], self._agreement, MOST, Path(folder)):
                if found.shape[1] == BAND_RECORD:
                    yield beam.pvalue.TaggedOutput(CROWDS, found.tobytes())
                    continue
                new = found[self._compared(found)] if self._builds.any() else found
                if len(new):
                    yield new.tobytes()

    def _compared(self, found: Rows) -> npt.NDArray[np.bool_]:
        files = np.ascontiguousarray(found[:, :16]).view(">u8") >> np.uint64(40)
        first, second = self._builds[files[:, 0].astype(np.intp)], self._builds[files[:, 1].astype(np.intp)]
        return (first != second) | (first == 0)


class CandidateGraph:
    """Ranges of rows → `pairs-<part>` of one part of the partitions, and `crowds` that others shall share."""

    def __init__(
        self, near: Banded, rows: list[Range], sets: Sets, folder: Path, part: tuple[int, int, int], name: str
    ) -> None:
        self._bands = BandBlocks(near, sets, part)
        self._pairs = Candidates(near.agreement, sets.builds, str(folder))
        self._rows, self._folder, self._name = rows, folder, name

    def __call__(self, pipeline: beam.Pipeline) -> None:
        found = (
            source(pipeline, self._rows, "rows")
            | "bands" >> beam.ParDo(self._bands)
            | "buckets" >> beam.GroupByKey()
            | "pairs" >> beam.ParDo(self._pairs).with_outputs(CROWDS, main="pairs")
        )
        write(found.pairs, self._folder, self._name, end=b"")
        write(found[CROWDS], self._folder, CROWDS, end=b"")


class CrowdBlocks(beam.DoFn):
    """A range of crowds' records → (partition, turned records) for the partitions of this `part`."""

    def __init__(self, part: tuple[int, int, int]) -> None:
        self._part = part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        rows = np.frombuffer(read_range(decode_range(line)), dtype=np.uint8).reshape(-1, BAND_RECORD)
        yield from crowd_records(rows, self._part)


class CrowdGraph:
    """Ranges of crowds' records → `pairs-<part>` of one part of the partitions."""

    def __init__(
        self, near: Banded, crowds: list[Range], sets: Sets, folder: Path, part: tuple[int, int, int], name: str
    ) -> None:
        self._blocks = CrowdBlocks(part)
        self._pairs = Candidates(near.agreement, sets.builds, str(folder), turned=True)
        self._crowds, self._folder, self._name = crowds, folder, name

    def __call__(self, pipeline: beam.Pipeline) -> None:
        found = (
            source(pipeline, self._crowds, "crowds")
            | "by order and value" >> beam.ParDo(self._blocks)
            | "cuts" >> beam.GroupByKey()
            | "pairs" >> beam.ParDo(self._pairs)
        )
        write(found, self._folder, self._name, end=b"")


class PairBlocks(beam.DoFn):
    """A range of pairs → (partition of the pair, pairs) for the partitions of this `part`.

    Both texts say which: one that a million others are paired with is verified in all partitions.
    """

    def __init__(self, part: tuple[int, int, int]) -> None:
        self._part = part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        rows = np.frombuffer(read_range(decode_range(line)), dtype=np.uint8).reshape(-1, PAIR_RECORD)
        ends = np.ascontiguousarray(rows[:, :16]).view(">u8").astype(np.uint64)
        low, high, count = self._part
        numbers = (((ends[:, 0] * _MIX ^ ends[:, 1]) * _MIX) >> np.uint64(32)) % np.uint64(count)
        ours = (numbers >= low) & (numbers < high)
        yield from split(rows[ours], numbers[ours])


class Verify(beam.DoFn):
    """Pairs of one partition → those whose sets are alike, once each, with their similarity and the band."""

    def __init__(self, near: Banded, sets: Sequence[str], scratch: str) -> None:
        self._near, self._paths, self._scratch = near, sets, scratch

    def setup(self) -> None:
        self._sets = SetReader(self._paths)

    def teardown(self) -> None:
        self._sets.close()

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[bytes]:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            for firsts, seconds, bands in distinct_pairs(group[1], MOST, Path(folder)):
                for a, b, band in zip(firsts.tolist(), seconds.tolist(), bands.tolist(), strict=True):
                    (one, first), (other, second) = self._sets.get(a), self._sets.get(b)
                    similarity = self._near.alike(first, second)
                    if similarity >= self._near.threshold and one != other:
                        yield encode_verified(ordered(one, other), similarity, band)


class VerifyGraph:
    """Ranges of pairs → `edges-<part>`: the pairs whose shingle sets are truly alike, whatever their signatures say."""

    def __init__(
        self, near: Banded, pairs: list[Range], sets: Sets, folder: Path, part: tuple[int, int, int], name: str
    ) -> None:
        self._blocks, self._verify = PairBlocks(part), Verify(near, sets.paths, str(folder))
        self._pairs, self._folder, self._name = pairs, folder, name

    def __call__(self, pipeline: beam.Pipeline) -> None:
        edges = (
            source(pipeline, self._pairs, "pairs")
            | "by pair" >> beam.ParDo(self._blocks)
            | "partitions" >> beam.GroupByKey()
            | "verify" >> beam.ParDo(self._verify)
        )
        write(edges, self._folder, self._name)
