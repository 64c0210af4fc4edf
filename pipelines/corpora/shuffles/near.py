"""Near duplicates: signatures, candidate pairs by bands, pairs verified by their texts, components, survivors.

Only ids, hashes and references travel. Each graph reads and writes line files below the build folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec

from trivium.data.dedup.components import bucket_pairs
from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import jaccard
from trivium.data.dedup.signature import band_keys, sign, spec
from trivium.pipelines.corpora.items import DROPS, READINGS, write_sides
from trivium.pipelines.corpora.linefiles import lines, write
from trivium.pipelines.corpora.shuffles.edges import components, decode_edge, distinct, encode_edge
from trivium.pipelines.corpora.shuffles.survivors import Select, ShingleSets, check_clusters, check_losses
from trivium.pipelines.corpora.spool import SpoolReader, decode_ref, encode_line
from trivium.pipelines.corpora.work import Work

IN_FLIGHT = 2_000_000  # band keys of one shuffle


def run(work: Work, name: str, near: NearDedup) -> None:
    """One record of each cluster of near duplicates stays."""
    before, refs = work.sources(), work.refs()
    signed = work.job_folder(f"{name}-signed")
    work.run(f"{name}: sign", SignGraph(near, work.folder, refs, signed), signed, total=work.size)
    keyed, folder = sorted(signed.glob("signed-*")), work.job_folder(f"{name}-pairs")
    parts = -(-work.size * near.bands // IN_FLIGHT) or 1
    for part in range(parts):
        work.run(f"{name}: candidates", PairGraph(near, keyed, folder, part, parts), folder, total=work.size)
    edges = work.job_folder(f"{name}-edges")
    verify = VerifyGraph(near, work.folder, (refs, sorted(folder.glob("pairs-*"))), edges)
    work.run(f"{name}: verify", verify, edges, total=work.size)
    roots = components(work, name, edges)
    folder = work.job_folder(name)
    work.run(name, NearGraph(near, name, work.folder, (refs, roots), folder), folder, total=work.size)
    work.settle(folder, name)
    check_losses(name, near.max_source_loss, folder, before)
    check_clusters(name, near, folder)


class Sign(beam.DoFn):
    """Reference → the reference with the signature of its text."""

    def __init__(self, build: str, near: NearDedup) -> None:
        self._build, self._near = build, near

    def setup(self) -> None:
        near = self._near
        self._reader = SpoolReader(Path(self._build))
        self._spec = spec(near.engine, permutations=near.permutations, seed=near.seed, ngram=near.ngram)

    def teardown(self) -> None:
        self._reader.close()

    def process(self, line: bytes) -> Iterator[bytes]:
        ref = decode_ref(line)
        signature = sign(self._reader.get(ref).document.text, self._spec, min_words=self._near.min_words)
        yield encode_line(msgspec.structs.replace(ref, signature=signature))


class SignGraph:
    """References → `signed`: the same with signatures."""

    def __init__(self, near: NearDedup, build: Path, refs: list[Path], folder: Path) -> None:
        self._sign, self._refs, self._folder = Sign(str(build), near), refs, folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        write(lines(pipeline, self._refs, "refs") | "sign" >> beam.ParDo(self._sign), self._folder, "signed")


class Bands(beam.DoFn):
    """Reference → (band key, source id), one for each band; only keys of this `part` of `parts`, to bound memory."""

    def __init__(self, near: NearDedup, part: int, parts: int) -> None:
        self._near, self._part, self._parts = near, part, parts

    def process(self, line: bytes) -> Iterator[tuple[bytes, str]]:
        ref = decode_ref(line)
        if not ref.signature:
            return
        for key in band_keys(ref.signature, self._near.bands, self._near.rows):
            if int.from_bytes(key[1:5], "big") % self._parts == self._part:
                yield key, ref.source_id


class Pairs(beam.DoFn):
    """One band's bucket → candidate pairs."""

    def process(self, group: tuple[bytes, Any]) -> Iterator[bytes]:
        for edge in bucket_pairs(group[1]):
            yield encode_edge(edge)


