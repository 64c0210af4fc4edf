"""Exact duplicates: records of one content id, found by one shuffle of packed references.

Odd: records of earlier builds come along as what those builds kept of them; they may win, and they may lose. Of a
content that a range of references holds often a few members travel and speak for the rest, which is judged in its range
when the best of all is known (`rest.py`): a million equal documents are some hundred values of one key.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import numpy as np

from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.kept import ids_type
from trivium.pipelines.corpora.blocks import (
    Range,
    decode_range,
    pack,
    partition,
    ranges,
    read_range,
    source,
)
from trivium.pipelines.corpora.items import DROPS, READINGS, write_sides
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.shuffles.keep import Earlier, keep_exact, leave_tombstones
from trivium.pipelines.corpora.shuffles.rest import SelectRest, candidates
from trivium.pipelines.corpora.shuffles.survivors import RESTS, TOMBSTONES, Candidate, Known, Select, check_losses
from trivium.pipelines.corpora.spool import encode_line
from trivium.pipelines.corpora.work import Work

PARTITION = 20_000  # records that a worker takes at a time
IN_FLIGHT = 256 << 20  # bytes of packed records in one shuffle


def run(work: Work, name: str, exact: ExactDedup) -> None:
    """One record of each content stays."""
    earlier = Earlier(work, name, exact)
    before = work.sources()
    row = ids_type().itemsize
    inputs = ranges(work.refs())
    for number, path in earlier.files(".rows"):
        inputs += ranges([path], record=row, tag=number)
    folder = work.job_folder(name)
    for part in parts(inputs, work.size, PARTITION, IN_FLIGHT):
        work.run(name, ExactGraph(exact, name, work.folder, inputs, earlier, folder, part), folder, total=work.size)
    work.settle(folder, name)
    check_losses(name, exact.max_source_loss, folder, before)
    if earlier.names:
        leave_tombstones(work, folder)
    if exact.keep:
        keep_exact(work, name, exact)


def parts(inputs: list[Range], records: int, each: int, most: int) -> list[tuple[int, int, int]]:
    """(first, behind the last, number of partitions) of each job: partitions of about `each` records, jobs of about
    `most` bytes."""
    count = -(-records // each) or 1
    jobs = min(count, -(-sum(one.stop - one.start for one in inputs) // most) or 1)
    borders = [count * number // jobs for number in range(jobs + 1)]
    return [(low, high, count) for low, high in itertools.pairwise(borders)]


class ContentBlocks(beam.DoFn):
    """A range of references, or of an earlier build's records → (partition of the content id, candidates)."""

    def __init__(self, quality: str, gone: list[frozenset[str]], part: tuple[int, int, int]) -> None:
        self._quality, self._gone, self._part = quality, gone, part

    def process(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        part = decode_range(line)
        low, high, count = self._part
        found = self._known(part) if part.tag else candidates(part, self._quality)
        numbered = ((partition(candidate.key.encode(), count), candidate) for candidate in found)
        yield from pack((number, encode_line(candidate)) for number, candidate in numbered if low <= number < high)

    def _known(self, part: Range) -> Iterator[Candidate]:
        for row in np.frombuffer(read_range(part), dtype=ids_type()):
            known = Known(
                source_id=row["source_id"].decode(),
                build=part.tag,
                id=row["id"].decode(),
                score=float(row["score"]) if np.isfinite(row["score"]) else None,
                length=int(row["length"]),
            )
            stays = known.source_id not in self._gone[part.tag - 1]
            yield Candidate(ref=known.ref(self._quality), key=known.id, build=part.tag, stays=stays)


class ExactGraph:
    """Candidates → `refs` of one record for each content, `drops` for the rest, `tombstones` on earlier builds."""

    def __init__(
        self,
        exact: ExactDedup,
        stage: str,
        build: Path,
        inputs: list[Range],
        earlier: Earlier,
        folder: Path,
        part: tuple[int, int, int],
    ) -> None:
        self._blocks = ContentBlocks(exact.quality, earlier.gone(), part)
        judge = str(build), stage, "exact_duplicate", exact.quality, earlier.names
        self._select, self._rest = Select(*judge), SelectRest(*judge)
        self._inputs, self._folder = inputs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        chosen = (
            source(pipeline, self._inputs, "records")
            | "by content" >> beam.ParDo(self._blocks)
            | "group" >> beam.GroupByKey()
            | "select" >> beam.ParDo(self._select).with_outputs(DROPS, READINGS, RESTS, TOMBSTONES, main="refs")
        )
        rest = (
            chosen[RESTS]
            | "by range" >> beam.GroupByKey()
            | "select in ranges" >> beam.ParDo(self._rest).with_outputs(READINGS, main=DROPS)
        )
        write(chosen.refs, self._folder, "refs")
        write(chosen[TOMBSTONES], self._folder, TOMBSTONES)
        write_sides([chosen, rest], self._folder)
