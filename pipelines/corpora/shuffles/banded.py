"""Near duplicates of any kind: sketches, candidate pairs by bands, pairs verified by their sets, components, survivors.

    refs → rows + sets → pairs → edges → stars → refs, drops, tombstones → what later builds need

Only ids, hashes and references travel, packed into blocks; each arrow is a Beam job, split into parts so that no
shuffle holds more than IN_FLIGHT bytes.
"""

from pathlib import Path

import apache_beam as beam

from trivium.data.dedup.banded import Banded
from trivium.data.dedup.buckets import BAND_RECORD, ORDERS, PAIR_RECORD
from trivium.data.dedup.sketches import kept_type, row_type
from trivium.pipelines.corpora.blocks import Range, ranges, source
from trivium.pipelines.corpora.items import DROPS, READINGS, write_sides
from trivium.pipelines.corpora.linefiles import write
from trivium.pipelines.corpora.shuffles.candidates import CROWDS, CandidateGraph, CrowdGraph, Sets, VerifyGraph
from trivium.pipelines.corpora.shuffles.edges import StarsOfEarlierGraph, components
from trivium.pipelines.corpora.shuffles.exact import PARTITION, parts
from trivium.pipelines.corpora.shuffles.keep import Earlier, keep_near, leave_tombstones
from trivium.pipelines.corpora.shuffles.labels import CLUSTERED, EDGES, REFS, ROOTS, ROWS, Facts, Label, Roots
from trivium.pipelines.corpora.shuffles.sign import SETS, SignGraph, Sketcher
from trivium.pipelines.corpora.shuffles.survivors import TOMBSTONES, Select, check_clusters, check_losses
from trivium.pipelines.corpora.work import Work

IN_FLIGHT = 128 << 20  # bytes of packed records in one shuffle
BUCKETS = 200_000  # band records, or pairs, of one partition


def run(work: Work, name: str, near: Banded, sketcher: Sketcher) -> None:
    """One record of each cluster of near duplicates stays; `sketcher` makes what is compared."""
    earlier = Earlier(work, name, near)
    before, refs = work.sources(), work.refs()
    signed = work.job_folder(f"{name}-signed")
    work.run(f"{name}: sign", SignGraph(near, sketcher, work.folder, ranges(refs), signed), signed, total=work.size)
    sets = Sets(list((signed / SETS).glob("*")), earlier.files(".sets"))
    rows = sorted(signed.glob("rows-*"))
    inputs = ranges(rows, record=row_type(near.permutations).itemsize, tag=ROWS)
    for number, (_, path) in enumerate(earlier.files(".rows"), len(sets.names)):
        inputs += ranges([path], record=kept_type(near.permutations).itemsize, tag=number)
    edges = _edges(work, name, near, inputs, sets)
    stars = components(work, name, [*edges, *_earlier_stars(work, name, near, inputs)])
    facts = [*ranges(refs, tag=REFS), *ranges(stars, tag=ROOTS), *ranges(edges, tag=EDGES), *inputs]
    folder = work.job_folder(name)
    for part in parts(facts, work.size, PARTITION, IN_FLIGHT):
        graph = LabelGraph(near, name, facts, sets, earlier, folder, part)
        work.run(f"{name}: label", graph, folder, total=work.size)
    clustered = ranges(sorted(folder.glob(f"{CLUSTERED}-*")))
    for part in parts(clustered, work.size, PARTITION, IN_FLIGHT) if clustered else ():
        graph = SurvivorGraph(near, name, work.folder, clustered, sets, earlier, folder, part)
        work.run(name, graph, folder, total=work.size)
    work.settle(folder, name)
    check_losses(name, near.max_source_loss, folder, before)
    check_clusters(name, near.max_cluster, folder)
    if earlier.names:
        leave_tombstones(work, folder)
    if near.keep:
        keep_near(work, name, near, sets, rows, stars)