class PairGraph:
    """References → `pairs-<part>`: distinct candidate pairs of one part of the band keys."""

    def __init__(self, near: NearDedup, refs: list[Path], folder: Path, part: int, parts: int) -> None:
        self._near, self._refs, self._folder = near, refs, folder
        self._part, self._parts = part, parts

    def __call__(self, pipeline: beam.Pipeline) -> None:
        pairs = (
            lines(pipeline, self._refs, "refs")
            | "bands" >> beam.ParDo(Bands(self._near, self._part, self._parts))
            | "buckets" >> beam.GroupByKey()
            | "pairs" >> beam.ParDo(Pairs())
        )
        write(distinct(pairs, "distinct"), self._folder, f"pairs-{self._part}")


def located(line: bytes) -> tuple[str, bytes]:
    """Source id and the reference without what verifying does not need."""
    ref = decode_ref(line)
    return ref.source_id, encode_line(msgspec.structs.replace(ref, signature=b"", duplicates=()))


def by_first(line: bytes) -> tuple[str, str]:
    return decode_edge(line)


class AttachFirst(beam.DoFn):
    """Joins where a pair's first text lies and keys the pair by its second id."""

    def process(self, group: tuple[str, dict[str, Any]]) -> Iterator[tuple[str, tuple[str, bytes]]]:
        first, joined = group
        for place in joined["place"]:
            for second in sorted(set(joined["pairs"])):
                yield second, (first, place)


class Verify(beam.DoFn):
    """Keeps the pairs whose shingle sets are alike by the recipe's threshold; their texts are read for it."""

    def __init__(self, build: str, near: NearDedup) -> None:
        self._build, self._near = build, near

    def setup(self) -> None:
        self._sets = ShingleSets(self._build, self._near.ngram)

    def teardown(self) -> None:
        self._sets.close()

    def process(self, group: tuple[str, dict[str, Any]]) -> Iterator[bytes]:
        second, joined = group
        for place in joined["place"]:
            for first, other in sorted(joined["pairs"]):
                alike = jaccard(self._sets.of(decode_ref(place)), self._sets.of(decode_ref(other)))
                if alike >= self._near.threshold:
                    yield encode_edge((first, second))


class VerifyGraph:
    """Candidate pairs → `edges`: the pairs whose shingle sets are truly alike, whatever their signatures say."""

    def __init__(self, near: NearDedup, build: Path, inputs: tuple[list[Path], list[Path]], folder: Path) -> None:
        self._verify = Verify(str(build), near)
        self._refs, self._pairs = inputs
        self._folder = folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        places = lines(pipeline, self._refs, "refs") | "places" >> beam.Map(located)
        pairs = distinct(lines(pipeline, self._pairs, "pairs"), "distinct") | "by first" >> beam.Map(by_first)
        half = (
            {"place": places, "pairs": pairs}
            | "join first" >> beam.CoGroupByKey()
            | "attach first" >> beam.ParDo(AttachFirst())
        )
        edges = (
            {"place": places, "pairs": half}
            | "join second" >> beam.CoGroupByKey()
            | "verify" >> beam.ParDo(self._verify)
        )
        write(edges, self._folder, "edges")


def by_source_id(line: bytes) -> tuple[str, bytes]:
    return decode_ref(line).source_id, line


class Label(beam.DoFn):
    """Reference joined with its component's root (its own id when alone) → (root, reference)."""

    def process(self, group: tuple[str, dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
        source_id, joined = group
        root = min(joined["root"], default=source_id)
        for line in joined["ref"]:
            yield root, line


class NearGraph:
    """References and star edges → `refs` of one survivor for each component, `drops` for the rest."""

    def __init__(self, near: NearDedup, stage: str, build: Path, inputs: tuple[list[Path], list[Path]], folder: Path):
        self._select = Select(str(build), stage, near)
        self._refs, self._edges = inputs
        self._folder = folder

    def __call__(self, pipeline: beam.Pipeline) -> None:
        refs = lines(pipeline, self._refs, "refs") | "by source id" >> beam.Map(by_source_id)
        roots = lines(pipeline, self._edges, "edges") | "node to root" >> beam.Map(decode_edge)
        chosen = (
            {"ref": refs, "root": roots}
            | "join" >> beam.CoGroupByKey()
            | "label" >> beam.ParDo(Label())
            | "group" >> beam.GroupByKey()
            | "select" >> beam.ParDo(self._select).with_outputs(DROPS, READINGS, main="refs")
        )
        write(chosen.refs, self._folder, "refs")
        write_sides([chosen], self._folder)