def _edges(work: Work, name: str, near: Banded, rows: list[Range], sets: Sets) -> list[Path]:
    """Files of verified pairs."""
    folder = work.job_folder(f"{name}-pairs")
    signed = sum((one.stop - one.start) // row_type(near.permutations).itemsize for one in rows)
    records = signed * near.bands
    in_flight = [Range("", 0, records * BAND_RECORD)]
    for number, part in enumerate(parts(in_flight, records, BUCKETS, IN_FLIGHT)):
        graph = CandidateGraph(near, rows, sets, folder, part, f"pairs-{number:04d}")
        work.run(f"{name}: candidates", graph, folder, total=work.size)
    _crowds(work, name, near, sets, folder)
    pairs = ranges(sorted(folder.glob("pairs-*")), record=PAIR_RECORD)
    count = sum(one.stop - one.start for one in pairs) // PAIR_RECORD
    edges = work.job_folder(f"{name}-edges")
    for number, part in enumerate(parts(pairs, count, BUCKETS, IN_FLIGHT)):
        graph = VerifyGraph(near, pairs, sets, edges, part, f"edges-{number:04d}")
        work.run(f"{name}: verify", graph, edges, total=work.size)
    return sorted(edges.glob("edges-*"))


def _crowds(work: Work, name: str, near: Banded, sets: Sets, folder: Path) -> None:
    """Adds the pairs of buckets that are too large for one worker; there are none in most corpora."""
    crowds = ranges(sorted(folder.glob(f"{CROWDS}-*")), record=BAND_RECORD)
    records = len(ORDERS) * sum(one.stop - one.start for one in crowds) // BAND_RECORD
    in_flight = [Range("", 0, records * (BAND_RECORD + 1))]
    for number, part in enumerate(parts(in_flight, records, BUCKETS, IN_FLIGHT) if crowds else ()):
        graph = CrowdGraph(near, crowds, sets, folder, part, f"pairs-crowds-{number:04d}")
        work.run(f"{name}: crowds", graph, folder, total=work.size)


def _earlier_stars(work: Work, name: str, near: Banded, rows: list[Range]) -> list[Path]:
    """Files of the star edges that earlier builds found among their own records."""
    known = [one for one in rows if one.tag >= 0]
    if not known:
        return []
    folder = work.job_folder(f"{name}-earlier")
    work.run(f"{name}: earlier clusters", StarsOfEarlierGraph(near.permutations, known, folder), folder)
    return sorted(folder.glob("edges-*"))


class LabelGraph:
    """References, roots, edges and rows → `refs` of records that are alone, `clustered` candidates of the others."""

    def __init__(
        self,
        near: Banded,
        stage: str,
        facts: list[Range],
        sets: Sets,
        earlier: Earlier,
        folder: Path,
        part: tuple[int, int, int],
    ) -> None:
        self._facts, self._label = Facts(near, sets, earlier.gone(), part), Label(stage, near.quality)
        self._inputs, self._folder = facts, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        labelled = (
            source(pipeline, self._inputs, "facts")
            | "by source id" >> beam.ParDo(self._facts)
            | "ids" >> beam.GroupByKey()
            | "label" >> beam.ParDo(self._label).with_outputs(CLUSTERED, READINGS, main="refs")
        )
        write(labelled.refs, self._folder, "refs")
        write(labelled[CLUSTERED], self._folder, CLUSTERED)
        write(labelled[READINGS], self._folder, READINGS)


class SurvivorGraph:
    """Clustered candidates → `refs` of one survivor for each component, `drops`, `tombstones` on earlier builds."""

    def __init__(
        self,
        near: Banded,
        stage: str,
        build: Path,
        clustered: list[Range],
        sets: Sets,
        earlier: Earlier,
        folder: Path,
        part: tuple[int, int, int],
    ) -> None:
        self._roots = Roots(part)
        self._select = Select(str(build), stage, near.REASON, near.quality, earlier.names, sets.paths, near)
        self._inputs, self._folder = clustered, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        chosen = (
            source(pipeline, self._inputs, "clustered")
            | "by root" >> beam.ParDo(self._roots)
            | "clusters" >> beam.GroupByKey()
            | "select" >> beam.ParDo(self._select).with_outputs(DROPS, READINGS, TOMBSTONES, main="refs")
        )
        write(chosen.refs, self._folder, "refs")
        write(chosen[TOMBSTONES], self._folder, TOMBSTONES)
        write_sides([chosen], self._folder)
